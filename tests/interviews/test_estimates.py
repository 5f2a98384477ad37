"""Results of interviews: shares, tables, differences, and correlations, from the survey on."""

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pytest
import scipy
from typer.testing import CliRunner

import incrowd
from incrowd import interviews
from incrowd.cli.app import app
from incrowd.errors import UsageError
from incrowd.presentation.write import content
from incrowd.views import Result

DIE = {"kind": "forced", "yes": "1/6", "no": "1/6"}
ENDINGS = (".csv", ".json", ".parquet", ".html", ".xlsx", ".docx", ".r")


def read(data, *questions, **tables):
    survey = {
        "name": "Habits",
        "device": {"kind": "die"},
        "question": [{"id": id, "type": "yesno", "design": DIE} for id in questions],
    }
    return incrowd.read_answers(incrowd.InterviewSurvey.of(survey | tables), pa.table(data))


def habits(n=400, seed=1):
    """Two questions, with weights, clusters, a factor, and numbers."""
    rng = np.random.default_rng(seed)

    def reports():
        return np.where(rng.random(n) < 0.4, "yes", "no").astype(object)

    smokes = reports()
    smokes[:7] = None
    return {
        "smokes": smokes,
        "drinks": reports(),
        "sex": rng.choice(["f", "m"], n),
        "age": rng.integers(20, 80, n).astype(float),
        "children": rng.integers(0, 3, n).astype(float),
        "w": rng.uniform(1, 3, n),
        "village": rng.integers(0, 25, n),
    }


def sampled():
    return read(habits(), "smokes", "drinks", columns={"weight": "w", "cluster": "village"})


def everything(answers):
    return {
        "shares": interviews.prevalence(answers),
        "likely shares": interviews.prevalence(answers, method="likelihood"),
        "shares by sex": interviews.prevalence(answers, "smokes", by="sex"),
        "table": interviews.table(answers, ["smokes", "drinks"]),
        "table of three": interviews.table(answers, ["smokes", "drinks", "children"]),
        "likely table": interviews.table(answers, ["smokes", "sex"], method="likelihood"),
        "differences": interviews.compare(answers, "smokes", "children"),
        "correlations": interviews.correlate(answers, ["smokes", "drinks", "age"]),
    }


@pytest.fixture(scope="module")
def results():
    return everything(sampled())


def test_weights_and_clusters_of_the_survey_are_used(results):
    data = habits()
    given = data["smokes"] != None  # noqa: E711
    scores = ((data["smokes"][given] == "yes") - 1 / 6) * 1.5
    weights = data["w"][given] / data["w"][given].sum()
    yes = results["shares"].figures[1]
    mean = float(weights @ scores)
    assert yes.estimate == pytest.approx(mean, abs=1e-12)
    sums = np.bincount(data["village"][given], weights * (scores - mean))
    assert yes.standard_error == pytest.approx(math.sqrt(25 / 24 * np.sum(sums**2)), rel=1e-9)
    quantile = scipy.stats.t(24).ppf(0.975)  # of 25 clusters
    assert yes.high - mean == pytest.approx(quantile * yes.standard_error)
    plain = interviews.prevalence(sampled(), "smokes", weighted=False).figures[1]
    assert plain.estimate == pytest.approx(scores.mean(), abs=1e-12)
    assert results["shares"].left_out == {"smokes": 7, "drinks": 0}


def test_groups_have_their_shares(results):
    data, figures = habits(), results["shares by sex"].figures
    for group, yes in zip("fm", figures[1::2], strict=True):
        chosen = (data["sex"] == group) & (data["smokes"] != None)  # noqa: E711
        scores = ((data["smokes"][chosen] == "yes") - 1 / 6) * 1.5
        assert (yes.group, yes.people) == (group, chosen.sum())
        assert yes.estimate == pytest.approx(np.average(scores, weights=data["w"][chosen]))


def test_a_threshold_divides_numbers():
    result = interviews.compare(sampled(), "smokes", "age", threshold=50)
    data, (below, above) = habits(), result.shares.fits
    given = data["smokes"] != None  # noqa: E711
    assert below.people == np.sum(given & (data["age"] < 50))
    assert above.people == np.sum(given & (data["age"] >= 50))
    (difference,) = result.differences
    lower, upper = (each for each in result.shares.figures if each.answer == "yes")
    assert difference.estimate == pytest.approx(upper.estimate - lower.estimate)
    assert difference.p_value == difference.adjusted  # of one difference
    assert difference.p_value == pytest.approx(result.test.p_value)
    assert (difference.p_value < 0.05) == (difference.low > 0 or difference.high < 0)


def test_margins_of_a_table_are_its_sums(results):
    table = results["table"]
    for axis, margin in enumerate(table.margins):
        shares = [share for share, _ in margin]
        assert shares == pytest.approx(table.estimate.sum(axis=1 - axis))
    rows = np.kron(np.eye(2), np.ones(2))
    errors = np.sqrt(np.diagonal(rows @ table.covariance @ rows.T))
    assert [error for _, error in table.margins[0]] == pytest.approx(errors)
    assert results["table"].independence.clusters == 25
    assert results["table"].odds_ratio and results["table of three"].odds_ratio is None


def test_the_likelihood_keeps_a_margin_that_was_asked_openly(results):
    data, table = habits(), results["likely table"]
    given = data["smokes"] != None  # noqa: E711
    women = np.average(data["sex"][given] == "f", weights=data["w"][given])
    assert table.estimate[:, 0].sum() == pytest.approx(women)
    assert np.all(table.low <= table.estimate) and np.all(table.estimate <= table.high)


def test_every_form_has_the_figures(results):
    for result in results.values():
        assert isinstance(result, Result) and result.guarantee
        facts = json.loads(content(result, ".json"))
        assert facts["weighted"] is True and facts["clusters"] == 25
        assert content(result, ".csv").count(b"\n") == len(result.long_table().rows) + 1
        assert repr(result).startswith(type(result).__name__)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_format_can_be_written(results, language):
    for result, ending in itertools.product(results.values(), ENDINGS):
        assert content(result, ending, language)


def test_notes_are_german_in_german(results):
    for result in (results["differences"], results["likely table"], results["correlations"]):
        page = content(result, ".html", "de").decode()
        assert "Die Standardfehler umfassen" in page and "25 Klumpen" in page
        assert "Standard errors include" not in page


def test_what_is_below_zero_or_at_an_end_is_said():
    answers = read({"smokes": ["no"] * 60 + ["yes"] * 2}, "smokes")
    notes = " ".join(interviews.prevalence(answers).view().notes)
    assert "below 0%" in notes and "did not follow the rules" in notes
    likely = interviews.prevalence(answers, method="likelihood")
    assert "end of its range" in " ".join(likely.view().notes)
    assert "-" in likely.view().tables[0].lines[0]


def test_an_unknown_prevalence_is_shown_with_the_shares():
    rng = np.random.default_rng(2)
    group = rng.integers(2, size=1000)
    asked = rng.random(1000) < np.where(group == 0, 0.7, 0.3)
    true = np.where(asked, rng.random(1000) < 0.2, rng.random(1000) < 0.6)
    survey = {
        "name": "x",
        "device": {"kind": "spinner", "sectors": 100},
        "columns": {"group": "g"},
        "groups": {"codes": ["0", "1"]},
        "question": [
            {
                "id": "a",
                "type": "yesno",
                "designs": [{"kind": "unrelated", "p": "7/10"}, {"kind": "unrelated", "p": "3/10"}],
            }
        ],
    }
    table = pa.table({"a": np.where(true, "yes", "no"), "g": group.astype(str)})
    answers = incrowd.read_answers(incrowd.InterviewSurvey.of(survey), table)
    _, yes, unknown = interviews.prevalence(answers).figures
    shares = [true[group == each].mean() for each in (0, 1)]
    assert yes.estimate == pytest.approx((0.7 * shares[0] - 0.3 * shares[1]) / 0.4)
    assert unknown.unknown and unknown.estimate == pytest.approx(
        (0.7 * shares[1] - 0.3 * shares[0]) / 0.4
    )


def test_wrong_use_is_refused():
    answers = sampled()
    for call, words in (
        (lambda: interviews.prevalence(answers, by="age"), "use threshold="),
        (lambda: interviews.prevalence(answers, by="sex", threshold=3), "names, not numbers"),
        (lambda: interviews.table(answers, ["smokes"]), "at least two"),
        (lambda: interviews.table(answers, ["smokes", "smoke"]), "did you mean"),
        (lambda: interviews.correlate(answers, ["smokes", "sex"]), "leave it out"),
    ):
        with pytest.raises(UsageError, match=words):
            call()


def test_the_commands_give_what_the_functions_give(tmp_path, results):
    file = str(tmp_path / "interviews.parquet")
    sampled().save(file)

    def printed(command, *arguments):
        result = CliRunner().invoke(app, ["interviews", command, file, *arguments, "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    for name, typed in {
        "shares by sex": ("estimate", "--of", "smokes", "--by", "sex"),
        "table": ("table", "smokes", "drinks"),
        "differences": ("compare", "smokes", "--by", "children"),
        "correlations": ("correlate", "smokes", "drinks", "age"),
    }.items():
        assert printed(*typed) == json.loads(content(results[name], ".json")), name
    scored = printed("correlate", "smokes", "age", "--scores", "smokes=0,5")
    expected = interviews.correlate(sampled(), ["smokes", "age"]).pairs[0].estimate
    assert scored["pairs"][0]["estimate"] == pytest.approx(expected)  # of any unit
    wrong = CliRunner().invoke(app, ["interviews", "table", file, "smokes"])
    assert isinstance(wrong.exception, UsageError)
