"""Regressions weighted to known margins, from counts and from whole reports.

People take part by town and by sex, so that the model among them is not that of all people; raked
weights set it right. A share of 4,000 has a standard error of .0034 near .95, so that right
intervals fall outside [.935, .965] with probability below 2e-5 each; quick tests have 4 standard
errors of the coverage. Seeds are fixed. Oracles: statsmodels with frequency weights, numerical
derivatives of the whole procedure.
"""

import json
from functools import cache, reduce
from operator import add

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import statsmodels.api as sm
from scipy.special import expit

import incrowd
from incrowd.cli.app import app
from incrowd.errors import TableError, UsageError
from incrowd.estimation import readings
from incrowd.estimation.compare import two_way
from incrowd.estimation.regression.formula import formula_of, model_of
from incrowd.estimation.regression.regress import weighted_fit
from incrowd.estimation.weighting.known_margins import known_margins
from incrowd.estimation.weighting.weighting import TableChange, derived
from incrowd.reports.tally import MessageTally, Tally, with_tables
from tests.estimation.conftest import Setting, covered, nominal, numeric_gradient, with_pairs

TOWNS = ("north", "south")
QUESTIONS = [
    {"id": "town", "type": "choice", "options": list(TOWNS), "open": True},
    {"id": "ill", "type": "yesno"},
    {"id": "smokes", "type": "yesno"},
    {"id": "sex", "type": "choice", "options": ["f", "m"]},
]
COUNTED = ("ill", "smokes", "sex")  # and "sex" because of its margin
ON = ["smokes", "town"]
MARGINS = {"town": {"north": 0.5, "south": 0.5}, "sex": {"f": 0.5, "m": 0.5}}
TOGETHER = {"town | sex": {f"{town} | {sex}": 0.25 for town in TOWNS for sex in "fm"}}
TAKES_PART = np.array([[0.9, 0.3], [0.5, 1 / 6]])  # by town and sex
PEOPLE = 9000
FEW = 100
SLACK = 4 * np.sqrt(0.05 * 0.95 / FEW)


def population():
    """The shares of all people by town, illness, smoking and sex."""
    town, ill, smokes, sex = np.indices((2, 2, 2, 2))
    share = 0.25 * np.where(smokes == (sex == 1), 0.6, 0.4)
    sick = expit(-2 + 0.9 * smokes + 0.5 * town + 4 * sex)
    return share * np.where(ill == 1, sick, 1 - sick)


def taking_part():
    found = population() * TAKES_PART[:, None, None, :]
    return found / found.sum()


def design(on):
    """1, smokes, south in the cells."""
    town, ill, smokes, _ = (axis.ravel() for axis in np.indices((2, 2, 2, 2)))
    columns = {"smokes": smokes, "town": town}
    return ill, np.stack([np.ones(16), *(columns[id] for id in on)], 1)


def logit(shares, on=ON):
    """The coefficients that shares of people have, by statsmodels."""
    ill, x = design(on)
    model = sm.GLM(ill, x, family=sm.families.Binomial(), freq_weights=1e4 * shares.ravel())
    return model.fit(tol=1e-14).params


@cache
def plan(copies=1, epsilon=8.0):
    raw = {"name": "towns", "crowd": 500, "privacy": {"epsilon": epsilon, "analysis": "local"}}
    raw |= {"question": QUESTIONS, "copies": copies, "table": [{"questions": list(COUNTED)}]}
    return incrowd.plan(incrowd.Survey.of(raw))


@pytest.fixture(autouse=True)
def _decoders_once(monkeypatch):
    """The decoders of a plan are made once, not for every collection."""
    made, kept = readings.question_decoder, {}

    def once(question, channel, margin):
        key = (question.id, channel, margin)
        if key not in kept:
            kept[key] = made(question, channel, margin)
        return kept[key]

    monkeypatch.setattr(readings, "question_decoder", once)


def collections(made, seed, trials, counted=COUNTED):
    """Tallies of whole collections: who takes part, where, and what is reported."""
    (message,) = made.messages
    questions = [made.survey.question(id) for id in counted]
    channels = [message.channels[id] for id in counted]
    generator, shares = np.random.default_rng(seed), taking_part()
    if "smokes" not in counted:
        shares = shares.sum(axis=2)
    people = generator.multinomial(PEOPLE, shares.ravel(), size=trials).reshape(trials, 2, -1)
    counts = []
    for place in range(2):
        crowd = Setting(questions, channels, shares[place], PEOPLE, message.copies)
        reports = crowd.reports_of(people[:, place], generator)
        counts.append(crowd.counts(reports, with_pairs))
    for each in zip(*counts, strict=True):
        yield tally(made, dict(zip(TOWNS, each, strict=True)), counted)


def tally(made, counts, counted):
    strata = {
        (town,): {0: MessageTally(int(table.flat[0]), 0, 0, {counted: table})}
        for town, table in counts.items()
    }
    together = {0: reduce(add, (each[0] for each in strata.values()))}
    found = Tally(made.digest, (counted,), "pairs", together, strata=strata)
    return with_tables(made, found, [("ill", "smokes")])  # for models without weights


def fits(made, tallies, margins=MARGINS, on=ON):
    model = model_of(made.survey, formula_of(made.survey, "ill", on))
    known = known_margins(made.survey, margins) if margins else ()
    return [weighted_fit(made, model, each, known).fit for each in tallies]


def without_errors_of_the_weights(monkeypatch):
    """Wrong: weights that are taken as known do not answer to the data."""
    monkeypatch.setattr(np.linalg, "pinv", lambda matrix, **_: np.zeros_like(matrix))


@pytest.mark.slow
def test_intervals_cover_the_model_of_all_people():
    """Wrong: without weights, the model of those who take part."""
    made = plan(copies=4, epsilon=20.0)
    found = list(collections(made, 3, FEW))
    assert np.all(np.abs(covered(fits(made, found), logit(population())) - 0.95) < SLACK)
    plain = covered(fits(made, found, margins=None), logit(population()))
    assert abs(plain[0] - 0.95) > SLACK
    among = covered(fits(made, found, margins=None), logit(taking_part()))
    assert np.all(np.abs(among - 0.95) < SLACK)


@pytest.mark.slow
@pytest.mark.parametrize(("copies", "epsilon"), [(1, 8.0), (4, 20.0)])
def test_intervals_cover_in_4000_collections(copies, epsilon):
    made = plan(copies, epsilon)
    found = list(collections(made, 5, 4000))
    assert nominal(covered(fits(made, found), logit(population())))
    assert not nominal(covered(fits(made, found, margins=None), logit(population())))


@pytest.mark.slow
def test_weights_that_are_taken_as_known_do_not_cover(monkeypatch):
    """A margin of town and sex together, and an illness that is nearly that of a sex."""
    made, asked = plan(epsilon=20.0), {"margins": TOGETHER, "on": ["town"]}
    found = list(collections(made, 6, 4000, ("ill", "sex")))
    truth = logit(population(), ["town"])
    assert nominal(covered(fits(made, found, **asked), truth))
    without_errors_of_the_weights(monkeypatch)
    assert not nominal(covered(fits(made, found, **asked), truth))


def comparisons(made, tallies, margins):
    """Ends of the intervals: of a share, of a difference, of odds ratios."""
    change = TableChange(known_margins(made.survey, margins) if margins else ())
    for each in tallies:
        held = with_tables(made, each, [("smokes", "ill", "sex")])
        found = two_way(derived(made, held, ("smokes", "ill"), change).weighted, made.guarantee, 1)
        figures = (found.shares[1], found.differences[1], found.odds_ratios[1])
        yield [(figure.low, figure.high) for figure in figures]


@pytest.mark.slow
@pytest.mark.parametrize("trials", [1000])
def test_comparisons_of_weighted_people_cover(trials):
    """Of the ill among those who smoke against those who do not. Wrong: without weights."""
    made = plan()
    tallies = [
        with_tables(made, each, [("smokes", "ill")]) for each in collections(made, 15, trials)
    ]
    ill = population().sum(axis=(0, 3))
    first, second = ill[1] / ill.sum(axis=0)
    truth = first, second - first, second / (1 - second) / (first / (1 - first))
    slack = 4 * np.sqrt(0.05 * 0.95 / trials)
    for margins, right in ((MARGINS, True), (None, False)):
        ends = np.array(list(comparisons(made, tallies, margins)))
        off = np.abs(np.mean((ends[..., 0] <= truth) & (truth <= ends[..., 1]), axis=0) - 0.95)
        assert (off.max() < slack) if right else (off[0] > slack)


# --- from whole reports, with next to no noise ---------------------------------------------------


@cache
def answers(people=6000):
    generator = np.random.default_rng(9)
    cells = generator.choice(16, people, p=taking_part().ravel())
    town, ill, smokes, sex = np.unravel_index(cells, (2, 2, 2, 2))
    said = {"town": np.array(TOWNS)[town], "sex": np.array(["f", "m"])[sex]}
    yes = {"ill": ill, "smokes": smokes}
    return pa.table(said | {id: np.where(each, "yes", "no") for id, each in yes.items()}), cells


@cache
def reports(epsilon=90.0):
    return list(incrowd.randomize(plan(1, epsilon), answers()[0], simulation_seed=2))


def regress(epsilon=90.0, **options):
    asked = {"outcome": "ill", "on": ON, "margins": MARGINS} | options
    return incrowd.regress(plan(1, epsilon), reports(epsilon), **asked)


def raking_weights(shares):
    """Each margin in turn, in cells of town, illness, smoking and sex."""
    found = shares.reshape(2, 2, 2, 2).copy()
    for _ in range(200):
        found *= 0.5 / found.sum(axis=(1, 2, 3), keepdims=True)
        found *= 0.5 / found.sum(axis=(0, 1, 2), keepdims=True)
    return found


def figures(found):
    return np.array([[c.estimate, c.standard_error] for c in found.coefficients]).T


def test_without_noise_the_coefficients_are_those_of_statsmodels_with_raking_weights():
    shares = np.bincount(answers()[1], minlength=16) / answers()[0].num_rows
    values, _ = figures(regress())
    assert values == pytest.approx(logit(raking_weights(shares)), abs=1e-4)
    assert np.abs(values - logit(shares)).max() > 0.1


@pytest.mark.slow
def test_the_errors_are_those_of_numerical_derivatives(monkeypatch):
    """Of raking and of the fit together, by the share of each cell: the jackknife of so many people
    that one more is a derivative. Wrong: weights as known."""
    people = answers()[0].num_rows
    shares = np.bincount(answers()[1], minlength=16) / people
    slopes = np.stack(
        [numeric_gradient(lambda p, at=at: logit(raking_weights(p))[at], shares) for at in range(3)]
    )
    covariance = (slopes * shares) @ slopes.T - np.outer(slopes @ shares, slopes @ shares)
    errors = np.sqrt(np.diagonal(covariance) / people)
    assert figures(regress())[1] == pytest.approx(errors, rel=1e-3)
    without_errors_of_the_weights(monkeypatch)
    assert figures(regress())[1] != pytest.approx(errors, rel=1e-2)


def test_margins_that_the_reports_say_themselves_change_no_coefficient():
    """Of any noise: shares of sex that are debiased, and the people of each town."""
    found = incrowd.estimate(plan(1, 20.0), reports(20.0), tables=[["sex"], ["town"]])
    said = [dict(zip(t.answers[0], t.estimate.tolist(), strict=True)) for t in found.tables]
    off = sum(said[0].values()) - 1  # which a report says is nothing
    known = {"sex": {answer: share - off / 2 for answer, share in said[0].items()}, "town": said[1]}
    options = {"on": ["smokes", "sex", "town"], "reference": {"town": "south"}}
    plain = incrowd.regress(plan(1, 20.0), reports(20.0), outcome="ill", **options)
    weighted = regress(20.0, margins=known, **options)
    assert figures(weighted)[0] == pytest.approx(figures(plain)[0], abs=1e-7)
    assert weighted.weighted_to == ("sex", "town") and 0.5 < weighted.error_ratio <= 1.001


@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_known_strata_are_combined_with_their_known_shares(family):
    """With both towns' own coefficients the weights of towns move nothing, errors neither."""
    asked = {"on": ["smokes", "town", "smokes:town"], "family": family}
    plain = incrowd.regress(plan(), reports(8.0), outcome="ill", **asked)
    weighted = regress(8.0, margins={"town": MARGINS["town"]}, **asked)
    assert figures(weighted) == pytest.approx(figures(plain), rel=1e-7)


def test_the_noise_alone_and_who_is_left_out():
    both, noise = regress(8.0), regress(8.0, noise_only=True)
    assert noise.errors == "noise alone" and both.left_out == 0
    assert np.all(figures(noise)[1] < figures(both)[1])
    assert figures(noise)[0] == pytest.approx(figures(both)[0])


@pytest.mark.parametrize("method", ["pairs", "likelihood"])
def test_other_methods_take_no_weights(method):
    with pytest.raises(UsageError, match="method='table'"):
        regress(method=method, family="linear")


def test_a_margin_that_no_report_holds_with_the_model_is_refused():
    apart = [{"questions": ["ill", "smokes"]}, {"questions": ["sex"]}]
    raw = {"name": "t", "crowd": 50, "privacy": {"epsilon": 8.0, "analysis": "local"}}
    made = incrowd.plan(incrowd.Survey.of(raw | {"question": QUESTIONS, "message": apart}))
    with pytest.raises(TableError, match="no report has it together with sex"):
        incrowd.regress(made, [], outcome="ill", on=["smokes"], margins=MARGINS)


def test_the_command_says_what_a_model_is_weighted_to(tmp_path, capsys):
    (tmp_path / "plan.json").write_text(plan().dumps())
    incrowd.save_reports(reports(8.0), tmp_path / "r")
    (tmp_path / "m.toml").write_text("[town]\nnorth = 1\nsouth = 1\n[sex]\nf = 50\nm = 50\n")
    command = ["regress", tmp_path / "plan.json", tmp_path / "r", "--outcome", "ill"]
    command += ["--on", "smokes,town", "--margins", tmp_path / "m.toml"]
    command += ["--json", "-o", tmp_path / "o.csv"]
    app(args=list(map(str, command)), standalone_mode=False)
    data = json.loads(capsys.readouterr().out)
    assert data["weighted_to"] == "town and sex" and data["error_ratio"] > 0
    rows = pa.csv.read_csv(tmp_path / "o.csv").to_pylist()
    assert {row["weighted_to"] for row in rows} == {"town and sex"}
    words = f"standard errors are {data['error_ratio']:.2f} of those without weights"
    assert f"weighted to known margins of town and sex; {words}" in regress(8.0).notes()
