"""Words that nobody listed before, from the survey to the page.

Statistical checks are at 5 standard errors unless they say otherwise, with fixed seeds; the
estimator by itself is tested in test_words.
"""

import io
import json
import math
import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console
from scipy.stats import chi2

import incrowd
from incrowd.cli import main
from incrowd.encoding.bloom import places
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import AnswersError, SurveyError, TableError, UsageError
from incrowd.presentation.terminal import terminal
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import randomize_message
from incrowd.survey import NO_ANSWER

PEOPLE = 8000
COHORTS, BLOCK = 16, 16
CITIES = ("berlin", "paris", "rome")
SHARES = (0.4, 0.2, 0.1)
UNKNOWN = tuple(f"village {i}" for i in range(100))
ABSENT = ("oslo", *(f"town {i}" for i in range(20)))
HOME = f"""
[[question]]
id = "home"
type = "text"
block = {BLOCK}
cohorts = {COHORTS}
"""
OLD = """
[[question]]
id = "old"
type = "yesno"
"""
SURVEY = f"""name = "words"
crowd = {PEOPLE}
{{}}
[privacy]
epsilon = 2.0
delta = 1e-5
"""


def load(folder, *questions, sent='tables = "any"'):
    """A survey of these questions; the words and the others travel in one joint report."""
    (folder / "survey.toml").write_text(SURVEY.format(sent) + "".join(questions))
    return incrowd.Survey.load(folder / "survey.toml")


def answers(rows=PEOPLE, seed=1):
    generator = np.random.default_rng(seed)
    chances = [*SHARES, *[0.3 / len(UNKNOWN)] * len(UNKNOWN)]
    words = generator.choice(np.array(CITIES + UNKNOWN), rows, p=chances)
    return pa.table({"home": words, "old": generator.random(rows) < 0.3})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Files, as a person has them: survey, plan, answers, reports, words."""
    folder = tmp_path_factory.mktemp("text")
    plan = incrowd.plan(load(folder, HOME, OLD))
    (folder / "plan.json").write_text(plan.dumps())
    (folder / "words.txt").write_text("\n".join([*CITIES, *ABSENT, "", " paris "]) + "\n")
    incrowd.save_reports(
        incrowd.randomize(plan, answers(), simulation_seed=2), folder / "reports.parquet"
    )
    return folder


@pytest.fixture(scope="module")
def estimated(made):
    """The plan and the estimates of its reports."""
    plan, candidates = incrowd.Plan.load(made / "plan.json"), incrowd.load_words(made / "words.txt")
    reports = incrowd.load_reports(made / "reports.parquet")
    return plan, incrowd.estimate(plan, reports, candidates={"home": candidates})


# --- the whole path --------------------------------------------------------------------------


def test_words_are_found_and_others_are_not(estimated):
    """Shares as in the file of answers, within 5 standard errors; no absent word is called
    present (family-wise 5%, a fixed seed). Wrong: the shares read in another cohort's bits."""
    _, estimates = estimated
    found = estimates.words["home"]
    column = answers()["home"].to_pylist()
    truth = np.array([column.count(word) / PEOPLE for word in found.candidates])
    assert found.candidates == (*CITIES, *ABSENT)
    assert np.all(np.abs(found.estimate - truth) < 5 * found.standard_error)
    assert found.present.tolist() == [True] * 3 + [False] * len(ABSENT)
    others = 1 - truth.sum()
    assert abs(found.others - others) < 5 * found.others_error
    assert np.any(np.abs(found.estimate[::-1] - truth) > 5 * found.standard_error)
    assert found.standard_error[0] < 0.02


def test_a_text_question_is_one_of_the_survey(estimated):
    """The other question's table is there; the text question has none, and bits of its own."""
    plan, estimates = estimated
    assert [table.questions for table in estimates.tables] == [("old",)]
    (message,) = plan.messages
    assert message.layout["home"] == slice(0, 4 + BLOCK)
    assert len(incrowd.truth(plan, answers())) == 1
    assert incrowd.verify(plan).holds


def test_without_candidates_a_text_question_is_left_out(made, estimated):
    plan, _ = estimated
    reports = incrowd.load_reports(made / "reports.parquet")
    assert incrowd.estimate(plan, reports).words == {}
    assert incrowd.estimate(plan, reports, tables=[("home",)]).tables == ()


def test_tallies_of_parts_give_the_same_words(made, estimated):
    plan, estimates = estimated
    (reports,) = incrowd.load_reports(made / "reports.parquet")
    parts = [
        incrowd.count(plan, replace(reports, packed=reports.packed[a:b], part=a))
        for a, b in ((0, 3000), (3000, PEOPLE))
    ]
    found = incrowd.estimate(plan, parts[0] + parts[1], candidates={"home": CITIES + ABSENT})
    assert np.array_equal(found.words["home"].estimate, estimates.words["home"].estimate)


@pytest.mark.slow
def test_copies_and_two_messages_still_find_the_words(tmp_path):
    """Each copy has a cohort of its own; of two messages the sharper one is read."""
    groups = "[[message]]\nquestions = ['home']\ncopies = 3\n[[message]]\nquestions = ['old']\n"
    plan = incrowd.plan(load(tmp_path, groups, HOME, OLD, sent=""))
    reports = incrowd.randomize(plan, answers(), simulation_seed=3)
    assert [len(r) for r in reports] == [3 * PEOPLE, PEOPLE]
    found = incrowd.estimate(plan, reports, candidates={"home": CITIES + ABSENT}).words["home"]
    assert np.all(np.abs(found.estimate[:3] - SHARES) < 5 * found.standard_error[:3])
    assert found.present[:3].all()
    assert incrowd.verify(plan, reports).impossible == ()


# --- what is sent ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alike(estimated):
    """Everybody lives in paris: cohorts, and the bits of the filter."""
    plan, _ = estimated
    table = pa.table({"home": ["paris"] * PEOPLE, "old": [True] * PEOPLE})
    packed = incrowd.randomize(plan, table, simulation_seed=4)[0].packed
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    return plan.messages[0].noise, bits[:, :4] @ (1 << np.arange(4)), bits[:, 4 : 4 + BLOCK]


def test_cohorts_are_uniform_and_sent_as_they_are(alike):
    """Chi-square with 15 degrees of freedom, a false alarm in a million. Wrong: one cohort that
    comes a fifth more often."""
    _, cohorts, _ = alike
    counts = np.bincount(cohorts, minlength=COHORTS)

    def statistic(weights):
        expected = PEOPLE * weights / weights.sum()
        return ((counts - expected) ** 2 / expected).sum()

    limit = chi2.isf(1e-6, COHORTS - 1)
    assert statistic(np.ones(COHORTS)) < limit
    assert statistic(np.where(np.arange(COHORTS) == 3, 1.6, 1.0)) > limit


def test_bits_of_the_filter_are_flipped_around_the_words_place(alike):
    """In each cohort the word's own bit has the rate p, all others q; the place differs from
    cohort to cohort. Wrong: the places of another word."""
    noise, cohorts, bits = alike
    rows = np.arange(PEOPLE)

    def off(word):
        own = places([word] * PEOPLE, cohorts, "home", 1, BLOCK)[:, 0]
        rates = bits[rows, own].mean(), (bits.sum(axis=1) - bits[rows, own]).mean() / (BLOCK - 1)
        spread = math.sqrt(noise.p * noise.q / PEOPLE)
        return (rates[0] - noise.p) / spread, (rates[1] - noise.q) * math.sqrt(BLOCK - 1) / spread

    assert np.abs(off("paris")).max() < 5
    assert np.abs(off("rome")).min() > 5
    assert len(set(places(["paris"] * 16, np.arange(16), "home", 1, BLOCK).ravel())) > 4


def test_the_cohort_says_nothing_of_the_word(estimated):
    """Two words, alternating: cohorts of both are alike, chi-square of a 2 x 16 table."""
    plan, _ = estimated
    table = pa.table({"home": ["paris", "rome"] * (PEOPLE // 2), "old": [True] * PEOPLE})
    people = EncodedAnswers.of(plan.survey, table)
    packed = randomize_message(plan, plan.messages[0], people, Keystream.for_simulation(5))
    cohorts = np.unpackbits(packed, axis=1, bitorder="little")[:, :4] @ (1 << np.arange(4))
    counts = np.array([np.bincount(cohorts[i::2], minlength=16) for i in (0, 1)])
    expected = counts.sum(axis=0) / 2
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 15)


# --- optional, spelling ----------------------------------------------------------------------


def test_no_answer_is_a_word_of_an_optional_question(tmp_path):
    plan = incrowd.plan(load(tmp_path, HOME + "optional = true\n"))
    words = [None if i % 4 == 0 else "paris" for i in range(PEOPLE)]
    table = pa.table({"home": words})
    reports = incrowd.randomize(plan, table, simulation_seed=6)
    candidates = {"home": (NO_ANSWER, "paris", *ABSENT)}
    found = incrowd.estimate(plan, reports, candidates=candidates).words["home"]
    assert found.present.tolist() == [True, True] + [False] * len(ABSENT)
    assert np.all(np.abs(found.estimate[:2] - [0.25, 0.75]) < 5 * found.standard_error[:2])


@pytest.mark.parametrize("word", [None, "", "  "])
def test_a_missing_word_is_an_error(word, estimated):
    plan, _ = estimated
    table = pa.table({"home": ["paris", word], "old": [True, True]})
    with pytest.raises(AnswersError, match="row 2, home"):
        incrowd.randomize(plan, table)


def test_one_word_in_two_spellings(estimated):
    """White space and composed letters do not matter, neither in answers nor among candidates."""
    plan, _ = estimated
    table = pa.table({"home": ["Zu\u0308rich", " Zürich "] * 4000, "old": [True] * PEOPLE})
    reports = incrowd.randomize(plan, table, simulation_seed=7)
    found = incrowd.estimate(plan, reports, candidates={"home": [" Zu\u0308rich", *ABSENT]})
    assert abs(found.words["home"].estimate[0] - 1) < 5 * found.words["home"].standard_error[0]
    with pytest.raises(TableError, match="'Zürich'; it occurs 2 times"):
        incrowd.estimate(plan, reports, candidates={"home": ["Zürich", "Zu\u0308rich"]})


# --- for people and programs -----------------------------------------------------------------


def test_words_stand_in_json_with_their_estimates(estimated, tmp_path):
    _, estimates = estimated
    incrowd.save_estimates(estimates, tmp_path / "e.json")
    data = json.loads((tmp_path / "e.json").read_text())
    found = estimates.words["home"]
    text = json.dumps(data["words"], ensure_ascii=False)
    assert '"berlin"' in text and repr(float(found.estimate[0])) in text
    assert "village" not in text


def test_words_at_the_terminal_and_on_the_page(estimated, tmp_path):
    """The words that are present, the most frequent first, and how many were looked for."""
    _, estimates = estimated
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(terminal(estimates))
    shown = console.export_text()
    incrowd.save_estimates(estimates, tmp_path / "e.html")
    page = (tmp_path / "e.html").read_text()
    for text in (shown, page):
        assert 0 < text.index("berlin") < text.index("paris") < text.index("rome")
        assert "oslo" not in text and "village" not in text
        assert f"3 of {len(CITIES + ABSENT)} words are present" in text


def test_words_are_escaped_on_the_page(estimated, tmp_path):
    plan, _ = estimated
    table = pa.table({"home": ["<script>"] * PEOPLE, "old": [True] * PEOPLE})
    reports = incrowd.randomize(plan, table, simulation_seed=8)
    estimates = incrowd.estimate(plan, reports, candidates={"home": ("<script>", *ABSENT)})
    incrowd.save_estimates(estimates, tmp_path / "e.html")
    page = (tmp_path / "e.html").read_text()
    assert "&lt;script&gt;" in page and '<th scope="row"><script>' not in page


@pytest.mark.parametrize("ending", ["json", "html", "csv", "parquet"])
def test_a_survey_of_text_alone_is_written_in_every_form(ending, tmp_path):
    """A file without the words would hold nothing of what was asked."""
    plan = incrowd.plan(load(tmp_path, HOME.replace("block = 16", "block = 8")))
    reports = incrowd.randomize(plan, answers().select(["home"]), simulation_seed=9)
    estimates = incrowd.estimate(plan, reports, candidates={"home": CITIES})
    incrowd.save_estimates(estimates, tmp_path / f"e.{ending}")
    assert b"berlin" in (tmp_path / f"e.{ending}").read_bytes()


# --- lists of words --------------------------------------------------------------------------


def test_a_list_of_words_is_read_once_each(made):
    assert incrowd.load_words(made / "words.txt") == (*CITIES, *ABSENT)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        (b"", "contains no word; write one word on each line"),
        (b"\n  \n", "contains no word"),
        ("zürich\n".encode("latin-1"), "it is not UTF-8"),
    ],
)
def test_wrong_lists_of_words_are_told(content, told, tmp_path):
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=told) as error:
        incrowd.load_words(path)
    assert str(path) in str(error.value) and len(error.value.problems) == 1


def test_a_text_question_stands_alone_in_tables(made, estimated):
    plan, _ = estimated
    reports = incrowd.load_reports(made / "reports.parquet")
    for use in (
        lambda: incrowd.estimate(plan, reports, tables=[("old", "home")]),
        lambda: incrowd.compare(plan, reports, "old", "home"),
        lambda: incrowd.postprocess(plan, reports, tables=[("old", "home")]),
    ):
        with pytest.raises(TableError, match=r"home.*is a text question"):
            use()
    raw = plan.survey.model_dump(by_alias=True)
    with pytest.raises(SurveyError, match=r"home.*is a text question; give it a separate table"):
        incrowd.Survey.of(raw | {"table": [{"questions": ["old", "home"]}]})


@pytest.mark.parametrize("method", ["likelihood", "simplex", "consistent"])
def test_words_are_not_post_processed_as_a_table(method, made, estimated):
    plan, _ = estimated
    reports = incrowd.load_reports(made / "reports.parquet")
    with pytest.raises(TableError, match=r"home.*is a text question"):
        incrowd.postprocess(plan, reports, tables=[("home",)], method=method)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("cohorts = 12\n", "cohorts.*power of two"),
        ("block = 1\n", "block.*at least 2"),
        ("hashes = 9\n", "hashes.*at most 8"),
        ("options = ['a', 'b']\n", "this key is unknown"),
    ],
)
def test_wrong_text_questions_are_told(line, told, tmp_path):
    text = '\n[[question]]\nid = "home"\ntype = "text"\n' + line
    with pytest.raises(SurveyError, match=told) as error:
        load(tmp_path, text)
    assert len(error.value.problems) == 1


# --- the command line ------------------------------------------------------------------------


def run(monkeypatch, capsys, *arguments):
    """The command line in this process: exit code, what it printed, what it said."""
    monkeypatch.setattr(sys, "argv", ["incrowd", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    return ended.value.code or 0, printed.out, printed.err


def test_words_on_the_command_line(made, monkeypatch, capsys):
    files = (made / "plan.json", made / "reports.parquet")
    words = ("--words", f"home={made / 'words.txt'}")
    code, out, _ = run(monkeypatch, capsys, "estimate", *files, *words, "--json")
    assert code == 0 and "berlin" in json.dumps(json.loads(out)["words"])
    code, out, said = run(monkeypatch, capsys, "estimate", *files)
    assert code == 0 and "--words home=FILE" in said and "old" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("home", "should be QUESTION=FILE"),
        ("old=words.txt", "the text questions are home"),
        ("hme=words.txt", "the text questions are home"),
        ("home=", "should be QUESTION=FILE"),
        ("home=/nowhere/words.txt", "/nowhere/words.txt"),
    ],
)
def test_wrong_words_on_the_command_line(words, told, made, monkeypatch, capsys):
    files = (made / "plan.json", made / "reports.parquet")
    code, out, said = run(monkeypatch, capsys, "estimate", *files, "--words", words)
    assert code == 2 and out == ""
    assert "error: --words" in said and told in said.replace("\n", " ")
    assert "Traceback" not in said
