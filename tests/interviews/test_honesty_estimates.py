"""Results about people who do not follow the rules, from answers of interviews."""

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd import interviews
from incrowd.presentation.write import save
from tests.oracles.cases import slowly
from tests.oracles.interview_rules import shared_columns

YES_NO = ("no", "yes")


def answers(questions, columns, groups=(), device=None, **keys):
    """Answers of interviews. questions: their designs, or a list of them, one for each group."""
    tables = []
    for id, design in questions.items():
        key = "designs" if isinstance(design, list) else "design"
        truth = {"truth": "no"} if id == "moon" else {}
        tables.append({"id": id, "type": "yesno", key: design} | truth)
    raw = {"name": "Rules", "device": device or {"kind": "spinner", "sectors": 100}}
    raw |= {"question": tables}
    if groups:
        raw |= {"groups": {"codes": list(groups)}}
        keys["group"] = "card"
    if keys:
        raw["columns"] = keys
    return incrowd.read_answers(incrowd.InterviewSurvey.of(raw), pa.table(columns))


def repeated(*counts):
    """Cells repeated: pairs of values and how often."""
    return [value for value, times in counts for _ in range(times)]


def cheated():
    """Of 400 people with each card, 132 and 220 say yes; the cards force 1/4 and 3/4."""
    reports = repeated(("yes", 132), ("no", 268), ("yes", 220), ("no", 180))
    designs = [{"kind": "forced", "yes": "1/4"}, {"kind": "forced", "yes": "3/4"}]
    cards = repeated(("a", 400), ("b", 400))
    return answers({"evades": designs}, {"evades": reports, "card": cards}, ("a", "b"))


def anchored():
    """The question and its anchor of 1,000 people; 15% and 25% have the birthday."""
    reports = repeated(("same", 650), ("different", 350))
    moon = repeated(("different", 300), ("same", 700))
    designs = {
        "steals": {"kind": "crosswise", "p": "0.15", "statement": "born in March or April"},
        "moon": {"kind": "crosswise", "p": "0.25", "statement": "mother born in spring"},
    }
    return answers(designs, {"steals": reports, "moon": moon})


def test_cheaters_and_the_range_of_carriers():
    found = interviews.honesty(cheated(), "evades", model="cheaters")
    # lambda = yes + forced no: .33 = y + n / 4, .55 = y + 3 n / 4
    assert found.share("honest-no").estimate == pytest.approx(0.44, abs=1e-7)
    assert found.share("honest-yes").estimate == pytest.approx(0.22, abs=1e-7)
    assert found.share("cheaters").estimate == pytest.approx(0.34, abs=1e-7)
    assert "carriers: 22.0 to 56.0%" in " ".join(found.view().notes)
    assert found.people == 800


def test_an_anchor_corrects_for_inattention():
    found = interviews.honesty(anchored(), "steals", model="anchor", anchor="moon")
    # Attentive: same with 1 - .25 = .75, else .5: .7 = .5 + .25 g, so g = .8.
    # The question: .65 = .5 + .8 (.85 - .7 pi - .5), so pi = (.35 - .1875) / .7.
    assert found.share("attention").estimate == pytest.approx(0.8, abs=1e-6)
    assert found.share("carriers").estimate == pytest.approx(0.1625 / 0.7, abs=1e-6)
    assert found.uncorrected[0].estimate == pytest.approx((0.85 - 0.65) / 0.7, abs=1e-6)


def test_people_who_always_say_no_to_several_questions():
    rng = np.random.default_rng(46)
    silent = rng.random(3000) < 0.25
    ids, shares = ("speeds", "drinks", "smokes"), (0.5, 0.3, 0.4)
    columns = {}
    for id, share in zip(ids, shares, strict=True):
        answer, die = rng.random(3000) < share, rng.integers(1, 7, 3000)
        said = np.where(die == 1, False, np.where(die == 6, True, answer)) & ~silent
        columns[id] = np.array(YES_NO)[said.astype(int)]
    die = {"kind": "forced", "yes": "1/6", "no": "1/6"}
    given = answers(dict.fromkeys(ids, die), columns, device={"kind": "die"})
    found = interviews.honesty(given, ids, model="always-no")
    first, *others = found.shares
    assert abs(first.estimate - 0.25) < 3 * first.standard_error < 0.15
    for each, id, share in zip(others, ids, shares, strict=True):
        assert each.question == id
        assert abs(each.estimate - share) < 3 * each.standard_error < 0.15
    assert all(each.high < share for each, share in zip(found.uncorrected, shares, strict=True))


def test_interviews_without_a_report_are_left_out_and_counted():
    given = anchored()
    given.reports["moon"][:10] = -1
    found = interviews.honesty(given, "steals", model="anchor", anchor="moon")
    assert (found.people, found.left_out) == (990, 10)


def test_weights_enter_the_estimate_and_its_error():
    designs = [{"kind": "forced", "yes": "1/4"}, {"kind": "forced", "yes": "3/4"}]
    reports = repeated(("yes", 132), ("no", 268), ("yes", 220), ("no", 180))
    columns = {
        "evades": reports,
        "card": repeated(("a", 400), ("b", 400)),
        "w": [1.0 + (row % 3) for row in range(800)],
    }
    given = answers({"evades": designs}, columns, ("a", "b"), weight="w")
    plain, weighted = (
        interviews.honesty(each, "evades", model="cheaters") for each in (cheated(), given)
    )
    assert weighted.share("cheaters").standard_error > plain.share("cheaters").standard_error


def test_sensitivity_by_hand():
    """30% say yes; a die forces 1/6 of both answers. Ten percent do something else."""
    reports = repeated(("yes", 300), ("no", 700))
    die = {"kind": "forced", "yes": "1/6", "no": "1/6"}
    given = answers({"smokes": die}, {"smokes": reports}, device={"kind": "die"})
    curves = interviews.sensitivity(given, "smokes", breakers=[0, 0.1])
    by = {(each.behavior, each.report, each.breakers): each for each in curves.shares}
    expected = {
        ("at-random", "", 0.1): ((0.3 - 0.05) / 0.9 - 1 / 6) * 1.5,
        ("always", "no", 0.1): (0.3 / 0.9 - 1 / 6) * 1.5,
        ("always", "yes", 0.1): ((0.3 - 0.1) / 0.9 - 1 / 6) * 1.5,
        ("truth", "", 0.1): (0.3 - 0.9 / 6) / (0.9 * 2 / 3 + 0.1),
    }
    for key, value in expected.items():
        assert by[key].estimate == pytest.approx(value, abs=1e-6), key
        assert by[key].low < value < by[key].high
        assert by[key].least == pytest.approx(0.9 * value, abs=1e-6)
        assert by[key].most == pytest.approx(0.9 * value + 0.1, abs=1e-6)
    none = [each.estimate for key, each in by.items() if key[2] == 0]
    assert none == pytest.approx([0.2] * 4, abs=1e-6)


def test_crosswise_reports_are_no_answers_that_somebody_could_give_truthfully():
    curves = interviews.sensitivity(anchored(), "steals", breakers=[0.2])
    kinds = [(each.behavior, each.report) for each in curves.shares]
    assert kinds == [("at-random", ""), ("always", "different"), ("always", "same")]


@pytest.mark.parametrize("ending", ["html", "json", *slowly("csv", "parquet", "xlsx")])
def test_results_are_written_in_every_format(ending, tmp_path):
    for name, result in (
        ("honesty", interviews.honesty(cheated(), "evades", model="cheaters")),
        ("sensitivity", interviews.sensitivity(anchored(), "steals", breakers=[0.1])),
    ):
        path = tmp_path / f"{name}.{ending}"
        assert save(result, path, "de")
        assert path.stat().st_size > 100


def test_published_numbers_of_the_survey_about_minarets():
    """R's RRreg on the survey of Heck and Moshagen (2018)."""
    data = shared_columns("minarets_rr.csv")
    columns = {
        "minarets": [YES_NO[int(each)] for each in data["answer"]],
        "card": [str(int(each)) for each in data["condition"]],
    }
    designs = [
        {"kind": "direct"},
        {"kind": "warner", "p": "2/12"},
        {"kind": "warner", "p": "10/12"},
    ]
    two_dice = {"kind": "die", "dice": 2}
    given = answers({"minarets": designs}, columns, ("0", "1", "2"), two_dice)
    found = interviews.honesty(given, "minarets", model="lies")
    figures = [(each.estimate, each.standard_error) for each in found.shares]
    rounded = [(round(estimate, 6), round(error, 6)) for estimate, error in figures]
    assert rounded == [(0.870695, 0.041118), (0.635806, 0.017344)]
    assert round(found.direct[0].estimate, 5) == 0.43288
    assert found.people == 564 + 692
