"""Means, totals and quantiles of numbers, against sums over all that chance can do.

What one person's report adds to the mean is worked out by going through both edges and all
reports; the coverage is that of simulated collections. A share of 4,000 has a standard error of
.0034 near .95, so that right intervals fall outside [.935, .965] with probability below 2e-5; of
the 300 of a quick test outside [.90, .99] with probability below 4e-4. Seeds are fixed.
"""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import incrowd
from incrowd.accountant.channels.bit_flip import BitFlip
from incrowd.accountant.channels.k_ary import KAry
from incrowd.encoding.amounts import between
from incrowd.encoding.records import EncodedAnswers
from incrowd.estimation.amounts import amounts, evidence, mean, of_a_sample, quantile, total
from incrowd.estimation.decoders import question_decoder
from incrowd.estimation.estimate import count
from incrowd.estimation.readings import readings
from incrowd.planner.forecast import expected
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.randomize import header, randomize_message, rounded, rounded_up
from incrowd.simulation import true_moments, truth
from incrowd.survey import Amount, Number
from tests.conftest import slowly

FLIP, KEPT = BitFlip.at_least(0.2), KAry.from_epsilon(1.5, 4)
EDGES = (0.0, 4.0, 10.0, 40.0)
VISITS = Amount(id="visits", edges=EDGES)
BOUNDS = Amount(id="bounds", edges=(10.0, 50.0))
PLANNED = {"name": "Visits", "crowd": 500, "privacy": {"epsilon": 4.0, "delta": 1e-5}}


def made(*questions, **survey):
    asked = [q.model_dump(exclude_none=True, by_alias=True) for q in questions]
    return incrowd.plan(incrowd.Survey.of({**PLANNED, **survey, "question": asked}))


def of_shares(question, shares, people=1e4):
    """What is known if the shares of the answers were read without noise."""
    size = 1 + len(shares)
    return of_a_sample(question, np.append(1.0, shares), np.zeros((size, size)), people)


def chances(edges, x):
    """The law of the edge that x is rounded to, from its definition."""
    law = np.zeros(len(edges))
    for place, (a, b) in enumerate(itertools.pairwise(edges)):
        if a <= x <= b:
            law[place : place + 2] = (b - x) / (b - a), (x - a) / (b - a)
            break
    return law


def report_law(question, channel, place):
    """Every report of a person at an edge, with its chance: bits, or the one that is set."""
    bits = question.domain.bits
    record = np.eye(bits)[place] if bits > 1 else np.array([float(place)])
    for report in itertools.product((0, 1), repeat=bits):
        if channel.of_answers:
            chance = channel.matrix[report.index(1), place] if sum(report) == 1 else 0.0
        else:
            chance = np.prod(
                [channel.matrix[r, int(x)] for r, x in zip(report, record, strict=True)]
            )
        yield np.array(report), chance


def contribution(question, channel, report):
    """What a report adds to the mean of its answers."""
    shares = question_decoder(question, channel).mean @ np.append(1.0, report)
    return mean(of_shares(question, shares)).estimate


@pytest.mark.parametrize(("question", "channel"), [(VISITS, FLIP), (VISITS, KEPT), (BOUNDS, FLIP)])
@pytest.mark.parametrize("x", [10.0, 12.5, 31.4, 40.0])
def test_a_report_is_right_on_average_and_has_the_variance_of_the_proof(question, channel, x):
    law = chances(question.edges, x)
    seen = [
        (contribution(question, channel, report), at * chance)
        for place, at in enumerate(law)
        for report, chance in report_law(question, channel, place)
    ]
    first = sum(value * chance for value, chance in seen)
    variance = sum((value - x) ** 2 * chance for value, chance in seen)
    edges = np.array(question.edges)
    below = edges[edges <= x].max()
    above = edges[edges >= x].min()
    rounding = (x - below) * (above - x)
    assert first == pytest.approx(x)
    if channel is FLIP and question is VISITS:
        noise = ((edges - edges.mean()) ** 2).sum() * FLIP.q * FLIP.p / (FLIP.p - FLIP.q) ** 2
        assert variance == pytest.approx(rounding + noise)
    if question is BOUNDS:
        noise = (edges[1] - edges[0]) ** 2 * FLIP.q * FLIP.p / (FLIP.p - FLIP.q) ** 2
        assert variance == pytest.approx(rounding + noise)
    assert variance > rounding


@pytest.mark.parametrize("question", [VISITS, BOUNDS])
@pytest.mark.parametrize("x", [11.0, 17.3, 39.0])
def test_rounding_to_the_nearest_edge_is_wrong_on_average(question, x):
    edges = np.array(question.edges)
    nearest = np.eye(len(edges))[np.abs(edges - x).argmin()]
    assert abs(mean(of_shares(question, nearest)).estimate - x) >= 1


def test_numbers_lie_between_their_edges_and_outside_ones_are_moved():
    below, up = between(EDGES, np.array([-3.0, 0.0, 1.0, 4.0, 25.0, 40.0, 1e9]))
    assert below.tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert (up / 2**32).tolist() == [0, 0, 0.25, 0, 0.5, 1, 1]


def test_the_chance_of_the_upper_edge_is_exact():
    """A word's upper half is compared with the numerator: all of them, one by one."""
    up = np.array([0, 1, 2**31, 2**32 - 1, 2**32] * 2000)
    words = Keystream.for_simulation(3).words(len(up))
    found = rounded_up(up, Keystream.for_simulation(3))
    assert found.tolist() == [int(int(word) >> 32 < n) for word, n in zip(words, up, strict=True)]
    assert not found[::5].any() and found[4::5].all()
    assert abs(found[2::5].mean() - 0.5) < 4 * 0.5 / np.sqrt(2000)  # 6e-5 of false alarm


def test_nobody_without_amounts_takes_a_word_of_the_keystream():
    survey = made(Number(id="n", edges=(0, 1))).survey
    people = EncodedAnswers.of(survey, pa.table({"n": [0, 1, 2]}))
    keystream = Keystream.for_simulation(1)
    assert rounded(people, keystream).encoded["n"] is people.encoded["n"]
    assert keystream.words(1) == Keystream.for_simulation(1).words(1)


def test_one_rounding_is_in_all_copies_and_messages():
    """Noise so small that no bit flips: every report of a person is the same edge."""
    plan = made(
        BOUNDS,
        VISITS,
        privacy={"epsilon": 500.0, "delta": 1e-6, "analysis": "local"},
        message=[{"questions": ["bounds"], "copies": 3}, {"questions": ["bounds", "visits"]}],
    )
    answers = pa.table({"bounds": [30.0] * 500, "visits": [25.0] * 500})
    keystream = Keystream.for_simulation(5)
    people = rounded(EncodedAnswers.of(plan.survey, answers), keystream)
    alone, both = (randomize_message(plan, m, people, keystream) for m in plan.messages)
    first = alone.reshape(3, 500)
    assert (first == first[0]).all() and (first[0] == both[:, 0] & 1).all()
    assert 180 < first[0].sum() < 320  # 20 of 500 would be ten standard errors


def test_true_shares_are_the_mean_of_all_roundings():
    plan = made(VISITS, BOUNDS, table=[{"questions": ["visits", "bounds"]}])
    answers = pa.table({"visits": [1.0, 4.0, 25.0], "bounds": [20.0, 50.0, 10.0]})
    joint = truth(plan, answers, tables=[["visits", "bounds"]])[0]
    rows = zip([1.0, 4.0, 25.0], [20.0, 50.0, 10.0], strict=True)
    laws = [np.outer(chances(EDGES, v), chances((10.0, 50.0), b)) for v, b in rows]
    assert joint == pytest.approx(np.mean(laws, axis=0))


# Coverage.

SKEWED = np.minimum(np.random.default_rng(8).exponential(5, 20_000), 40.0)


def settings(copies=1, optional=False, **more):
    question = Amount(id="visits", edges=EDGES, optional=optional)
    return made(question, **({"copies": copies} if copies > 1 else {}), **more)


def two_messages():
    return made(
        VISITS,
        Amount(id="other", edges=(0.0, 40.0)),
        message=[{"questions": ["visits"], "copies": 2}, {"questions": ["visits", "other"]}],
    )


PLANS = {
    "one copy": settings,
    "four copies": lambda: settings(copies=4),
    "some do not answer": lambda: settings(optional=True),
    "two messages": two_messages,
}


def answered(plan, generator, number=500):
    """People drawn from the skewed population; a fifth does not answer where that is allowed."""
    drawn = generator.choice(SKEWED, number)
    frame = pd.DataFrame({"visits": drawn, "other": drawn})
    if plan.survey.question("visits").optional:
        frame.loc[generator.random(number) < 0.2, "visits"] = np.nan
    return frame[[question.id for question in plan.survey.questions]]


def figures_of(plan, answers, keystream):
    people = rounded(EncodedAnswers.of(plan.survey, pa.Table.from_pandas(answers)), keystream)
    reports = []
    for number, message in enumerate(plan.messages):
        head = header(plan, number, people.number, keystream)
        packed = randomize_message(plan, message, people, keystream)
        reports.append(head.__class__(**{**vars(head), "packed": packed}))
    counted = count(plan, reports, tables=[["visits"]])
    question = plan.survey.question("visits")
    return evidence(plan, question, readings(plan, counted, ("visits",)))


def coverage(plan, trials, spoiled=lambda answers: answers):
    """How often the mean and the total are covered, and the errors beside their spread."""
    generator, keystream = np.random.default_rng(11), Keystream.for_simulation(11)
    right = SKEWED.mean()
    everybody = 500 * right * (0.8 if plan.survey.question("visits").optional else 1)
    hits, estimates, errors = np.zeros(2), [], []
    for _ in range(trials):
        found = figures_of(plan, spoiled(answered(plan, generator)), keystream)
        for place, (figure, true) in enumerate(((mean(found), right), (total(found), everybody))):
            hits[place] += figure.low <= true <= figure.high
        estimates.append(mean(found).estimate)
        errors.append(mean(found).standard_error)
    return hits / trials, np.mean(estimates) - right, np.std(estimates), np.mean(errors)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["some do not answer", *slowly("four copies", "one copy")])
def test_means_and_totals_are_covered(name):
    covered, bias, spread, stated = coverage(PLANS[name](), 300)
    assert ((covered >= 0.90) & (covered <= 0.99)).all(), covered
    assert abs(bias) < 4.5 * spread / np.sqrt(300)  # 7e-6 of false alarm, but for the ratio's bias
    assert stated == pytest.approx(spread, rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_means_and_totals_are_covered_in_4000_collections(name):
    covered, _, spread, stated = coverage(PLANS[name](), 4000)
    assert ((covered >= 0.935) & (covered <= 0.965)).all(), covered
    assert stated == pytest.approx(spread, rel=0.05)


@pytest.mark.slow
def test_rounding_to_the_nearest_edge_is_found_out():
    def nearest(answers):
        edges = np.array(EDGES)
        return answers.assign(
            visits=edges[np.abs(answers[["visits"]].to_numpy() - edges).argmin(1)]
        )

    plan = settings(privacy={"epsilon": 30.0, "delta": 1e-5, "analysis": "local"})
    assert (coverage(plan, 100)[0] >= 0.85).all()  # of a right one below with probability 1e-4
    assert (coverage(plan, 100, nearest)[0] < 0.85).all()


# The noise-free limit.


def test_without_noise_the_mean_is_that_of_numpy():
    """Of whole numbers between whole edges, that none is rounded: to the last digit."""
    people = pd.read_csv("examples/rand_hie.csv")
    visits = Amount(id="doctor_visits", edges=tuple(map(float, range(78))))
    ill = Amount(id="chronic_conditions", edges=(0.0, 5.0, 10.0, 20.0, 60.0))
    private = {"epsilon": 160.0, "delta": 1e-6, "analysis": "local"}
    plan = made(visits, ill, crowd=len(people), privacy=private, copies=1)
    found = incrowd.estimate(plan, incrowd.randomize(plan, people, simulation_seed=2)).amounts
    numbers = people["doctor_visits"].to_numpy(), people["chronic_conditions"].to_numpy()
    assert found["doctor_visits"].mean.estimate == pytest.approx(numbers[0].mean(), abs=1e-6)
    sampling = numbers[0].std() / np.sqrt(len(people))
    assert found["doctor_visits"].mean.standard_error == pytest.approx(sampling, rel=1e-3)
    below, up = between(ill.edges, numbers[1])
    width, share = np.diff(ill.edges)[below], up / 2**32
    rounding = np.sqrt((width**2 * share * (1 - share)).sum()) / len(people)
    assert abs(found["chronic_conditions"].mean.estimate - numbers[1].mean()) < 5 * rounding
    for each in found["doctor_visits"].quantiles:
        assert each.low <= np.quantile(numbers[0], each.share) <= each.high
        assert each.least <= np.quantile(numbers[0], each.share) <= each.most


# Quantiles.


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("seed", range(8))
def test_edges_enclose_a_quantile_however_people_are_spread(share, seed):
    """Atoms anywhere, edges too: the law of the edges is exact, and nothing else is known."""
    generator = np.random.default_rng(seed)
    numbers = generator.choice(
        [0, 1, 3.9, 4, 7, 10, 11, 40.0], 301, p=generator.dirichlet([0.5] * 8)
    )
    law = np.mean([chances(EDGES, x) for x in numbers], axis=0)
    found = quantile(of_shares(VISITS, law, 1e15), share)
    true = np.sort(numbers)[int(np.ceil(share * 301 - 1e-9)) - 1]
    assert found.low <= found.least <= true <= found.most <= found.high
    bins = np.histogram(numbers, [*EDGES, np.inf])[0] / 301
    sorted_in = quantile(of_shares(Number(id="n", edges=EDGES), bins, 1e15), share)
    assert sorted_in.low <= sorted_in.least <= true <= sorted_in.most <= sorted_in.high


def test_quantiles_of_what_is_evenly_spread_are_right():
    law = np.mean([chances(EDGES, x) for x in np.linspace(0, 40, 4001)], axis=0)
    found = amounts(of_shares(VISITS, law, 1e12))
    assert found.quantiles[2].least <= 20 <= found.quantiles[2].most
    assert found.mean.estimate == pytest.approx(20)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.9])
def test_quantiles_rise_with_the_numbers(share):
    """Mass moves to the next edge, little by little; noise and all."""
    noise = np.pad(np.diag([1e-3] * 4), [(1, 0), (1, 0)])
    shares, before = np.array([0.7, 0.2, 0.05, 0.05]), None
    for place in (2, 1, 0):
        for _ in range(10):
            found = quantile(of_a_sample(VISITS, np.append(1.0, shares), noise, 1e4), share)
            ends = np.array([found.least, found.most, found.low, found.high])
            assert before is None or (ends >= before - 1e-9).all()
            before = ends
            moved = shares[place] / 10
            shares = shares + moved * (np.eye(4)[place + 1] - np.eye(4)[place])


@pytest.mark.parametrize("edges", [(0, 5, 20, 100), (0, 5, 20, 40, 60, 80, 100)])
def test_a_quantile_at_a_value_that_many_people_have_is_not_passed_over(edges):
    """64% of the numbers are exactly 0, so the lower quartile and the median are 0, the lowest edge
    of their ranges. Wrong: a value between the edges, as if the numbers were evenly spread."""
    numbers = np.concatenate([np.zeros(640), np.linspace(0.1, 100, 360)])
    amount, bins = Amount(id="n", edges=edges), Number(id="n", edges=edges)
    law = np.mean([chances(edges, x) for x in numbers], axis=0)
    counts = np.histogram(numbers, [*edges, np.inf])[0] / 1000
    for question, shares in ((amount, law), (bins, counts)):
        for share in (0.1, 0.25, 0.5):
            found = quantile(of_shares(question, shares), share)
            assert found.least == np.quantile(numbers, share) == 0
            assert found.most == 5
            evenly = np.interp(share, np.append(0, np.cumsum(shares)), [*edges, 2 * edges[-1]])
            assert evenly > 0.5


def test_two_edges_tell_no_quantile():
    assert amounts(of_shares(BOUNDS, [0.5, 0.5])).quantiles == ()


def test_nobody_may_have_answered():
    """Then the mean is anything between the edges, and none is named."""
    asked = Amount(id="visits", edges=EDGES, optional=True)
    noise = np.pad(np.diag([1e-3] * 5), [(1, 0), (1, 0)])
    found = mean(of_a_sample(asked, np.array([1, 0.01, -0.01, 0, 0, 1.02]), noise, 1e4))
    assert np.isnan(found.estimate) and (found.low, found.high) == (0.0, 40.0)


def test_the_forecast_is_the_error_that_comes():
    """Of people who are spread evenly over the edges."""
    plan = settings()
    answers = pd.DataFrame({"visits": np.tile(EDGES, 125)})
    found = mean(figures_of(plan, answers, Keystream.for_simulation(4)))
    forecast = mean(expected(plan, VISITS, even=True))
    assert forecast.estimate == pytest.approx(np.mean(EDGES))
    assert found.standard_error == pytest.approx(forecast.standard_error, rel=0.05)
    uneven = mean(expected(plan, VISITS, even=False))
    halves = np.array([8, 4, 2, 1]) / 15
    assert uneven.estimate == pytest.approx(halves @ EDGES)
    worse = max(forecast.standard_error, uneven.standard_error)
    assert incrowd.forecast(plan)[0].mean_error == worse
    assert true_moments(
        plan, EncodedAnswers.of(plan.survey, pa.Table.from_pandas(answers)), ("visits",)
    )[1:] == pytest.approx(0.25)
