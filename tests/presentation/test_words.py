"""Whoever looks at a survey, a card or a page reads what people were asked."""

import json
from html import unescape

import pyarrow as pa
import pytest
from rich.console import Console

import incrowd
from incrowd.cli import show_plans
from incrowd.presentation.card import certified_card, html, markdown
from incrowd.presentation.charts import MOST_LETTERS, shortened
from incrowd.presentation.data import json_ready
from incrowd.presentation.layouts import page
from incrowd.presentation.plan_text import word_notes
from incrowd.presentation.terminal import terminal
from tests.messages.shared import YESNO, survey
from tests.presentation.conftest import texts

LONG = "How would you say that your health has been, all in all, in the last twelve months?"
WORDED = incrowd.Survey.of(
    {
        "name": "Words",
        "crowd": 2000,
        "privacy": {"epsilon": 6.0, "analysis": "local"},
        "table": [{"questions": ["limit", "health"]}],
        "question": [
            {
                "id": "limit",
                "type": "yesno",
                "text": {"en": "Are you <limited>?", "de": "Sind Sie eingeschränkt?"},
                "help": {"en": "By health.", "de": "Gesundheitlich."},
                "labels": {"no": "Not at all", "yes": {"en": "In part", "de": "Teils"}},
            },
            {"id": "health", "type": "choice", "options": ["a", "b"], "text": LONG},
        ],
    }
)


@pytest.fixture(scope="module")
def plan():
    return incrowd.plan(WORDED)


@pytest.fixture(scope="module")
def reports(plan):
    answers = pa.table({"limit": ["no", "yes"] * 1000, "health": ["a", "a", "b", "b"] * 500})
    return incrowd.randomize(plan, answers, simulation_seed=1)


@pytest.fixture(scope="module")
def estimates(plan, reports):
    return incrowd.estimate(plan, reports)


def printed(item, capsys):
    Console(width=80).print(item)
    return capsys.readouterr().out


class TestCard:
    def test_shows_every_language_to_the_board(self, plan):
        said = texts(certified_card(plan))
        for words in ("Are you <limited>? By health.", "Not at all or In part", LONG):
            assert words in said
        for words in ("Sind Sie eingeschränkt? Gesundheitlich.", "Not at all or Teils"):
            assert words in said
        assert "&lt;limited&gt;" in html(certified_card(plan)) and "What is asked (de)" in markdown(
            certified_card(plan)
        )

    def test_facts_keep_ids_and_add_words(self, plan):
        limit, health = certified_card(plan).facts["questions"]
        assert (limit["id"], limit["answers"]) == ("limit", "no or yes")
        assert limit["labels"]["yes"]["de"] == "Teils" and "labels" not in health


class TestEstimates:
    def test_the_page_shows_wording_and_labels(self, estimates):
        made = page(estimates)
        assert "Are you &lt;limited&gt;?" in made and ">Not at all<" in made
        assert "<limited>" not in made

    def test_the_terminal_shows_wording_labels_and_ids(self, estimates, capsys):
        said = printed(terminal(estimates), capsys)
        assert "Are you <limited>? (limit)" in said and "In part" in said

    def test_json_keeps_ids_and_answers(self, estimates):
        table = json_ready(estimates)["tables"][0]
        assert table["questions"] == ["limit"]
        assert [cell["answer"] for cell in table["cells"]] == [["no"], ["yes"]]
        assert (table["text"], table["labels"]) == (
            ["Are you <limited>?"],
            [["Not at all", "In part"]],
        )

    def test_what_is_shown_has_the_figures_of_the_ids(self, estimates):
        for item, table in zip(estimates.displayed(estimates.plan), estimates.tables, strict=True):
            assert [cell.estimate for cell in item.cells] == table.estimate.ravel().tolist()
            assert item.names == table.questions

    def test_a_comparison_names_questions_and_answers(self, plan, reports):
        found = incrowd.compare(plan, reports, "limit", "health")
        assert found.wording[0] == "limit: Are you <limited>? (Not at all or In part)"
        assert found.view().legend == found.wording
        assert "&lt;limited&gt;" in unescape(found._repr_html_())


def test_long_wordings_are_cut_in_charts():
    assert shortened("Short?") == "Short?"
    assert len(shortened(LONG)) <= MOST_LETTERS and shortened(LONG).endswith("…")


def test_a_notebook_shows_the_wording():
    assert "Are you &lt;limited&gt;? By health." in unescape(WORDED._repr_html_())


def test_a_plan_says_that_a_word_is_not_free_text(capsys):
    """Somebody planned 93 bits for it, and learned afterwards that nothing could be read."""
    text = {"id": "why", "type": "text", "block": 16, "hashes": 2, "cohorts": 4}
    made = survey(YESNO, text)
    (line,) = word_notes(made)
    assert line.startswith("why is for a word, not for free text: of its 34 bits")
    plan = incrowd.plan(made)
    show_plans.plan(plan, (), None, json=True)
    assert line in json.loads(capsys.readouterr().out)["warnings"]
    show_plans.plan(plan, (), None, json=False)
    shown = " ".join(capsys.readouterr().err.split())
    assert "warning: why is for a word, not for free text" in shown
    assert not list(word_notes(survey()))
