"""The figure that a person wants is among the first ten lines of each command, and -v adds more."""

import re
from itertools import chain

import pytest

LINES = 10
# Command -> the first figure that its reader wants, whatever the noise was.
WANTED = {
    "check": r"\d people",
    "plan": r"accurate to ±\d",
    "tally": r"\d accepted",
    "estimate": r"^(No|no) +\d",
    "compare": r"chi-square \d",
    "regress": r"^\(intercept\) +-?\d",
    "correlate": r"\d\.\d",
    "postprocess": r"No\b.*\d%",
    "verify": r"epsilon 1\b",
    "simulate": r"^physical_limita\S* +\d",
    "privacy": r"│ shuffle",
    "randomize": r"randomized \d",
}
COMMANDS = {
    "check": "check {survey} {answers}",
    "plan": "plan {survey} --no-side-by-side",
    "randomize": "randomize {plan} {answers} -o {folder}/again.parquet",
    "tally": "tally {plan} {reports} -o {folder}/tally.json",
    "estimate": "estimate {plan} {reports}",
    "compare": "compare {plan} {reports} physical_limitation self_rated_health",
    "regress": "regress {plan} {reports} --outcome physical_limitation --on self_rated_health",
    "correlate": "correlate {plan} {reports}",
    "postprocess": "postprocess {plan} {reports} --table physical_limitation",
    "verify": "verify {plan} {reports}",
    "simulate": "simulate {survey} {answers} --trials 20",
    "privacy": "privacy delta --bits 1 --noise 0.1 --crowd 100 --epsilon 1",
}
EXPLAINED = ("estimate", "compare", "regress", "correlate", "postprocess")  # by -v
SLOW = {"simulate", "correlate", "postprocess", "check", "randomize", "plan", "regress", "tally"}
QUICKLY = [pytest.param(c, marks=[pytest.mark.slow] if c in SLOW else []) for c in COMMANDS]


@pytest.fixture
def shown(call, made, tmp_path, monkeypatch):
    """The lines of a command, of both outputs: notes first, as they would be before a table."""
    from tests.cli.conftest import ANSWERS, SURVEY

    monkeypatch.setenv("COLUMNS", "80")
    places = {"plan": made / "plan.json", "reports": made / "reports.parquet", "folder": tmp_path}

    def lines(command, *options):
        words = COMMANDS[command].format(survey=SURVEY, answers=ANSWERS, **places).split()
        code, out, err = call(*words, *options)
        assert code == 0, err
        notes = [part for line in err.splitlines() for part in re.findall(".{1,80}", line)]
        return notes, out.splitlines()

    return lines


@pytest.mark.parametrize("command", QUICKLY)
def test_the_first_figure_is_among_the_first_lines(shown, command):
    notes, lines = shown(command)
    promise = [line for line in notes[:3] if command in EXPLAINED]  # the guarantee is above
    assert re.search(WANTED[command], "\n".join([*promise, *lines][:LINES] or notes[:LINES]), re.M)


@pytest.mark.parametrize(
    "command", [pytest.param(c, marks=[pytest.mark.slow] if c in SLOW else []) for c in EXPLAINED]
)
def test_the_guarantee_takes_one_line_and_more_with_an_option(shown, command):
    short, full = (" ".join(chain(*shown(command, *more))) for more in ((), ("-v",)))
    assert "Guarantee: (ε, δ) = (1, 1e-06), strong protection, if the shuffler removes" in short
    assert "20,000 honest people send as planned." in " ".join(short.split())
    assert "Changing any one person's answer" not in short
    assert "Changing any one person's answer" in full


@pytest.mark.slow
def test_a_plan_shows_its_messages_and_other_ways_with_an_option(shown):
    (notes, short), (_, full) = shown("plan"), shown("plan", "-v")
    assert "noise" not in " ".join(short) and "noise" in " ".join(full)
    assert len(short) < len(full)
    assert any("-v shows the noise" in line for line in notes)
