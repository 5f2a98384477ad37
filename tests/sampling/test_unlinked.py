"""Set bits that travel apart: the law of what is sent, what is told of it, and what it hides."""

import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, chi2, norm

import incrowd
from incrowd.channels.bit_flip import BitFlip
from incrowd.encoding.people import People
from incrowd.errors import SurveyError, TableError
from incrowd.estimation.tables import estimate_options
from incrowd.planner.sent import sent_by
from incrowd.presentation.data import shown
from incrowd.sampling import unlinked
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.unlinked import as_reports, set_bits
from incrowd.workflow.randomize import randomize_message

RARE = 1e-6  # false alarms
TRIALS = 4000
WORDS = tuple(f"w{i}" for i in range(50_000))


def survey(options, crowd=2000, epsilon=2.0, delta=1e-4, **question):
    said = {"id": "home", "type": "choice", "options": options, "apart": True} | question
    privacy = {"epsilon": epsilon, "delta": delta}
    raw = {"name": "apart", "crowd": crowd, "privacy": privacy, "question": [said]}
    return incrowd.Survey.of(raw)


# --- the law of what is sent -----------------------------------------------------------------


def fits(seen, expected):
    """Pearson's chi-square at a false-alarm rate of 1e-6; every expected count is over 5."""
    assert expected.min() > 5
    statistic = ((seen - expected) ** 2 / expected).sum()
    return statistic < chi2.isf(RARE, len(seen) - 1)


def test_three_bits_have_the_exact_law():
    """300,000 times three bits of which the second is set: all eight patterns. Wrong: 3% more
    noise, and flips that only add."""
    q, times = 0.25, 300_000
    given = 3 * np.arange(times) + 1
    stream = Keystream.for_simulation(1)
    shape = (1, 3 * times)
    found = set_bits(np.zeros(times, int), given, shape, BitFlip.at_least(q), stream)
    bits = np.zeros(3 * times, int)
    bits[found] = 1
    seen = np.bincount(bits.reshape(-1, 3) @ [4, 2, 1], minlength=8)

    def law(q, set_again=0.0):
        chance = (q, (1 - q) + q * set_again, q)
        pairs = [[(1 - c), c] for c in chance]
        return times * np.array([np.prod(cell) for cell in itertools.product(*pairs)])

    assert fits(seen, law(q))
    assert not fits(seen, law(1.03 * q))
    assert not fits(seen, law(q, set_again=0.05))


def test_people_come_one_after_the_other_with_their_own_bits():
    """Two people, two bits, the first of the first person set: the numbers of all set bits in
    turn, 1,500 times, against the law by listing 16 outcomes. Wrong: the person who set the bit
    is the second."""
    q, times = 0.3, 1500
    stream = Keystream.for_simulation(2)
    rows, places = np.array([0]), np.array([0])
    draws = (set_bits(rows, places, (2, 2), BitFlip.at_least(q), stream) for _ in range(times))
    seen = Counter(tuple(found.tolist()) for found in draws)

    def law(record):
        found = Counter()
        for shown_bits in itertools.product([0, 1], repeat=4):
            flips = sum(s != r for s, r in zip(shown_bits, record, strict=True))
            sent = tuple(i % 2 for i in range(4) if shown_bits[i])
            found[sent] += times * q**flips * (1 - q) ** (4 - flips)
        return found

    right, wrong = law((1, 0, 0, 0)), law((0, 0, 0, 1))
    counts = np.array([seen[key] for key in right])
    assert counts.sum() == times
    assert fits(counts, np.array(list(right.values())))
    assert not fits(counts, np.array([wrong[key] for key in right]))


@pytest.mark.parametrize(("flips", "bits"), [(3, 1 << 60), (1 << 22, 40), (1 << 22, 1 << 60)])
def test_batches_neither_lose_nor_repeat_a_person(flips, bits, monkeypatch):
    """With next to no noise exactly the given bits come out, in order, however they are cut."""
    monkeypatch.setattr(unlinked, "BATCH_FLIPS", flips)
    monkeypatch.setattr(unlinked, "BATCH_BITS", bits)
    rows, places = np.repeat(np.arange(30), 2), np.tile([2, 17], 30)
    found = set_bits(rows, places, (30, 20), BitFlip(1), Keystream.for_simulation(3))
    assert np.array_equal(found, places)


def test_batches_have_the_same_law(monkeypatch):
    """40 people in batches of three: the share of set bits, 5 standard errors."""
    monkeypatch.setattr(unlinked, "BATCH_BITS", 3 * 500)
    stream = Keystream.for_simulation(4)
    found = set_bits(np.zeros(0, int), np.zeros(0, int), (40, 500), BitFlip.at_least(0.2), stream)
    assert abs(len(found) / 20_000 - 0.2) < 5 * math.sqrt(0.16 / 20_000)
    assert found.min() >= 0 and found.max() < 500


@pytest.mark.parametrize("bits", [2, 8, 9, 256, 257, 1 << 16, (1 << 16) + 1])
def test_reports_have_one_length_and_hold_the_number(bits):
    numbers = np.array([0, 1, bits // 2, bits - 1])
    width = (bits - 1).bit_length()
    packed = as_reports(numbers, width)
    assert packed.shape == (4, -(-width // 8)) and packed.dtype == np.uint8
    assert [int.from_bytes(row.tobytes(), "little") for row in packed] == numbers.tolist()


# --- what is told of it ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def small():
    plan = incrowd.plan(survey(list("abcdefghij")))
    generator = np.random.default_rng(5)
    table = pa.table({"home": generator.choice(list("abc"), 2000, p=[0.6, 0.3, 0.1])})
    return plan, table, incrowd.randomize(plan, table, simulation_seed=6)


def test_the_number_of_people_is_told_and_kept(small, tmp_path):
    """No zero travels, so that the number of reports tells nothing of how many took part."""
    plan, _, reports = small
    (message,) = plan.messages
    assert (message.unlinked, message.copies, message.bits, message.record_bits) == (
        *(True, 1, 4, 10),
    )
    assert reports[0].people == 2000 and len(reports[0]) > 2000
    path = tmp_path / "r.parquet"
    incrowd.save_reports(reports, path)
    assert incrowd.load_reports(path)[0].people == 2000
    streamed = incrowd.estimate(plan, incrowd.stream_reports(path))
    whole = incrowd.estimate(plan, reports)
    assert streamed.crowd == whole.crowd == 2000
    assert np.array_equal(streamed.tables[0].estimate, whole.tables[0].estimate)


def test_parts_of_a_file_count_the_people_once(small, tmp_path, monkeypatch):
    plan, _, reports = small
    monkeypatch.setattr("incrowd.reports.collection.group_rows", lambda width: 500)
    incrowd.save_reports(reports, tmp_path / "r.parquet")
    parts = list(incrowd.stream_reports(tmp_path / "r.parquet"))
    assert len(parts) > 4
    assert incrowd.estimate(plan, parts).crowd == 2000
    assert incrowd.estimate(plan, parts[::-1]).crowd == 2000


def test_numbers_that_are_no_bit_are_rejected(small):
    plan, _, reports = small
    packed = reports[0].packed.copy()
    packed[7] = 10
    found = incrowd.estimate(plan, replace(reports[0], packed=packed))
    assert (found.rejected, found.reports) == (1, len(packed) - 1)
    with pytest.raises(incrowd.ReportsError, match="how many people took part"):
        incrowd.estimate(plan, replace(reports[0], people=None))


def test_the_order_of_the_reports_is_lost(small):
    """The first half of the people say a, the others b: 5 standard errors of the first half of the
    reports. The wrong variant, before the shuffle, is far away."""
    plan, _, _ = small
    table = pa.table({"home": ["a"] * 1000 + ["b"] * 1000})

    def gap(packed):
        ones = packed[:, 0] == 0
        half = len(ones) // 2
        return abs(ones[:half].mean() - ones[half:].mean()) / np.sqrt(ones.var() * 4 / len(ones))

    assert gap(incrowd.randomize(plan, table, simulation_seed=7)[0].packed) < 5
    people, stream = People.of(plan.survey, table), Keystream.for_simulation(7)
    assert gap(randomize_message(plan, plan.messages[0], people, stream)) > 5


# --- estimates and their errors, at the level of counts --------------------------------------

SHARES = np.array([0.3, 0.05, 0.01, 0.002])


def counted(people, q, copies, fixed, seed, trials=TRIALS):
    """Counts of set bits: people draw answers (or keep them), each copy is flipped anew."""
    generator = np.random.default_rng(seed)
    having = np.tile(people * SHARES, (trials, 1)).astype(int)
    if not fixed:
        rest = [*SHARES, 1 - SHARES.sum()]
        having = generator.multinomial(people, rest, size=trials)[:, :-1]
    kept = generator.binomial(copies * having, 1 - q)
    return kept + generator.binomial(copies * (people - having), q)


def estimates(people, q, copies, fixed, seed):
    counts = counted(people, q, copies, fixed, seed)
    inverse, names = np.linalg.inv([[1 - q, q], [q, 1 - q]]), list("abcd")
    first = np.full((len(counts), 1), copies * people)
    rows = np.hstack([first, counts])
    return [estimate_options("o", names, row, inverse, copies, fixed) for row in rows]


@pytest.mark.parametrize(("copies", "fixed"), [(1, False), (1, True), (4, False), (4, True)])
def test_estimates_have_no_bias_and_intervals_cover(copies, fixed):
    """4,000 collections, cells 5 standard errors from zero: coverage between 93.5% and 96.5% (a
    right interval fails with probability below 2e-5), means within 5 standard errors. Wrong:
    intervals a tenth too short, and with copies counted as people."""
    found = estimates(200_000, 0.002, copies, fixed, seed=copies + 2 * fixed)
    values = np.array([f.estimate for f in found])
    errors = np.array([f.standard_error for f in found])
    assert np.all(5 * errors.mean(axis=0) < SHARES)
    spread = values.std(axis=0) / math.sqrt(TRIALS)
    assert np.all(np.abs(values.mean(axis=0) - SHARES) < 5 * spread)

    def nominal(scale):
        reach = norm.ppf(0.975) * scale * errors
        coverage = np.mean(np.abs(values - SHARES) <= reach, axis=0)
        return bool(np.all((coverage >= 0.935) & (coverage <= 0.965)))

    assert nominal(1) and not nominal(0.9)
    if copies > 1 and not fixed:
        assert not nominal(1 / math.sqrt(copies))


@pytest.mark.parametrize(("people", "q"), [(20_000, 0.001), (1_000_000, 7.54e-5), (2000, 0.03)])
def test_hardly_anything_false_rises_above_the_noise(people, q):
    """1,000 answers that nobody gave, 1,500 collections: any false mark in 5% of them at most
    (and 5 standard errors). Wrong: without the correction for many answers there is always one;
    and the normal quantile, since counts of 20 to 75 are skewed, gives one in 8% to 20%."""
    generator = np.random.default_rng(8)
    inverse, names = np.linalg.inv([[1 - q, q], [q, 1 - q]]), WORDS[:1000]
    false, uncorrected, normal = 0, 0, 0
    for _ in range(1500):
        counts = np.append(people, generator.binomial(people, q, 1000))
        found = estimate_options("o", names, counts, inverse)
        false += found.above_noise().any()
        uncorrected += found.above_noise(family_wise=1000 * 0.05 / 2).any()
        normal += (found.estimate > norm.isf(0.05 / 1000) * found.noise_error).any()
    limit = 0.05 + 5 * math.sqrt(0.05 * 0.95 / 1500)
    assert uncorrected / 1500 > limit and normal / 1500 > limit
    assert false / 1500 <= limit


def test_what_many_people_say_rises_above_the_noise():
    """A word of 60 of 20,000 people, 13 standard deviations of the noise; not one of nobody."""
    q, people = 0.001, 20_000
    counts = np.array([people, people * q, people * q + 60])
    inverse = np.linalg.inv([[1 - q, q], [q, 1 - q]])
    assert estimate_options("o", ("a", "b"), counts, inverse).above_noise().tolist() == [
        False,
        True,
    ]


# --- many options ----------------------------------------------------------------------------


@dataclass(repr=False)
class Many:
    plan: incrowd.Plan
    table: pa.Table
    reports: tuple[incrowd.Collection, ...]
    estimates: incrowd.Estimates


@pytest.fixture(scope="module")
def many():
    """50,000 words, 20,000 people, of whom one half has one of ten words."""
    plan = incrowd.plan(survey(WORDS, 20_000, 4.0, 1e-4, apart=None))
    generator = np.random.default_rng(9)
    places = np.where(
        generator.random(20_000) < 0.5,
        generator.integers(0, 10, 20_000),
        generator.integers(10, len(WORDS), 20_000),
    )
    table = pa.table({"home": np.array(WORDS)[places]})
    reports = incrowd.randomize(plan, table, simulation_seed=10)
    return Many(plan, table, reports, incrowd.estimate(plan, reports))


def test_fifty_thousand_options_end_to_end(many):
    """The ten words are found, at 5 standard errors, and none of the other 49,990: each of them
    has one or no person, the noise one of 3 people or more; as many reports as the noise says."""
    plan, found = many.plan, many.estimates.tables[0]
    (truth,) = incrowd.truth(plan, many.table)
    assert found.estimate.shape == truth.shape == (50_000,)
    assert many.reports[0].packed.shape[1] == 2
    off = np.abs(found.estimate - truth) / found.standard_error
    assert np.all(off[:10] < 5)
    marked = np.flatnonzero(found.above_noise())
    assert marked.tolist() == list(range(10))
    expected = 20_000 + plan.messages[0].noise.q * 50_000 * 20_000
    assert abs(len(many.reports[0]) - expected) < 5 * math.sqrt(expected)
    checked = incrowd.verify(plan, many.reports)
    assert checked.impossible == () and checked.plan_holds


def test_people_are_shown_what_rises_above_the_noise(many):
    (item,) = shown(many.estimates)
    assert sorted(cell.answer[0] for cell in item.cells) == sorted(WORDS[:10])
    assert "10 of 50,000" in item.note and "5%" in item.note


def test_the_page_of_many_options_is_written(many, tmp_path):
    incrowd.save_estimates(many.estimates, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "of 50,000 answers rise above the noise" in text and len(text) < 1_000_000


def test_a_page_where_nothing_rises_above_the_noise_is_written(tmp_path):
    plan = incrowd.plan(survey(WORDS[:300], 2000, 0.2, 1e-6))
    table = pa.table({"home": np.resize(WORDS[:300], 2000)})
    estimates = incrowd.estimate(plan, incrowd.randomize(plan, table, simulation_seed=11))
    assert not estimates.tables[0].above_noise().any()
    incrowd.save_estimates(estimates, tmp_path / "page.html")
    assert "0 of 300 answers" in (tmp_path / "page.html").read_text()


# --- what it hides ---------------------------------------------------------------------------


def one_bit_pair(q, people):
    """ln P/Q and P of one person's bit in its blanket, by listing what can be seen: T = 1 + M
    reports, M ~ Bin(N - 1, 2q) of them coins, and how many are ones; x sends 1 with chance p."""
    mean, p = (people - 1) * 2 * q, 1 - q
    reach = 9 * math.sqrt(mean) + 30
    seen = np.arange(max(0, int(mean - reach)), int(mean + reach)) + 1
    seen = np.repeat(seen, seen + 1)
    ones = np.arange(len(seen)) - np.searchsorted(seen, seen)
    # x's report is any of the T with the same chance: j p + (T - j) q against j q + (T - j) p
    here = 2 * (ones * p + (seen - ones) * q) / seen
    there = 2 * (ones * q + (seen - ones) * p) / seen
    mass = binom.pmf(seen - 1, people - 1, 2 * q) * binom.pmf(ones, seen, 0.5)
    return np.log(here / there), mass * here


def composed_by_hand(losses, masses, epsilon):
    """delta of two independent pairs, one in each order (the law is the same in both): the sum
    over all pairs of outcomes, by sorting: sum_a P_a delta(epsilon - loss_a)."""
    order = np.argsort(losses)
    losses, masses = losses[order], masses[order]
    here = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
    there = np.append(np.cumsum((masses * np.exp(-losses))[::-1])[::-1], 0.0)
    left = epsilon - losses
    first = np.searchsorted(losses, left)
    return float(masses @ np.maximum(here[first] - np.exp(left) * there[first], 0))


def test_the_noise_for_a_million_people():
    """About 7.54e-5 for epsilon 1, delta 1e-6: two one-bit collections composed by hand, as a
    choice moves a one from one bit to another. One percent less noise breaks the promise, and so
    does the noise that one collection by itself would need."""
    plan = incrowd.plan(survey(WORDS[:2000], 1_000_000, 1.0, 1e-6, apart=None))
    noise = plan.messages[0].noise
    assert noise.q == pytest.approx(7.54e-5, rel=0.01)
    assert composed_by_hand(*one_bit_pair(noise.q, 10**6), 1.0) <= 1e-6
    assert composed_by_hand(*one_bit_pair(0.99 * noise.q, 10**6), 1.0) > 1e-6
    assert sent_by(plan) == one_bit(noise, 2)
    alone = incrowd.smallest_noise("blanket", one_bit, 10**6, 1.0, 1e-6)
    assert composed_by_hand(*one_bit_pair(alone.q, 10**6), 1.0) > 1e-6


def one_bit(noise, times=1):
    from incrowd.accounting.schema import FREE_BIT

    return incrowd.Sent.of(incrowd.Schema.of([incrowd.Part(FREE_BIT, noise)]), times)


@pytest.mark.parametrize(
    ("question", "times"),
    [
        ({"type": "choice"}, 2),
        ({"type": "choice", "optional": True}, 2),
        ({"type": "multi", "at_most": 3}, 6),
        ({"type": "multi", "at_most": 8}, 10),
    ],
)
def test_two_answers_differ_in_so_many_collections(question, times):
    """m of c options against m others: 2m bits, or all of them."""
    plan = incrowd.plan(survey(list("abcdefghij"), **question))
    assert sent_by(plan) == one_bit(plan.messages[0].noise, times)
    found = incrowd.certify("blanket", one_bit(plan.messages[0].noise, times), 2000, 2.0)
    assert plan.guarantee.certified_delta == pytest.approx(found.delta.upper, rel=1e-9)


def test_no_small_crowd_beats_the_claim():
    """Three people, three options: the counts of set bits of every crowd and pair of answers, by
    listing; the claim for twenty people is beaten."""
    noise, epsilon = BitFlip.at_least(0.25), 0.5
    p, q = noise.p, noise.q

    def count_law(ones, people):
        law = np.ones(1)
        for person in range(people):
            law = np.convolve(law, [q, p] if person < ones else [p, q])
        return law

    worst = 0.0
    for others in itertools.combinations_with_replacement(range(3), 2):
        laws = []
        for x in range(3):
            held = Counter([x, *others])
            a, b, c = (count_law(held[option], 3) for option in range(3))
            laws.append(np.multiply.outer(np.multiply.outer(a, b), c))
        for here, there in itertools.permutations(laws, 2):
            worst = max(worst, float(np.maximum(here - math.exp(epsilon) * there, 0).sum()))
    claims = [incrowd.certify("blanket", one_bit(noise, 2), n, epsilon) for n in (3, 20)]
    assert claims[1].delta.upper < worst <= claims[0].delta.upper


# --- wrong use -------------------------------------------------------------------------------


def test_what_travels_apart_stands_alone_in_the_survey():
    raw = survey(list("abc")).model_dump(by_alias=True)
    raw["question"] = [*raw["question"], {"id": "old", "type": "yesno"}]
    both = [{"questions": ["old", "home"]}]
    for kind in ("table", "message"):
        with pytest.raises(SurveyError, match=f"{kind}.*'home'; travels apart, and can only"):
            incrowd.Survey.of(raw | {kind: both})


def test_what_travels_apart_has_a_one_way_table_only(small):
    plan, _, reports = small
    plainly = incrowd.estimate(plan, reports)
    together = incrowd.estimate(plan, reports, covariance=True, simultaneous="bonferroni")
    assert together.covariances == together.simultaneous == (None,)
    np.testing.assert_array_equal(together.tables[0].estimate, plainly.tables[0].estimate)
    for method in ("likelihood", "simplex", "consistent"):
        with pytest.raises(TableError, match=r"home.*has unlinked bits"):
            incrowd.postprocess(plan, reports, tables=[("home",)], method=method)


def test_a_table_with_another_question_is_refused():
    raw = survey(list("abc")).model_dump(by_alias=True)
    raw["question"] = [*raw["question"], {"id": "old", "type": "yesno"}]
    plan = incrowd.plan(incrowd.Survey.of(raw))
    table = pa.table({"home": ["a", "b"] * 1000, "old": [True, False] * 1000})
    reports = incrowd.randomize(plan, table, simulation_seed=12)
    assert [message.unlinked for message in plan.messages] == [False, True]
    for use in (
        lambda: incrowd.estimate(plan, reports, tables=[("home", "old")]),
        lambda: incrowd.compare(plan, reports, "home", "old"),
        lambda: incrowd.postprocess(plan, reports, tables=[("old", "home")]),
    ):
        with pytest.raises(TableError, match=r"these travel together: old; home"):
            use()
