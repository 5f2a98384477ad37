"""What a model is: its terms, its design, what it refuses, and what it cannot estimate."""

import numpy as np
import pytest

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.errors import UsageError
from incrowd.estimation.regression.expected import expected_axis
from incrowd.estimation.regression.fitting import fit_tables
from incrowd.estimation.regression.formula import model_of as model_of_formula
from incrowd.estimation.regression.levels import level_decoder
from incrowd.estimation.regression.model import design
from incrowd.estimation.tables import estimate_table
from incrowd.survey import Choice, Multi, YesNo
from incrowd.survey.formulas import Formula
from tests.estimation.conftest import Setting, with_pairs

QUESTIONS = [
    {"id": "ill", "type": "yesno"},
    {"id": "age", "type": "choice", "options": ["young", "middle", "old"]},
    {"id": "sport", "type": "choice", "options": ["no", "yes"], "optional": True},
    {"id": "uses", "type": "multi", "options": ["u", "v"], "at_most": 1, "optional": True},
    {"id": "visits", "type": "number", "edges": [0, 1, 5]},
    {"id": "a:b=c", "type": "yesno"},
]
PRIVACY = {"epsilon": 2.0, "analysis": "local"}
RAW = {"name": "A", "crowd": 100, "privacy": PRIVACY, "question": QUESTIONS}
SURVEY = incrowd.Survey.of(RAW)


def model_of(survey, outcome, on, **options):
    return model_of_formula(survey, Formula(outcome=outcome, on=on, **options))


def terms(outcome, *on, **options):
    return [term.name for term in model_of(SURVEY, outcome, on, **options).terms]


@pytest.mark.parametrize(
    ("on", "names"),
    [
        (("age",), ["age=middle", "age=old"]),
        (("age=old",), ["age=old"]),
        (("sport",), ["sport=yes"]),
        (("uses=v", "age=old"), ["uses=v", "age=old"]),
        (("sport", "age", "sport:age"), 4 * [None] + ["sport=yes:age=old"]),
        (("age=old", "a:b=c", "age=old:a:b=c"), None),
        (("a:b=c",), ["a:b=c=yes"]),
        (("sport=no answer",), ["sport=no answer"]),
    ],
)
def test_terms_are_the_levels_that_are_not_of_reference(on, names):
    if names is None:  # a name with a colon in it is no part of an interaction
        with pytest.raises(UsageError):
            terms("ill", *on)
        return
    found = terms("ill", *on)
    assert found[0] == "(intercept)" and len(found) == 1 + len(names)
    assert all(name in (None, term) for name, term in zip(names, found[1:], strict=True))


def test_a_reference_is_chosen():
    found = model_of(SURVEY, "ill", ["age", "sport"], reference={"age": "old"})
    assert [t.name for t in found.terms][1:] == ["age=young", "age=middle", "sport=yes"]
    assert found.references == ("age=old", "sport=no")


def test_families_follow_the_outcome():
    assert model_of(SURVEY, "ill", ["age"]).family == "logistic"
    assert model_of(SURVEY, "visits=0 to <1", ["age"]).family == "logistic"
    assert model_of(SURVEY, "visits", ["age"]).family == "linear"
    assert model_of(SURVEY, "visits", ["age"]).scores == (0.5, 3.0, 7.0)
    assert model_of(SURVEY, "ill", ["age"], family="linear").scores == (0.0, 1.0)
    assert model_of(SURVEY, "sport", ["age"], family="linear").scores == (0.0, 1.0, 0.0)


def test_a_stratum_says_what_is_asked_in_clear():
    questions = [q | {"open": True} if q["id"] == "age" else q for q in QUESTIONS]
    survey = incrowd.Survey.of(RAW | {"question": questions})
    model = model_of(survey, "ill", ["sport", "age", "sport:age"])
    assert model.ids == ("ill", "sport")
    old = design(model, {"age": "old"})
    names = [term.name for term in model.terms]
    assert old.x.shape == (6, 6)  # ill by sport and no answer
    assert old.counted.tolist() == [True, True, False] * 2
    assert old.x[names.index("age=old")].tolist() == [1, 1, 0] * 2
    assert old.x[names.index("sport=yes:age=old")].tolist() == [0, 1, 0] * 2
    assert not old.x[names.index("age=middle")].any()
    assert old.y.tolist() == [0, 0, 0, 1, 1, 1]


# --- people who did not answer ---------------------------------------------------------------


FLIP = BitFlip.at_least(0.1)


def tables(model, shares, people, channels, seed, trials=1):
    questions = tuple(variable.question for variable in model.randomized)
    setting = Setting(questions, channels, shares, people)
    pairs = zip(model.randomized, channels, strict=True)
    decoders = [level_decoder(*pair) for pair in pairs]
    counted = setting.counts(setting.collections(seed, trials), with_pairs)
    return [estimate_table(setting.ids, decoders, counts, covariance=True) for counts in counted]


def test_people_who_did_not_answer_are_left_out():
    """A third does not say; those who do have log odds -1 and 0.5. Wrong: silence as "no"."""
    model = model_of(SURVEY, "ill", ["sport"])
    odds = np.array([-1.0, 0.5])
    share = 1 / (1 + np.exp(-odds))
    shares = np.array([[*(1 - share), 0.1], [*share, 0.9]]) / 3  # nearly all the silent are ill
    (table,) = tables(model, shares, 10**8, (FLIP, FLIP), seed=1)
    found = [c.estimate for c in fit_tables(model, [({}, table)]).coefficients]
    assert np.allclose(found, [-1.0, 1.5], atol=0.02)
    silent_as_no = np.log((share[0] + 0.9) / (1 - share[0] + 0.1))
    assert abs(found[0] - silent_as_no) > 0.5


# --- what cannot be estimated ----------------------------------------------------------------

TWO = model_of(SURVEY, "ill", ["age=old"])
CHANNELS = (BitFlip.at_least(0.25), BitFlip.at_least(0.25))
AGE = Choice(id="age", options=("young", "middle", "old"))
RNG = np.random.default_rng(6)


def test_separation_is_said_and_not_estimated():
    """All who are old are ill: the log odds are infinite. Of 40 collections none has them."""
    shares = np.array([[0.4, 0.2, 0.0], [0.1, 0.1, 0.2]])
    found = [fit_tables(TWO, [({}, t)]) for t in tables(TWO, shares, 20_000, CHANNELS, 2, 40)]
    refused = [fit for fit in found if fit.reason]
    assert len(refused) >= 38  # a share of zero is two errors above zero once in 44
    assert "age=old without ill=yes" in refused[0].reason and "separation" in refused[0].reason
    assert not refused[0].coefficients


LITTLE = (BitFlip.at_least(1e-9), BitFlip.at_least(1e-9))


def counted(cells):
    """The fit to these people, one for one: without and with the outcome, young and old."""
    people = np.array(cells)
    shares = np.stack([people[:, 0], 0 * people[:, 0], people[:, 1]], axis=1) / people.sum()
    setting = Setting((YesNo(id="ill"), AGE), LITTLE, shares, int(people.sum()))
    cells = np.rint(setting.people * shares).astype(int).reshape(1, -1)
    histograms = setting.reports_of(cells, RNG)
    decoders = [level_decoder(*each) for each in zip(TWO.randomized, LITTLE, strict=True)]
    (table,) = [
        estimate_table(setting.ids, decoders, c, covariance=True)
        for c in setting.counts(histograms, with_pairs)
    ]
    return fit_tables(TWO, [({}, table)])


@pytest.mark.parametrize("few", [1, 3])
def test_a_few_people_are_people_where_there_is_no_noise(few):
    """Log odds and errors of people who are counted, as textbooks have them. Before, three of them
    were taken for none, since three have a sampling error of 1.7."""
    found = counted([[400, 200], [344, few]]).coefficients
    odds = np.log([344 / 400, few / 200])
    assert [c.estimate for c in found] == pytest.approx([odds[0], odds[1] - odds[0]], rel=1e-5)
    error = np.sqrt(1 / 400 + 1 / 344 + 1 / 200 + 1 / few)
    assert found[1].standard_error == pytest.approx(error, rel=1e-5)


def test_nobody_is_nobody_where_there_is_no_noise():
    reason = counted([[400, 200], [344, 0]]).reason
    assert "age=old with ill=yes" in reason and "separation" in reason


def test_too_little_information_is_said():
    """Old people are one in 10,000, and reports are 400: linear models too."""
    model = model_of(SURVEY, "ill", ["age=old"], family="linear")
    shares = np.array([[0.35, 0.35, 0.00005], [0.15, 0.14985, 0.00005]])
    shares[0, 0] += 1 - shares.sum()
    found = [fit_tables(model, [({}, t)]) for t in tables(model, shares, 400, CHANNELS, 3, 40)]
    refused = [fit.reason for fit in found if fit.reason]
    assert len(refused) >= 35
    assert "too little information about age=old" in refused[0]


def test_predictors_that_say_the_same_are_refused():
    """Two questions that everybody answers alike."""
    other = model_of(SURVEY, "ill", ["age=old", "a:b=c"], family="linear")
    shares = np.zeros((2, 3, 2))
    shares[:, :2, 0] = [[0.3, 0.2], [0.1, 0.1]]
    shares[:, 2, 1] = [0.1, 0.2]
    channels = (*CHANNELS, BitFlip.at_least(0.2))
    found = [fit_tables(other, [({}, t)]) for t in tables(other, shares, 3000, channels, 4, 20)]
    assert sum("too little information" in fit.reason for fit in found) >= 19


def test_enough_is_not_refused():
    shares = np.array([[0.4, 0.2, 0.1], [0.1, 0.1, 0.1]])
    found = [fit_tables(TWO, [({}, t)]) for t in tables(TWO, shares, 20_000, CHANNELS, 2, 40)]
    assert not any(fit.reason for fit in found)


# --- what to expect --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "channel"),
    [
        (YesNo(id="a"), FLIP),
        (AGE, FLIP),
        (AGE, KAry.from_epsilon(1.0, 3)),
        (Multi(id="m", options=("u", "v", "w"), at_most=3), FLIP),
    ],
)
def test_expected_counts_are_those_of_all_reports_by_their_chances(question, channel):
    if isinstance(question, Multi):  # all sets alike: each option given by half, independently
        reports = np.array(list(np.ndindex(2, 2, 2)))
        chance = np.full(8, 1 / 8)
    else:
        setting = Setting((question,), (channel,), np.ones(len(question.answers)), 1)
        ((reports, law, _),) = setting.axes
        chance = law.mean(axis=1)
    assert np.allclose(expected_axis(question, channel), with_pairs(reports) @ chance)


def test_expected_counts_follow_stated_shares():
    setting = Setting((AGE,), (FLIP,), np.ones(3), 1)
    ((reports, law, _),) = setting.axes
    shares = [0.7, 0.2, 0.1]
    wanted = with_pairs(reports) @ (law @ shares)
    assert np.allclose(expected_axis(AGE, FLIP, shares), wanted)
    assert not np.allclose(expected_axis(AGE, FLIP), wanted, atol=0.01)
