"""Shares of true answers: moments and likelihood against closed forms and other optimizers."""

import math

import numpy as np
import pytest
import scipy

from incrowd.errors import UsageError
from incrowd.interviews.honesty_models import lies
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.shares import (
    design_effects,
    likelihood,
    moments,
    profile_interval,
    profile_ratio,
)
from tests.oracles.randomized_items import (
    KUK_TWICE,
    LIE_DETECTOR,
    ONE_GROUP,
    THREE,
    UNRELATED,
    drawn,
    matrices_of,
    of_yes,
    shared_columns,
)


def random_reports(matrices, rng, *, theta=()):
    """Return a small data set of a random share, often with an estimate at an end."""
    true = (rng.random(rng.integers(20, 200)) < rng.choice([0.02, rng.random(), 0.98])).astype(int)
    return drawn(matrices, true, rng, theta=theta)


def seen(item):
    """Return the number of interviews and of reports "yes" of each group."""
    groups = range(item.matrices.groups)
    return [(np.sum(item.group == g), np.sum(item.reported[item.group == g])) for g in groups]


def check_one_group(design, rng):
    item = random_reports(design.matrices, rng)
    ((n, yes),) = seen(item)
    share, apart = yes / n, design.yes_if_yes - design.yes_if_no
    pi = (share - design.yes_if_no) / apart
    by_moments = moments([item])
    assert by_moments.parameters[1] == pytest.approx(pi, abs=1e-12)
    error = np.sqrt(share * (1 - share) / (n - 1)) / abs(apart)
    assert by_moments.standard_errors[1] == pytest.approx(error, abs=1e-9)
    fitted, possible = likelihood([item]), min(max(pi, 0), 1)
    assert fitted.parameters[1] == pytest.approx(possible, abs=1e-7)
    assert fitted.at_end[1] == (pi < 1e-9 or pi > 1 - 1e-9)
    if not fitted.at_end[1]:
        error *= np.sqrt((n - 1) / n)
        assert fitted.standard_errors[1] == pytest.approx(error, rel=1e-5, abs=1e-9)
    likely = design.yes_if_no + possible * apart
    value = scipy.special.xlogy(yes, likely) + scipy.special.xlogy(n - yes, 1 - likely)
    assert fitted.log_likelihood == pytest.approx(value, abs=1e-8)
    return bool(fitted.at_end[1])


def log_likelihood(matrices, counts, pi, theta):
    """Return the log-likelihood of one yes/no item. counts: of each group, of "no" and "yes"."""
    total = 0.0
    for group, of_group in enumerate(counts):
        for reported, count in enumerate(of_group):
            no, yes = matrices.base[group][reported] + theta * matrices.unknown[0, group, reported]
            total += count * math.log(max((1 - pi) * no + pi * yes, 1e-300)) if count else 0.0
    return total


def check_two_groups(matrices, solve, rng):
    """solve: the closed form of both parameters, from the shares of "yes" in the two groups."""
    item = random_reports(matrices, rng, theta=[rng.random()])
    (n, first), (m, second) = seen(item)
    counts = [(n - first, first), (m - second, second)]
    pi, theta = solve(first / n, second / m)
    fitted = likelihood([item])
    best = max(
        (
            scipy.optimize.minimize(
                lambda each: -log_likelihood(matrices, counts, *each),
                start,
                bounds=[(0, 1), (0, 1)],
                method="L-BFGS-B",
            )
            for start in ([0.5, 0.5], [0.1, 0.9], [0.9, 0.3])
        ),
        key=lambda each: -each.fun,
    )
    assert fitted.log_likelihood >= -best.fun - 1e-6
    assert fitted.log_likelihood == pytest.approx(
        log_likelihood(matrices, counts, fitted.parameters[1], fitted.unknowns[0]), abs=1e-7
    )
    inside = 0 < pi < 1 and 0 < theta < 1
    if inside:
        assert fitted.parameters[1:] == pytest.approx([pi, theta], abs=1e-5)
    if abs(theta) < 3:  # the honesty of hardly any carriers has no finite moments
        assert moments([item]).parameters[1:] == pytest.approx([pi, theta], abs=1e-6)
    return not inside


def unrelated(first, second):
    """Greenberg et al. 1969: lambda = p pi + (1 - p) theta, for p = .7 and .3."""
    pi = (0.7 * first - 0.3 * second) / (0.7 - 0.3)
    return pi, (0.7 * second - 0.3 * first) / (0.7 - 0.3)


def lie_detector(first, second):
    """Moshagen, Musch and Erdfelder 2012: lambda = pi t + (1 - pi)(1 - p), p = 2/12 and 10/12."""
    carriers = 1 - (first - second) / (10 / 12 - 2 / 12)
    honest = first - (1 - carriers) * 10 / 12
    return carriers, honest / carriers if abs(carriers) > 1e-9 else np.inf


TWO_GROUPS = {"unrelated": (UNRELATED, unrelated), "lie detector": (LIE_DETECTOR, lie_detector)}


@pytest.mark.parametrize("design", ONE_GROUP, ids=lambda each: each.name)
def test_one_group_has_its_closed_form(design):
    rng = np.random.default_rng(43)
    at_ends = sum(check_one_group(design, rng) for _ in range(8))
    assert design.name == "direct" or at_ends


@pytest.mark.slow
@pytest.mark.parametrize("design", ONE_GROUP, ids=lambda each: each.name)
def test_one_group_has_its_closed_form_in_200_data_sets(design):
    rng = np.random.default_rng(44)
    assert 5 <= sum(check_one_group(design, rng) for _ in range(200)) <= 180


@pytest.mark.parametrize("name", TWO_GROUPS)
def test_two_groups_have_their_closed_form(name):
    rng = np.random.default_rng(45)
    [check_two_groups(*TWO_GROUPS[name], rng) for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("name", TWO_GROUPS)
def test_two_groups_have_their_closed_form_in_200_data_sets(name):
    rng = np.random.default_rng(46)
    assert 5 <= sum(check_two_groups(*TWO_GROUPS[name], rng) for _ in range(200)) <= 190


def check_by_another_optimizer(matrices, rng):
    shares = rng.dirichlet(np.full(matrices.answers, 0.7))
    true = rng.choice(matrices.answers, size=150, p=shares)
    item = drawn(matrices, true, rng)
    counts = np.bincount(item.reported, minlength=matrices.reports)
    result = scipy.optimize.minimize(
        lambda pi: -counts @ np.log(matrices.base[0] @ pi),
        np.full(matrices.answers, 1 / matrices.answers),
        jac=lambda pi: -matrices.base[0].T @ (counts / (matrices.base[0] @ pi)),
        bounds=[(0, 1)] * matrices.answers,
        constraints={"type": "eq", "fun": lambda pi: pi.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-13},
    )
    fitted = likelihood([item])
    assert fitted.log_likelihood >= -result.fun - 1e-9
    assert fitted.parameters == pytest.approx(result.x, abs=2e-4)


@pytest.mark.parametrize("matrices", [KUK_TWICE, THREE], ids=["Kuk, two draws", "three answers"])
def test_several_reports_and_answers_agree_with_another_optimizer(matrices):
    rng = np.random.default_rng(47)
    for _ in range(8):
        check_by_another_optimizer(matrices, rng)


def test_more_reports_than_answers_are_weighted_without_bias():
    """The estimate is linear in the frequencies, and the frequencies of a share give the share."""
    for pi in (0.0, 0.2, 0.9):
        frequencies = KUK_TWICE.base[0] @ [1 - pi, pi]
        reported = np.repeat(np.arange(3), np.round(1e4 * frequencies).astype(int))
        item = ReportedItem(reported, np.zeros(len(reported), int), KUK_TWICE)
        assert moments([item]).parameters[1] == pytest.approx(pi, abs=1e-9)


def test_groups_with_known_probabilities_are_weighted_by_their_precision():
    rng = np.random.default_rng(48)
    matrices = matrices_of((1, 0), (0.75, 0.25))
    item = drawn(matrices, (rng.random(4000) < 0.4).astype(int), rng)
    (n, first), (m, second) = seen(item)
    shares, variances = (first / n, (second / m - 0.25) * 2), (0.25 / n, 0.25 / m * 4)
    weights = np.reciprocal(variances)
    assert moments([item]).parameters[1] == pytest.approx(weights @ shares / weights.sum())


def test_weights_and_clusters_have_the_errors_of_a_weighted_mean_of_scores():
    rng = np.random.default_rng(49)
    n, matrices = 300, matrices_of((5 / 6, 1 / 6))
    item = drawn(matrices, (rng.random(n) < 0.3).astype(int), rng)
    weights, clusters = rng.uniform(1, 5, n), rng.integers(0, 20, n)
    scores = (item.reported - 1 / 6) / (2 / 3)
    mean = weights @ scores / weights.sum()
    parts = weights * (scores - mean) / weights.sum()
    of_clusters = np.bincount(clusters, parts)
    for estimate in (moments, likelihood):
        alone = estimate([item], weights)
        assert alone.parameters[1] == pytest.approx(mean, abs=1e-7)
        assert alone.standard_errors[1] ** 2 == pytest.approx(parts @ parts * n / (n - 1), rel=1e-5)
        together = estimate([item], weights, clusters)
        variance = of_clusters @ of_clusters * 20 / 19
        assert together.standard_errors[1] ** 2 == pytest.approx(variance, rel=1e-5)
    effect = design_effects([item], weights, clusters)[1]
    simple = item.reported.var(ddof=1) / n / (2 / 3) ** 2
    assert effect == pytest.approx(variance / simple, rel=1e-5)
    assert np.all(design_effects([item]) == 1)


def test_a_profile_interval_holds_where_the_estimate_is_at_an_end():
    """With n - yes = n, all reports "no" of a forced response."""
    item = of_yes(matrices_of((5 / 6, 1 / 6)), np.zeros(40))
    fitted = likelihood([item])
    assert fitted.parameters[1] == 0 and np.isnan(fitted.standard_errors[1])
    low, high = profile_interval(fitted, 1)
    limit = scipy.stats.chi2.ppf(0.95, 1) / 2
    expected = scipy.optimize.brentq(
        lambda pi: 40 * np.log((5 / 6) / (5 / 6 - pi * 2 / 3)) - limit, 0, 0.9
    )
    assert low == 0 and high == pytest.approx(expected, abs=1e-5)
    wider = profile_interval(fitted, 1, effect=2.0)
    assert wider[1] > high


def test_a_profile_interval_of_an_unknown_probability_agrees_with_a_grid():
    rng = np.random.default_rng(50)
    item = drawn(LIE_DETECTOR, (rng.random(300) < 0.8).astype(int), rng, theta=[0.7])
    fitted, counts = likelihood([item]), [(n - yes, yes) for n, yes in seen(item)]
    for honesty in (0.6, 0.8):
        grid = [log_likelihood(LIE_DETECTOR, counts, pi, honesty) for pi in np.linspace(0, 1, 401)]
        expected = 2 * (fitted.log_likelihood - max(grid))
        assert profile_ratio(fitted, 2, honesty) == pytest.approx(expected, abs=0.02)


def test_what_reports_cannot_determine_is_refused():
    same = matrices_of((0.5, 0.5))
    with pytest.raises(UsageError, match="do not determine"):
        moments([of_yes(same, np.array([0.0, 1, 1]))])
    one = ItemMatrices(LIE_DETECTOR.base[:1], LIE_DETECTOR.unknown[:, :1], LIE_DETECTOR.names)
    with pytest.raises(UsageError, match="do not determine"):
        likelihood([of_yes(one, np.array([0.0, 1, 1]))])
    item = of_yes(matrices_of((5 / 6, 1 / 6)), np.array([1.0, np.nan]))
    with pytest.raises(UsageError, match="1 interview"):
        moments([item])
    with pytest.raises(UsageError, match="weights"):
        moments([of_yes(item.matrices, np.array([1.0, 0.0]))], np.zeros(2))


def test_a_survey_in_nigeria():
    """The numbers of R's RRreg, to all digits."""
    data = shared_columns("nigeria_rr.csv")
    forced = matrices_of((5 / 6, 1 / 6))
    whole = moments([of_yes(forced, data["armed_groups_die"])])
    assert whole.people == 2435
    assert f"{whole.parameters[1]:.6f} {whole.standard_errors[1]:.6f}" == "0.261910 0.014416"
    rows = ~np.isnan(np.stack([*data.values()])).any(axis=0)
    assert rows.sum() == 2423
    expected = {
        ("female", 0): "0.316947 0.020126",
        ("female", 1): "0.196237 0.020536",
        ("married", 0): "0.302296 0.021106",
        ("married", 1): "0.222735 0.019742",
    }
    for (column, value), text in expected.items():
        chosen = data["armed_groups_die"][rows & (data[column] == value)]
        part = moments([of_yes(forced, chosen)])
        assert f"{part.parameters[1]:.6f} {part.standard_errors[1]:.6f}" == text


def test_the_lie_detector_of_a_survey_about_minarets():
    data = shared_columns("minarets_rr.csv")
    chosen = data["condition"] > 0
    reported = data["answer"][chosen].astype(int)
    group = data["condition"][chosen].astype(int) - 1
    item = ReportedItem(reported, group, LIE_DETECTOR)
    fitted = moments([item])
    figures = [f"{each:.6f}" for each in [*fitted.parameters[1:], *fitted.standard_errors[1:]]]
    assert figures == ["0.870695", "0.635806", "0.041118", "0.017344"]
    assert likelihood([item]).parameters[1:] == pytest.approx(fitted.parameters[1:], abs=1e-7)


def test_errors_with_one_interview_in_a_group_are_not_missing():
    """Its square alone is no variance, so it counts among all interviews."""
    matrices = matrices_of((5 / 6, 1 / 6), (2 / 3, 1 / 4))
    reported = np.array([1, 0, 0, 1, 0, 0, 1])
    item = ReportedItem(reported, np.array([0] * 6 + [1]), matrices)
    shares = moments([item])
    expected = matrices.base @ shares.parameters
    likely = matrices.base.mean(axis=2)
    slopes = (matrices.base[:, :, 1] - matrices.base[:, :, 0]) / likely
    information = np.sum(np.array([6, 1]) * (slopes**2 * likely).sum(axis=1))
    rows = slopes[item.group, reported] - (slopes * expected).sum(axis=1)[item.group]
    factors = np.array([6 / 5] * 6 + [7 / 6])
    error = np.sqrt(np.sum(factors * rows**2)) / information
    assert shares.standard_errors == pytest.approx([error, error])


def test_few_clusters_lengthen_intervals_of_models_of_honesty():
    """As they do for shares: by the quantile of t, here on a scale where both ends are inside."""
    rng = np.random.default_rng(5)
    item = drawn(LIE_DETECTOR, (rng.random(4000) < 0.5).astype(int), rng, theta=[0.7])
    clusters = rng.integers(4, size=4000)
    plain = ItemMatrices(LIE_DETECTOR.base)
    modeled = lies(ReportedItem(item.reported, item.group, plain), clusters=clusters)
    fit = modeled.shares()
    effects = design_effects([modeled.item], clusters=clusters)
    reach = scipy.stats.t.ppf(0.975, 3)
    for place, ends in zip((1, 2), modeled.fit().intervals, strict=True):
        ratios = [profile_ratio(fit, place, end) / effects[place] for end in ends]
        assert ratios == pytest.approx([reach**2] * 2, rel=1e-3)
