"""The guarantee card: what a board reads is true of the plan, and user text stays text."""

from __future__ import annotations

import json
import math
import re
from datetime import date
from functools import cache
from html import unescape
from html.parser import HTMLParser
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
import typer
from markdown_it import MarkdownIt
from typer.testing import CliRunner

import incrowd
from incrowd.channels.bit import Bit
from incrowd.channels.bit_flip import BitFlip
from incrowd.cli.card import card as command
from incrowd.errors import PlanError, UsageError
from incrowd.planner.planner import make_plan
from incrowd.plans import Plan
from incrowd.plans.ledger import Ledger
from incrowd.presentation.card import MOST_ROWS, Card, html, markdown
from incrowd.presentation.example import SHOWN_BITS, examples, largest_log_ratio
from incrowd.presentation.write import write_card
from incrowd.survey import Domain, Survey
from incrowd.workflow.card import card

EVIL = "<script>alert('x')</script>"
NAMES = (
    "a | b",
    "*bold* __strong__ _em_",
    "[link](http://a.example)",
    "![picture](http://a.example/p.png)",
    "`code` ~~gone~~ $x$ &lt; \\",
    "<img src=x onerror=alert(1)>",
    "größe 調査",
    "two\nlines\n# heading",
)
RAPPOR = {"kind": "rappor", "f": 0.7, "one_if_zero": 0.25, "one_if_one": 0.75, "memoised": True}


def local(*questions, name="Trust nobody", **rest):
    """A plan that is quick to make."""
    raw = {"name": name, "crowd": 5000, "privacy": {"epsilon": 2.0, "analysis": "local"}}
    return make_plan(Survey.of(raw | {"question": list(questions)} | rest))


def yes_no(id, **rest):
    return {"id": id, "type": "yesno"} | rest


@cache
def nasty() -> Plan:
    """User text of every kind that HTML or Markdown could read as markup."""
    kinds = {"id": "kind", "type": "choice", "options": NAMES}
    return local(yes_no(EVIL), yes_no("# a_b **c**"), kinds, name=f"Drugs {EVIL} {NAMES[1]} #")


@cache
def rounds() -> Plan:
    """A blanket plan with a round before it, permanent responses and colluding people."""
    privacy = {"epsilon": 3.0, "delta": 1e-5}
    first = {"name": "Round <one>", "crowd": 900, "privacy": {"epsilon": 1.0, "delta": 1e-5}}
    earlier = Ledger().with_plan(make_plan(Survey.of(first | {"question": [yes_no("a")]})), 900)
    raw = {"name": "Round two", "crowd": 1000, "colluding": 50, "privacy": privacy}
    questions = [yes_no("drug", randomizer=RAPPOR)]
    return make_plan(Survey.of(raw | {"question": questions}), earlier.asked)


@cache
def outlier() -> Plan:
    privacy = {"epsilon": 1.0, "delta": 0.01, "analysis": "outlier"}
    raw = {"name": "Old analysis", "crowd": 500, "privacy": privacy}
    return make_plan(Survey.of(raw | {"question": [yes_no("a")]}))


@cache
def wide() -> Plan:
    """Many options that travel apart, text, and devices of their own, in several messages."""
    sites = [f"site {number}" for number in range(2000)]
    return local(
        {"id": "site", "type": "choice", "options": sites},
        {"id": "word", "type": "text", "block": 16, "hashes": 2, "cohorts": 4},
        {"id": "topics", "type": "multi", "options": list("abcd"), "at_most": 2, "optional": True},
        {"id": "age", "type": "number", "edges": [0, 18, 65]},
        {
            "id": "spun",
            "type": "choice",
            "options": list("xyz"),
            "randomizer": {"kind": "k-ary", "epsilon": 0.1},
        },
    )


PLANS = {"nasty": nasty, "rounds": rounds, "outlier": outlier, "wide": wide}


@cache
def carded(name: str) -> Card:
    return card(PLANS[name](), f"{name}.json")


def forged(plan: Plan, **changes: object) -> Plan:
    """A plan that claims more than it keeps, with a digest that fits."""
    guarantee = plan.guarantee.model_copy(update=changes)
    return Plan.loads(plan.model_copy(update={"guarantee": guarantee}).dumps())


def quieter(plan: Plan) -> Plan:
    """The same promise with less noise."""
    message = plan.messages[0]
    less = message.model_copy(update={"noise_numerator": message.noise_numerator // 2})
    return Plan.loads(plan.model_copy(update={"messages": (less,)}).dumps())


def texts(card: Card) -> str:
    """All that is on a card, as it should be read."""
    parts = [card.title, card.kind, card.heading, card.claim, *card.symbols, *card.warnings]
    for section in card.sections:
        parts += [section.title, *section.paragraphs, *section.code]
        if section.grid:
            parts += [text for row in (section.grid.head, *section.grid.rows) for text in row]
    return "\n".join(parts)


class TestExample:
    DOMAINS = (Domain(1, 0, 1), Domain(4, 1, 1), Domain(5, 0, 2), Domain(4, 0, 4), Domain(4, 2, 3))
    CHANNELS = (BitFlip.at_least(0.2), Bit.from_probabilities(0.1, 0.6))

    @staticmethod
    def by_enumeration(domain, matrix, report):
        """The likelihood of every allowed record."""
        sizes = range(domain.fewest, domain.most + 1)
        sets = [set(s) for size in sizes for s in combinations(range(domain.bits), size)]
        chances = [
            math.prod(matrix[r, int(i in chosen)] for i, r in enumerate(report)) for chosen in sets
        ]
        return math.log(max(chances) / min(chances))

    @pytest.mark.parametrize("domain", DOMAINS)
    @pytest.mark.parametrize("channel", CHANNELS)
    def test_the_odds_are_those_of_all_allowed_records(self, domain, channel):
        wrong = 0
        for report in product((0, 1), repeat=domain.bits):
            bits = np.array(report)
            right = self.by_enumeration(domain, channel.matrix, report)
            assert largest_log_ratio(domain, channel.matrix, bits) == pytest.approx(right, abs=1e-9)
            free = Domain(domain.bits, 0, domain.bits)  # wrong: as if all records were allowed
            wrong += abs(largest_log_ratio(free, channel.matrix, bits) - right) > 1e-6
        assert (wrong > 0) == ((domain.fewest, domain.most) != (0, domain.bits))

    @pytest.mark.parametrize("name", PLANS)
    def test_no_part_of_a_report_says_more_than_the_local_guarantee(self, name):
        plan = PLANS[name]()
        for example in examples(plan):
            assert 0 <= example.log_ratio <= plan.guarantee.local_epsilon * (1 + 1e-9)

    def test_the_flips_have_the_chances_of_the_plan(self):
        """1,000 bits, one of them set; 5 standard errors, a false alarm in 2 million."""
        plan = local({"id": "c", "type": "choice", "options": [f"o{i}" for i in range(1000)]})
        (example,) = examples(plan)
        found = int(re.fullmatch(r"1,000 bits, (\d+) of them set", example.report)[1])
        q = plan.messages[0].noise.q
        error = math.sqrt(1000 * q * (1 - q))
        assert abs(found - 1000 * q) < 5 * error + 1
        assert abs(found - 1000 * q / 2) > 5 * error  # half the noise would be found out
        assert example.record == "1,000 bits, 1 of them set"

    def test_kinds_of_questions(self):
        found = {example.question: example for example in examples(wide())}
        channel = wide().messages[-1].channels["site"]
        assert found["site"].record == "bit 1 of 2,000"
        assert found["site"].log_ratio == pytest.approx(channel.epsilon)
        assert found["word"].record == "32 bits, 2 of them set"
        assert found["topics"].record == "10000" and len(found["topics"].report) == 5 < SHOWN_BITS
        assert found["spun"].report in ("x", "y", "z")
        assert found["spun"].log_ratio == pytest.approx(0.1, rel=1e-6)

    def test_the_same_kind_is_shown_once_and_the_same_every_time(self):
        plan = local(yes_no("a"), yes_no("b"), yes_no("c", optional=True))
        assert [example.question for example in examples(plan)] == ["a", "c"]
        assert examples(plan) == examples(plan)


class TestCard:
    @pytest.mark.parametrize("name", PLANS)
    def test_says_all_that_a_board_asks(self, name):
        plan, text = PLANS[name](), texts(carded(name))
        promise = plan.guarantee
        for question in plan.survey.questions:
            assert question.id in text
        figures = [f"{plan.survey.crowd:,} people", plan.digest, f"incrowd verify {name}.json"]
        figures += [promise.assumption, f"e^{promise.epsilon:g}", "Device", "Shuffler", "Public"]
        for figure in figures:
            assert figure in text

    @pytest.mark.parametrize("name", PLANS)
    def test_is_dated_today(self, name):
        before = date.today()
        facts = card(PLANS[name]()).facts["certified"]
        assert facts["on"] in {before.isoformat(), date.today().isoformat()}
        assert facts["version"] in carded(name).kind
        assert facts["delta"] <= PLANS[name]().guarantee.delta

    def test_what_is_sent(self):
        text, message = texts(carded("wide")), wide().messages[-1]
        assert f"about {1 + 2000 * message.noise.q:,.0f} reports" in text
        chance = math.floor(message.noise.q * 1e4) / 1e4
        assert f"each bit is flipped with probability {chance:.4g}" in text
        own = math.exp(0.1) / (math.exp(0.1) + 2)
        other = 1 / (math.exp(0.1) + 2)
        own, other = math.ceil(own * 1e4) / 1e4, math.floor(other * 1e4) / 1e4
        words = f"sent with probability {own:.4g}, each other one with {other:.4g}"
        assert f"spun (k-ary): the answer is {words}" in text
        assert "site 11; … (2,000 in all)" in text and "site 12" not in text
        assert "0 to <18; 18 to <65; 65 or more" in text
        assert "at most 2 of a; b; c; d; or no answer" in text

    def test_rounds_permanent_responses_and_colluders(self):
        text, plan = texts(carded("rounds")), rounds()
        assert f"Round <one> (900 people, plan {plan.earlier[0].digest[:12]}…)" in text
        assert "up to 50 may work with the analyst: the other 950" in text
        assert "only 900 are counted on" in text and plan.guarantee.crowd == 900
        assert "drug: the device draws the response once" in text
        assert "flipped with probability 0.35, then a 0 is sent as 1 with probability 0.25" in text
        assert "keeps a secret key" in text

    def test_without_them_the_card_says_so(self):
        text = texts(carded("outlier"))
        assert "None are covered" in text and "none of whom may work with the analyst" in text
        assert "secret key" not in text and "Permanent" not in text

    def test_an_outlier_plan_has_no_guarantee(self):
        made = carded("outlier")
        assert made.heading == "Privacy, no guarantee" and made.kind.startswith("Privacy card")
        assert "differential privacy" not in texts(made) and "promise" not in texts(made)
        assert "delta 0.01 is at least 1 / crowd" in texts(made)
        assert 'class="promise unproved"' in html(made)
        assert 'class="promise unproved"' not in html(carded("rounds"))

    def test_a_local_plan_needs_no_shuffler(self):
        text = texts(carded("nasty"))
        assert "None is relied on" in text and "If the shuffler fails" not in text

    def test_what_remains_without_the_shuffler(self):
        text, local_epsilon = texts(carded("rounds")), rounds().guarantee.local_epsilon
        shown = float(re.search(r"ε = ([\d.]+), δ = 0\. Odds", text)[1])
        assert local_epsilon <= shown <= local_epsilon * 1.01

    def test_messages_of_one_question_share_a_line(self):
        message = [{"questions": [f"q{i}"]} for i in range(30)] + [{"questions": ["a", "b"]}]
        plan = local(
            *(yes_no(f"q{i}") for i in range(30)), yes_no("a"), yes_no("b"), message=message
        )
        sent = next(s for s in card(plan).sections if s.title == "What is sent")
        ids = ", ".join(f"q{i}" for i in range(30))
        assert [row[0] for row in sent.grid.rows] == [f"each alone: {ids}", "a, b"]
        assert "reports of one person are counted together" in " ".join(sent.paragraphs)

    def test_long_tables_are_cut_and_say_so(self):
        many = [{"id": f"q{i}", "type": "number", "edges": [0, i]} for i in range(1, MOST_ROWS + 4)]
        asked = next(s for s in card(local(*many)).sections if s.title == "What is asked")
        assert len(asked.grid.rows) == MOST_ROWS + 1
        assert asked.grid.rows[-1] == ("and 3 more, in the plan", "")


class TestRefusals:
    def test_a_plan_that_does_not_hold_has_no_card(self):
        with pytest.raises(PlanError, match="does not hold"):
            card(quieter(local(yes_no("a"))))
        with pytest.raises(PlanError, match="does not hold"):
            card(forged(outlier(), certified_delta=1e-9))

    def test_a_plan_that_lies_about_what_remains_has_no_card(self):
        with pytest.raises(PlanError, match="does not hold"):
            card(forged(rounds(), local_epsilon=0.01))


class Read(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


class TestPage:
    @pytest.mark.parametrize("name", PLANS)
    def test_fetches_and_runs_nothing(self, name):
        page = html(carded(name))
        read = Read(page)
        structure = {"html", "head", "meta", "title", "style", "body", "main", "section", "div"}
        tables = {"table", "thead", "tbody", "tr", "th", "td"}
        assert read.tags <= structure | tables | {"h1", "h2", "p", "strong", "pre", "wbr"}
        assert read.attributes <= {"lang", "charset", "name", "content", "class", "scope"}
        assert not re.search(r"url\s*\(|@import|@font-face", page)
        assert len(page.encode()) < 50_000

    @pytest.mark.parametrize("name", PLANS)
    def test_every_text_is_read_as_it_is(self, name):
        text = Read(html(carded(name))).text
        for line in texts(carded(name)).split("\n"):
            assert line in text

    def test_the_parser_would_find_what_is_not_escaped(self):
        """The wrong page: user text as it is."""
        assert {"script", "img"} <= Read(unescape(html(carded("nasty")))).tags


PLAIN = {"heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"}
TABLE = {
    f"{n}_{end}" for n in ("table", "thead", "tbody", "tr", "th", "td") for end in ("open", "close")
}


def tokens(text: str):
    """What a parser of Markdown with GitHub's tables and strikethrough makes of a text."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def kinds(text: str) -> set[str]:
    found = tokens(text)
    return {token.type for token in found} | {
        child.type for token in found for child in token.children or ()
    }


class TestMarkdown:
    @pytest.mark.parametrize("name", PLANS)
    def test_is_headings_paragraphs_tables_and_one_block_to_type(self, name):
        assert kinds(markdown(carded(name))) <= PLAIN | TABLE | {
            "text",
            "code_block",
            "text_special",
        }
        assert sum(token.type == "code_block" for token in tokens(markdown(carded(name)))) == 1

    @pytest.mark.parametrize("name", PLANS)
    def test_every_text_is_read_as_it_is(self, name):
        found = tokens(markdown(carded(name)))
        text = "\n".join(
            "".join(child.content for child in token.children) if token.children else token.content
            for token in found
        )
        read = " ".join(text.split())
        for line in texts(carded(name)).split("\n"):
            assert " ".join(line.split()) in read

    def test_names_are_readable_in_the_source(self):
        plan = local(yes_no("physical_limitation"))
        assert "| physical_limitation | no or yes |" in markdown(card(plan))

    def test_the_parser_would_find_what_is_not_escaped(self):
        """The wrong text: without the backslashes, but for those that keep cells apart."""
        wrong = re.sub(r"\\(?!\|)", "", markdown(carded("nasty")))
        assert {"link_open", "em_open", "html_inline", "s_open", "image"} <= kinds(wrong)


def run(*arguments):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "my plan.json"
    path.write_text(rounds().dumps())
    return path


class TestCommand:
    def test_markdown_on_standard_output(self, plan_file):
        done = run(plan_file)
        assert done.exit_code == 0
        assert done.stdout == markdown(card(rounds(), "my plan.json"))
        assert "    incrowd verify 'my plan.json'\n" in done.stdout

    @pytest.mark.parametrize(("ending", "text"), [("html", html), ("md", markdown), ("HTML", html)])
    def test_writes_by_ending(self, plan_file, ending, text):
        out = plan_file.with_name(f"card.{ending}")
        done = run(plan_file, "-o", out)
        assert done.exit_code == 0 and done.stdout == ""
        assert out.read_text(encoding="utf-8") == text(card(rounds(), plan_file.name))

    def test_json(self, plan_file):
        facts = json.loads(run(plan_file, "--json").stdout)
        assert facts["digest"] == rounds().digest
        assert facts["guarantee"]["local_epsilon"] == rounds().guarantee.local_epsilon
        assert facts["memoised"] == ["drug"] and facts["colluding"] == 50
        assert [asked["survey"] for asked in facts["earlier"]] == ["Round <one>"]
        assert set(facts["who_sees_what"]) >= {"Shuffler", "Analyst", "Public"}

    def test_refuses_a_plan_that_does_not_hold_and_writes_nothing(self, plan_file):
        plan_file.write_text(quieter(local(yes_no("a"))).dumps())
        out = plan_file.with_name("card.html")
        error = run(plan_file, "-o", out).exception
        assert isinstance(error, PlanError) and error.exit_code == 1
        assert not out.exists()

    @pytest.mark.parametrize("name", ["card.pdf", "card", "my plan.json"])
    def test_another_ending_is_refused_before_the_work(self, plan_file, name):
        error = run(plan_file, "-o", plan_file.with_name(name)).exception
        assert isinstance(error, UsageError) and ".html, .md" in str(error)

    def test_the_plan_is_not_overwritten(self, plan_file):
        plan = plan_file.rename(plan_file.with_name("plan.md"))
        error = run(plan, "-o", plan).exception
        assert isinstance(error, UsageError) and "is an input" in str(error)

    def test_a_folder_that_is_not_there(self, plan_file):
        with pytest.raises(UsageError, match="cannot be written"):
            write_card(carded("rounds"), plan_file.parent / "none" / "card.md")


def test_the_public_verification_agrees():
    """A card is made of plans that `verify` accepts."""
    for name in PLANS:
        assert incrowd.verify(PLANS[name]()).holds
