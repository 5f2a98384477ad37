"""Covariances against explicit matrices and enumeration; intervals and tests by simulation.

Simulations draw the counts of report cells, not rows: 4,000 collections of any size. A share of
4,000 has a standard error of at most .0034 near .95, so that right 95% intervals fall outside
[.935, .965] with probability below 2e-5, and the wrong variants named here well outside.
"""

import itertools
from dataclasses import replace
from functools import cache, reduce

import numpy as np
import pytest
from scipy.stats import chi2, ncx2, norm

from incrowd.channels.bit_flip import BitFlip
from incrowd.errors import TableError
from incrowd.estimation.association import cramers_v, independence_test, standardized
from incrowd.estimation.comparisons import conditional_share, difference, odds_ratio
from incrowd.estimation.covariance import estimate_joint, histogram_decoder, pair_decoder
from incrowd.estimation.decoders import decoder
from incrowd.estimation.delta_method import pick
from incrowd.estimation.patterns import channel_matrix, inverse_matrix
from incrowd.estimation.simultaneous import simultaneous_intervals
from incrowd.estimation.spheres import Length
from incrowd.estimation.tables import estimate_table
from incrowd.survey import Choice, Multi, YesNo
from incrowd.tally.moments import histogram, moments, pair_moments

FLIP = BitFlip.at_least(0.2)
TRIALS = 4000
Z = norm.ppf(0.975)

SEX = Choice(id="sex", options=("f", "m", "x"))
SMOKES = YesNo(id="smokes")
USES = Multi(id="uses", options=("u", "v", "w"), at_most=2)
MIXED = (SMOKES, SEX, USES)
AXES = (slice(0, 1), slice(1, 4), slice(4, 7))


def pack(bits):
    return np.packbits(np.asarray(bits, np.uint8), axis=1, bitorder="little")


def patterns(bits):
    return np.array(list(itertools.product([0, 1], repeat=bits)), np.uint8)


# --- counting --------------------------------------------------------------------------------


def brute_pairs(bits, axes):
    """Every entry of the pair moments by its definition."""
    sets = []
    for axis in axes:
        columns = range(axis.start, axis.stop)
        pairs = list(itertools.combinations(columns, 2))
        sets.append([(), *((c,) for c in columns), *pairs])
    found = np.empty([len(s) for s in sets], int)
    for place in np.ndindex(*found.shape):
        columns = [c for s, i in zip(sets, place, strict=True) for c in s[i]]
        found[place] = bits[:, columns].all(axis=1).sum()
    return found


@pytest.mark.parametrize("axes", [[slice(0, 3)], [slice(3, 5), slice(0, 1)], AXES[::-1]])
def test_pair_moments_count_what_they_say(axes):
    bits = np.random.default_rng(1).integers(0, 2, (300, 7))
    assert np.array_equal(pair_moments(pack(bits), axes), brute_pairs(bits, axes))


@pytest.mark.parametrize("limit", [0, 20])
def test_both_ways_of_counting_pairs_agree(limit, monkeypatch):
    bits = np.random.default_rng(2).integers(0, 2, (999, 7))
    monkeypatch.setattr("incrowd.tally.moments.MOST_BITS", limit)
    monkeypatch.setattr("incrowd.tally.moments.CHUNK_NUMBERS", 1 << 10)
    monkeypatch.setattr("incrowd.tally.moments.CHUNK", 100)
    assert np.array_equal(pair_moments(pack(bits), AXES), brute_pairs(bits, AXES))


def test_histograms_count_patterns_first_bit_most_significant():
    bits = np.random.default_rng(3).integers(0, 2, (500, 7))
    found = histogram(pack(bits), [slice(4, 7), slice(0, 1)])
    assert found.shape == (8, 2)
    for pattern, bit in np.ndindex(8, 2):
        wanted = [pattern >> 2 & 1, pattern >> 1 & 1, pattern & 1]
        same = (bits[:, 4:7] == wanted).all(axis=1) & (bits[:, 0] == bit)
        assert found[pattern, bit] == same.sum()
    with pytest.raises(TableError, match="21 bits"):
        histogram(np.zeros((1, 3), np.uint8), [slice(0, 21)])


# --- covariance ------------------------------------------------------------------------------


@pytest.mark.parametrize(("copies", "noise_only"), [(1, False), (1, True), (3, False), (3, True)])
def test_yes_no_covariance_is_the_explicit_kronecker_formula(copies, noise_only):
    """docs/mathematics.md#estimates, with 8 x 8 matrices:
    (C^-1 diag(y/m) C^-T - diag(pi))/(kN) + sampling / N."""
    bits = np.random.default_rng(4).integers(0, 2, (600, 3))
    axes = [slice(i, i + 1) for i in range(3)]
    decoders = [pair_decoder(YesNo(id=str(i)), FLIP.inverse) for i in range(3)]
    found = estimate_joint("012", decoders, pair_moments(pack(bits), axes), copies, noise_only)
    shares = np.bincount(bits @ [4, 2, 1], minlength=8) / 600
    inverse = reduce(np.kron, [np.linalg.inv(FLIP.matrix)] * 3)
    pi = inverse @ shares
    wanted = (inverse @ np.diag(shares) @ inverse.T - np.diag(pi)) / 600
    if not noise_only:
        wanted = wanted + (np.diag(pi) - np.outer(pi, pi)) / (600 / copies)
    assert np.allclose(found.estimate.ravel(), pi, atol=1e-12)
    assert np.allclose(found.covariance, wanted, rtol=1e-10, atol=1e-14)


def values_row_by_row(bits, questions, axes, margin):
    """g of every report, flattened: the definition, without moments."""
    g = (bits - FLIP.q) / (FLIP.p - FLIP.q)
    parts = []
    for question, axis in zip(questions, axes, strict=True):
        part = g[:, axis]
        part = np.hstack([1 - part, part]) if question.domain.bits == 1 else part
        parts.append(np.hstack([part, np.ones((len(g), 1))]) if margin else part)
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), parts)


@pytest.mark.parametrize("margin", [False, True])
def test_one_copy_has_the_sample_covariance_of_g(margin):
    bits = np.random.default_rng(5).integers(0, 2, (400, 7))
    decoders = [pair_decoder(q, FLIP.inverse, margin) for q in MIXED]
    found = estimate_joint([q.id for q in MIXED], decoders, pair_moments(pack(bits), AXES))
    rows = values_row_by_row(bits, MIXED, AXES, margin)
    assert np.allclose(found.estimate.ravel(), rows.mean(axis=0), atol=1e-11)
    wanted = np.cov(rows.T, bias=True) / 400
    assert np.allclose(found.covariance, wanted, rtol=1e-9, atol=1e-12)


def records():
    """All allowed records, and which cells (with margins) they lie in."""
    one_hot = np.eye(3, dtype=int)
    sets = [s for s in patterns(3) if s.sum() <= 2]
    for a, b, c in itertools.product([0, 1], range(3), sets):
        cells = [np.eye(2)[a], one_hot[b], c]
        ends = [np.append(cell, 1) for cell in cells]
        yield np.concatenate([[a], one_hot[b], c]), reduce(np.multiply.outer, ends).ravel()


@pytest.mark.parametrize("copies", [1, 4])
def test_covariance_of_overlapping_cells_is_exact_by_enumeration(copies):
    """Exact expected counts of a crowd of unequal records; oracle: the covariance of g given each
    record by enumerating its 128 reports, and the covariance of the records' indicators."""
    crowd = list(records())
    weights = np.random.default_rng(6).dirichlet(np.ones(len(crowd)))
    reports = patterns(7)
    g = values_row_by_row(reports, MIXED, AXES, margin=True)
    tensors = np.array([pair_moments(pack(r[None]), AXES) for r in reports])
    expected, noise = 0, 0
    for weight, (record, cells) in zip(weights, crowd, strict=True):
        flips = (reports != record).sum(axis=1)
        chance = FLIP.q**flips * FLIP.p ** (7 - flips)
        assert np.allclose(chance @ g, cells, atol=1e-10)
        expected = expected + weight * np.tensordot(chance, tensors, 1)
        noise = noise + weight * (g.T @ (chance[:, None] * g) - np.outer(cells, cells))
    truths = np.array([cells for _, cells in crowd])
    pi = weights @ truths
    sampling = truths.T @ (weights[:, None] * truths) - np.outer(pi, pi)
    people = 500
    counts = expected * people * copies
    decoders = [pair_decoder(q, FLIP.inverse, margin=True) for q in MIXED]
    ids = [q.id for q in MIXED]
    fixed = estimate_joint(ids, decoders, counts, copies, noise_only=True)
    assert np.allclose(fixed.covariance, noise / (people * copies), rtol=1e-8, atol=1e-12)
    found = estimate_joint(ids, decoders, counts, copies)
    wanted = noise / (people * copies) + sampling / people
    assert np.allclose(found.covariance, wanted, rtol=1e-8, atol=1e-12)
    as_if_people = estimate_joint(ids, decoders, counts, 1)
    assert (copies == 1) == np.allclose(as_if_people.covariance, wanted, rtol=1e-8, atol=1e-12)


def test_variances_and_margins_are_those_of_the_tables():
    bits = np.random.default_rng(7).integers(0, 2, (400, 7))
    decoders = [pair_decoder(q, FLIP.inverse, True) for q in MIXED]
    ids = [q.id for q in MIXED]
    joint = estimate_joint(ids, decoders, pair_moments(pack(bits), AXES), 4)
    singles = [decoder(q, FLIP.inverse) for q in MIXED]
    table = estimate_table(ids, singles, moments(pack(bits), AXES), 4)
    inner = (slice(-1),) * 3
    assert np.allclose(joint.estimate[inner], table.estimate, atol=1e-12)
    assert np.allclose(joint.standard_error[inner], table.standard_error, rtol=1e-9)
    margin = estimate_table(["sex"], singles[1:2], moments(pack(bits), AXES[1:2]), 4)
    assert np.allclose(joint.estimate[-1, :-1, -1], margin.estimate, atol=1e-12)
    assert np.allclose(joint.standard_error[-1, :-1, -1], margin.standard_error, rtol=1e-9)


def test_whole_histograms_give_the_same_covariance():
    bits = np.random.default_rng(8).integers(0, 2, (400, 4))
    axes, questions = [slice(0, 1), slice(1, 4)], [SMOKES, SEX]
    counts = histogram(pack(bits), axes)
    whole = [histogram_decoder(q.answers, inverse_matrix(q, FLIP.inverse), True) for q in questions]
    pairs = [pair_decoder(q, FLIP.inverse, True) for q in questions]
    a = estimate_joint("ab", whole, counts, 2)
    b = estimate_joint("ab", pairs, pair_moments(pack(bits), axes), 2)
    assert np.allclose(a.covariance, b.covariance, rtol=1e-9, atol=1e-13)


def test_a_table_too_large_says_so():
    decoders = [pair_decoder(YesNo(id=str(i)), FLIP.inverse) for i in range(11)]
    with pytest.raises(TableError, match="2,048 cells"):
        estimate_joint("x" * 11, decoders, np.ones([2] * 11))


# --- simulation ------------------------------------------------------------------------------


def kronecker(questions):
    return reduce(np.kron, [channel_matrix(q, FLIP.matrix) for q in questions])


def collections(questions, shares, people, copies, seed, trials=TRIALS):
    """Histograms of collections: people drawn from the shares, each report drawn from its person's
    cell. Independent of the library's own bootstrap."""
    generator, channel = np.random.default_rng(seed), kronecker(questions)
    sizes = [1 << q.domain.bits for q in questions]
    cells = generator.multinomial(people, np.ravel(shares), size=trials)
    total = np.zeros((trials, len(channel)), int)
    for cell, column in enumerate(channel.T):
        total += generator.multinomial(copies * cells[:, cell], column / column.sum())
    return total.reshape(trials, *sizes)


def joints(questions, counts, copies=1, margin=False):
    """The estimate of every collection, from its histogram (the same as from pair moments, as
    tested above, and quicker)."""
    inverses = [inverse_matrix(q, FLIP.inverse) for q in questions]
    pairs = zip(questions, inverses, strict=True)
    decoders = [histogram_decoder(q.answers, inverse, margin) for q, inverse in pairs]
    ids = [q.id for q in questions]
    return [estimate_joint(ids, decoders, c, copies) for c in counts]


def covers(estimates, errors, truth):
    """For each cell, the share of trials whose 95% interval holds the truth."""
    return np.mean(np.abs(np.array(estimates) - truth) <= Z * np.array(errors), axis=0)


def nominal(coverage):
    """The check that right intervals pass and the wrong variants fail."""
    return bool(np.all((coverage >= 0.935) & (coverage <= 0.965)))


ONE_WAY = ((SEX,), np.array([0.5, 0.3, 0.2]))
THREE_WAY = (
    tuple(YesNo(id=name) for name in "abc"),
    np.array([0.2, 0.1, 0.1, 0.15, 0.1, 0.1, 0.1, 0.15]).reshape(2, 2, 2),
)
SETTINGS = [
    pytest.param(ONE_WAY, 3000, 1, id="one-way"),
    pytest.param(THREE_WAY, 12000, 1, id="three-way"),
    pytest.param(ONE_WAY, 1500, 4, id="one-way, 4 copies"),
    pytest.param(THREE_WAY, 4000, 4, id="three-way, 4 copies"),
]


@pytest.mark.parametrize(("table", "people", "copies"), SETTINGS)
def test_intervals_cover_and_wrong_ones_do_not(table, people, copies):
    questions, shares = table
    counts = collections(questions, shares, people, copies, seed=people + copies)
    found = joints(questions, counts, copies)
    estimates = [f.estimate for f in found]
    errors = np.array([f.standard_error for f in found])
    assert np.all(shares >= 5 * np.sqrt(np.mean(errors**2, axis=0)))
    assert nominal(covers(estimates, errors, shares))
    assert not nominal(covers(estimates, 0.9 * errors, shares))
    if copies > 1:
        as_if_people = [f.standard_error for f in joints(questions, counts, 1)]
        assert not nominal(covers(estimates, as_if_people, shares))


# --- all cells at once -----------------------------------------------------------------------


@pytest.mark.parametrize("copies", [1, 4])
def test_simultaneous_intervals_cover_jointly_and_single_ones_do_not(copies):
    """4,000 collections: right intervals fall below .94 with probability .002. The multiplier of
    one collection serves all: correlations hardly vary."""
    questions, shares = THREE_WAY
    found = joints(questions, collections(questions, shares, 8000, copies, 11), copies)
    for method in ("max-t", "bonferroni"):
        multiplier = simultaneous_intervals(found[0], method=method).multiplier
        reach = np.array([multiplier * f.standard_error for f in found])
        off = np.abs(np.array([f.estimate for f in found]) - shares)
        assert np.mean(np.all(off <= reach, axis=(1, 2, 3))) >= 0.94
        assert np.mean(np.all(off <= 0.9 * reach, axis=(1, 2, 3))) < 0.94
    single = np.array([Z * f.standard_error for f in found])
    assert np.mean(np.all(off <= single, axis=(1, 2, 3))) < 0.85


def test_multipliers_of_known_cases():
    """Independent cells: P(all |z| < c) = (2 Phi(c) - 1)^n, so c is known. Perfectly correlated
    cells: the multiplier of one. The simulation is good to .03 here (some 4 standard errors)."""
    base = joints(*[ONE_WAY[0], collections(*ONE_WAY, 3000, 1, 12, 1)])[0]
    independent = replace(base, covariance=np.diag([1.0, 4.0, 9.0]))
    found = simultaneous_intervals(independent)
    assert found.multiplier == pytest.approx(norm.ppf((1 + 0.95 ** (1 / 3)) / 2), abs=0.03)
    assert np.allclose(found.high - found.estimate, found.multiplier * np.array([1, 2, 3]))
    one = np.array([1.0, -2.0, 3.0])
    tied = simultaneous_intervals(replace(base, covariance=np.outer(one, one)))
    assert tied.multiplier == pytest.approx(Z, abs=0.03)
    bonferroni = simultaneous_intervals(independent, method="bonferroni")
    assert bonferroni.multiplier == pytest.approx(norm.ppf(1 - 0.025 / 3), abs=1e-9)
    assert bonferroni.accuracy == 0 < found.accuracy < 0.0011
    assert simultaneous_intervals(independent).multiplier == found.multiplier
    nothing = simultaneous_intervals(replace(base, covariance=np.zeros((3, 3))))
    assert np.array_equal(nothing.low, nothing.estimate)


# --- comparisons -----------------------------------------------------------------------------

TWO_WAY = ((SMOKES, SEX), np.array([[0.30, 0.22, 0.10], [0.12, 0.18, 0.08]]))
OF, FEMALE, MALE = ("smokes", "yes"), ("sex", "f"), ("sex", "m")
TRUTH = {
    conditional_share: 0.12 / 0.42,
    difference: 0.12 / 0.42 - 0.18 / 0.40,
    odds_ratio: (0.12 / 0.30) / (0.18 / 0.22),
}


@cache
def two_way(people, copies):
    return joints(
        TWO_WAY[0], collections(*TWO_WAY, people, copies, 13 + copies), copies, margin=True
    )


def compared(figure, joint):
    return (
        figure(joint, OF, FEMALE)
        if figure is conditional_share
        else figure(joint, OF, FEMALE, MALE)
    )


@pytest.mark.parametrize(("people", "copies"), [(8000, 1), (3000, 4)])
@pytest.mark.parametrize("figure", TRUTH)
def test_comparisons_cover_and_wrong_ones_do_not(figure, people, copies):
    found = [compared(figure, joint) for joint in two_way(people, copies)]
    assert all(f.estimable for f in found)
    truth = TRUTH[figure]
    assert nominal(np.mean([f.low <= truth <= f.high for f in found]))
    log = figure is odds_ratio
    assert {f.unbounded for f in found} == {"no"}
    scale = np.log if log else np.asarray
    off = scale([f.estimate for f in found]) - scale(truth)
    errors = np.array([f.standard_error for f in found])
    assert nominal(np.mean(np.abs(off) <= Z * errors))
    assert not nominal(np.mean(np.abs(off) <= 0.9 * Z * errors))
    assert {f.scale for f in found} == {"log" if log else "linear"}


def numeric_gradient(function, point):
    steps = np.eye(len(point)) * 1e-6
    return np.array([(function(point + s) - function(point - s)) / 2e-6 for s in steps])


def by_number(figure, joint):
    """Estimate and error on the figure's own scale with a numerical gradient of its definition."""
    selections = [dict([OF, FEMALE]), dict([FEMALE]), dict([OF, MALE]), dict([MALE])]
    shares = pick(joint, selections)
    functions = {
        conditional_share: lambda v: v[0] / v[1],
        difference: lambda v: v[0] / v[1] - v[2] / v[3],
        odds_ratio: lambda v: np.log((v[0] / (v[1] - v[0])) / (v[2] / (v[3] - v[2]))),
    }
    slope = numeric_gradient(functions[figure], shares.values)
    return functions[figure](shares.values), np.sqrt(slope @ shares.covariance @ slope)


@pytest.mark.parametrize("figure", TRUTH)
def test_delta_method_against_numerical_gradients(figure):
    """With errors so small that the bias of products is nothing (a millionth in variance)."""
    joint = two_way(8000, 1)[0]
    joint = replace(joint, covariance=joint.covariance * 1e-6, people=8e9)
    found = compared(figure, joint)
    value, error = by_number(figure, joint)
    shown = np.log(found.estimate) if found.scale == "log" else found.estimate
    assert shown == pytest.approx(value, rel=1e-5)
    assert found.standard_error == pytest.approx(error, rel=1e-4)
    assert found.low == pytest.approx(found.estimate - Z * error * by_scale(found), rel=1e-3)
    assert found.high == pytest.approx(found.estimate + Z * error * by_scale(found), rel=1e-3)


def by_scale(found):
    return found.estimate if found.scale == "log" else 1.0


def test_odds_ratios_of_overlapping_options_use_the_margin():
    """Exact counts of a known crowd: the odds of option u among women, of all women."""
    crowd = list(records())
    weights = np.random.default_rng(14).dirichlet(np.ones(len(crowd)))
    cells = np.tensordot(weights, [c for _, c in crowd], 1).reshape(3, 4, 4)
    decoders = [pair_decoder(q, np.eye(2), margin=True) for q in MIXED]
    rows = np.repeat([r for r, _ in crowd], np.round(weights * 1e6).astype(int), axis=0)
    joint = estimate_joint([q.id for q in MIXED], decoders, pair_moments(pack(rows), AXES))
    found = odds_ratio(joint, ("uses", "u"), FEMALE, MALE)
    (a, b), (group_a, group_b) = cells[-1, :2, 0], cells[-1, :2, -1]
    assert found.estimate == pytest.approx((a / (group_a - a)) / (b / (group_b - b)), rel=1e-3)
    assert np.allclose(joint.estimate, cells, atol=1e-4)


def test_what_rests_on_an_empty_group_is_left_open():
    """The third group is empty: in all but 1 in 40 surveys nothing is said about it, and never
    that it is exactly like another. 100 surveys: more than 10 by chance in 1 of 10,000."""
    shares = np.array([[0.4, 0.3, 0.0], [0.2, 0.1, 0.0]])
    counts = collections(TWO_WAY[0], shares, 3000, 1, 15, trials=100)
    found = joints(TWO_WAY[0], counts, margin=True)
    share = [conditional_share(joint, OF, ("sex", "x")) for joint in found]
    gaps = [difference(joint, OF, FEMALE, ("sex", "x")) for joint in found]
    for figures in (share, gaps):
        assert sum(f.unbounded == "no" for f in figures) <= 10
        assert any(f.unbounded == "everywhere" for f in figures)
        assert all("sex = x" in f.reason for f in figures if f.unbounded != "no")
        assert all(np.isnan(f.estimate) != f.estimable for f in figures)
    assert all(conditional_share(joint, OF, FEMALE).unbounded == "no" for joint in found)


def test_answers_and_margins_that_are_not_there_are_errors():
    joint = two_way(8000, 1)[0]
    with pytest.raises(TableError, match="is no answer; use one of f, m, x"):
        difference(joint, OF, FEMALE, ("sex", "n"))
    with pytest.raises(TableError, match="not in this table"):
        conditional_share(joint, ("drinks", "yes"), FEMALE)
    bare = joints(TWO_WAY[0], collections(*TWO_WAY, 3000, 1, 16, 1))[0]
    with pytest.raises(TableError, match="margin=True"):
        conditional_share(bare, OF, FEMALE)
    with pytest.raises(TableError, match="margin=True"):
        independence_test(bare)


# --- association -----------------------------------------------------------------------------


def explicit_contrasts(shares, people, copies=1):
    """Noncentrality of the test: explicit Kronecker covariance of the cells of both questions.

    Deviations are taken from the margins of the one-way tables, and contrasts (1, -1) taken by
    hand: any basis of them gives the same statistic.
    """
    channel, pi = kronecker(TWO_WAY[0]), shares.ravel()
    ends = [
        np.vstack([inverse_matrix(q, FLIP.inverse), np.ones(1 << q.domain.bits)])
        for q in TWO_WAY[0]
    ]
    g = np.kron(*ends)  # 3 x 4 entries, the last of each axis "any"
    full = np.pad(shares, (0, 1))
    full[-1], full[:, -1] = full.sum(axis=0), full.sum(axis=1)
    full[-1, -1] = 1
    given = np.einsum("ar,br,rx->xab", g, g, channel)
    truths = np.array(
        [
            np.kron(np.eye(3)[i] + np.eye(3)[2], np.eye(4)[j] + np.eye(4)[3])
            for i in range(2)
            for j in range(3)
        ]
    )
    noise = np.tensordot(pi, given - truths[:, :, None] * truths[:, None, :], 1)
    sampling = truths.T @ (pi[:, None] * truths) - np.outer(full, full)
    covariance = noise / (people * copies) + sampling / people

    def contrasts(v):
        t = v.reshape(3, 4)
        d = t[:2, :3] - np.outer(t[:2, 3], t[2, :3])
        return np.array([d[0, j] - d[1, j] - d[0, 2] + d[1, 2] for j in range(2)])

    slope = np.array(
        [numeric_gradient(lambda v, i=i: contrasts(v)[i], full.ravel()) for i in range(2)]
    )
    values = contrasts(full.ravel())
    return values @ np.linalg.solve(slope @ covariance @ slope.T, values)


def naive_chi_square(joint, people):
    """The textbook test, as if the estimated shares times N were counts of people."""
    cells, rows, columns = joint.estimate[:2, :3], joint.estimate[:2, 3], joint.estimate[2, :3]
    expected = np.outer(rows, columns)
    return chi2.sf(people * np.sum((cells - expected) ** 2 / expected), 2)


INDEPENDENT = np.outer([0.6, 0.4], [0.5, 0.3, 0.2])
SLACK = 4 * np.sqrt(0.05 * 0.95 / TRIALS)  # .0138


@pytest.mark.parametrize("copies", [1, 4])
def test_independence_holds_its_level_and_the_naive_test_does_not(copies):
    counts = collections(TWO_WAY[0], INDEPENDENT, 5000, copies, 17)
    found = joints(TWO_WAY[0], counts, copies, margin=True)
    tests = [independence_test(joint) for joint in found]
    assert {t.degrees_of_freedom for t in tests} == {2}
    assert abs(np.mean([t.p_value < 0.05 for t in tests]) - 0.05) < SLACK
    naive = np.mean([naive_chi_square(joint, 5000) < 0.05 for joint in found[:1000]])
    assert naive > 0.05 + 10 * SLACK
    if copies > 1:
        people = [
            independence_test(replace(j, covariance=j.covariance / copies)) for j in found[:1000]
        ]
        assert np.mean([t.p_value < 0.05 for t in people]) > 0.05 + 10 * SLACK


def test_independence_has_the_power_it_should():
    """Power of a chi-square with 2 degrees of freedom and the exact noncentrality."""
    people = 3000
    shares = INDEPENDENT + 0.025 * np.array([[1, -1, 0], [-1, 1, 0]])
    power = ncx2.sf(chi2.ppf(0.95, 2), 2, explicit_contrasts(shares, people))
    assert 0.5 < power < 0.95
    counts = collections(TWO_WAY[0], shares, people, 1, 18, trials=2000)
    found = [independence_test(j) for j in joints(TWO_WAY[0], counts, margin=True)]
    share = np.mean([t.p_value < 0.05 for t in found])
    assert abs(share - power) < 5 * np.sqrt(power * (1 - power) / 2000)


def test_independence_counts_degrees_of_freedom():
    """Exclusive axes give I - 1, overlapping options each count."""
    bits = np.random.default_rng(19).integers(0, 2, (5000, 7))
    for questions, axes, wanted in [
        ((SMOKES, SEX), AXES[:2], 2),
        ((SEX, USES), AXES[1:], 6),
        ((USES, SMOKES), (AXES[2], AXES[0]), 3),
    ]:
        decoders = [pair_decoder(q, FLIP.inverse, True) for q in questions]
        joint = estimate_joint([q.id for q in questions], decoders, pair_moments(pack(bits), axes))
        found = independence_test(joint)
        assert found.degrees_of_freedom == wanted and 0 <= found.p_value <= 1


STRONG = np.array([[0.40, 0.12, 0.08], [0.05, 0.25, 0.10]])


def ends(shares):
    return shares.sum(axis=1), shares.sum(axis=0)


def deviations(entries):
    """pi_ij - pi_i. pi_.j and pi_i. pi_.j of the 3 x 4 entries of a joint estimate with margins."""
    table = np.reshape(entries, (3, 4))
    expected = np.outer(table[:2, 3], table[2, :3])
    return table[:2, :3] - expected, expected


def test_association_against_numerical_gradients():
    """Oracle: the definitions, with numerical gradients in all 12 entries of the estimate."""
    joint = joints(TWO_WAY[0], collections(TWO_WAY[0], STRONG, 8000, 1, 20, 1), margin=True)[0]
    entries, covariance = joint.estimate.ravel(), joint.covariance

    def contrast(v, j):
        found, _ = deviations(v)
        return found[0, j] - found[1, j] - found[0, 2] + found[1, 2]

    slope = np.array([numeric_gradient(lambda v, j=j: contrast(v, j), entries) for j in range(2)])
    values = np.array([contrast(entries, j) for j in range(2)])
    statistic = values @ np.linalg.solve(slope @ covariance @ slope.T, values)
    assert independence_test(joint).statistic == pytest.approx(statistic, rel=1e-6)

    def relative(v):
        found, expected = deviations(v)
        return (found / np.sqrt(expected)).ravel()

    table = entries.reshape(3, 4)
    roots = [np.sqrt(margin)[:, None] for margin in (table[:2, 3], table[2, :3])]
    within = np.kron(*(np.eye(len(r)) - r @ r.T / (r.T @ r) for r in roots))
    slope = within @ np.array(
        [numeric_gradient(lambda v, k=k: relative(v)[k], entries) for k in range(6)]
    )
    vector, own = within @ relative(entries), slope @ covariance @ slope.T
    found = cramers_v(joint)
    assert found.estimate == pytest.approx(np.sqrt(vector @ vector - np.trace(own)), rel=1e-6)
    error = np.sqrt(vector @ own @ vector / (vector @ vector))
    assert found.standard_error == pytest.approx(error, rel=1e-5)


def test_the_correction_of_cramers_v_is_needed():
    """2,000 collections of 4,000 people: the mean of V^2 is within 4 of its standard errors of the
    truth; without the correction it is more than 5 away."""
    expected = np.outer(*ends(STRONG))
    truth = np.sqrt(np.sum((STRONG - expected) ** 2 / expected))
    counts = collections(TWO_WAY[0], STRONG, 4000, 1, 20, trials=2000)
    all_joints = joints(TWO_WAY[0], counts, margin=True)
    squares = np.array([Length(*standardized(j)).estimate ** 2 for j in all_joints])
    naive = [np.sum(d**2 / e) for d, e in (deviations(j.estimate) for j in all_joints)]
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - truth**2) < 4 * error
    assert np.mean(naive) - truth**2 > 5 * error


# --- k-ary response --------------------------------------------------------------------------


def test_k_ary_response_with_100_options():
    """Epsilon 1, 10,000 reports: P(r|x) = e / (e + 99) if r = x, else 1 / (e + 99). The estimate
    of a true share of .50 averages .50, and its error is the spread."""
    size, people, trials = 100, 10_000, 500
    matrix = (np.ones((size, size)) + (np.e - 1) * np.eye(size)) / (np.e + size - 1)
    shares = np.full(size, 0.5 / (size - 1))
    shares[0] = 0.5
    decode = histogram_decoder([str(i) for i in range(size)], np.linalg.inv(matrix))
    counts = np.random.default_rng(22).multinomial(people, matrix @ shares, size=trials)
    found = [estimate_joint(["k"], [decode], c) for c in counts[:5]]
    estimates = np.linalg.solve(matrix, counts.T / people)[0]
    assert np.allclose([f.estimate[0] for f in found], estimates[:5], atol=1e-10)
    error = estimates.std(ddof=1)
    assert abs(estimates.mean() - 0.5) < 3 * error / np.sqrt(trials)
    assert found[0].standard_error[0] == pytest.approx(error, rel=5 / np.sqrt(2 * trials))
