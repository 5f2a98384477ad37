"""People who do not follow the rules: the models on arrays, against closed forms by hand."""

import math

import numpy as np
import pytest
from scipy import optimize

import incrowd
from incrowd.interviews import honesty_models as models
from incrowd.interviews.always_no import AlwaysNo
from incrowd.interviews.items import ItemMatrices, ReportedItem
from tests.oracles.interview_rules import forced, reports, shared_columns, warner

P1, P2 = 1 / 6, 5 / 6


def item(reported, group, *matrices):
    return ReportedItem(np.asarray(reported), np.asarray(group), ItemMatrices(np.array(matrices)))


def counted(shares, sizes):
    """Exactly these shares of "yes" in groups of these sizes."""
    yes = [round(share * size) for share, size in zip(shares, sizes, strict=True)]
    reported = np.concatenate([np.arange(n) < k for n, k in zip(sizes, yes, strict=True)])
    return reported.astype(int), np.repeat(np.arange(len(sizes)), sizes)


def errors(fit):
    return np.sqrt(np.diag(fit.covariance))


def test_the_lie_detector_has_its_closed_form():
    """Moshagen, Musch, and Erdfelder (2012): two equations, two unknowns."""
    given = item(*counted((0.67, 0.62), (500, 800)), warner(P1), warner(P2))
    fit = models.lies(given).fit()
    # lambda_g = pi t + (1 - pi) (1 - p_g)
    pi = 1 - (0.67 - 0.62) / (P2 - P1)
    honesty = (0.67 - (1 - pi) * (1 - P1)) / pi
    assert fit.names == ("carriers", "honesty")
    assert fit.values == pytest.approx([pi, honesty], abs=1e-7)
    assert not fit.at_end.any()
    variance = 0.67 * 0.33 / 499 + 0.62 * 0.38 / 799
    assert errors(fit)[0] == pytest.approx(math.sqrt(variance) / (P2 - P1), rel=1e-5)
    assert fit.test.degrees == 0


def test_a_share_that_cannot_exceed_all_is_at_its_end():
    given = item(*counted((0.62, 0.67), (500, 800)), warner(P1), warner(P2))
    fit = models.lies(given).fit()
    # The equations give 1.075 carriers. If all people are carriers, their honesty is the share of
    # "yes" in both groups.
    assert fit.values == pytest.approx([1, (310 + 536) / 1300], abs=1e-6)
    assert fit.at_end.tolist() == [True, False]
    low, high = fit.intervals[0]
    assert 0.9 < low < high == 1


def test_cheater_detection_has_its_closed_form():
    """Clark and Desharnais (1998)."""
    y1, y2, s1, s2 = 0.25, 0.75, 0.33, 0.55
    given = item(*counted((s1, s2), (600, 400)), forced(y1, 0), forced(y2, 0))
    fit = models.cheaters(given).fit()
    honest_no = (s2 - s1) / (y2 - y1)
    honest_yes = s1 - y1 * honest_no
    cheating = 1 - honest_yes - honest_no
    assert fit.names == ("honest-yes", "honest-no", "cheaters")
    assert fit.values == pytest.approx([honest_yes, honest_no, cheating], abs=1e-7)
    first, second = s1 * (1 - s1) / 599, s2 * (1 - s2) / 399
    expected = [
        math.sqrt(y2**2 * first + y1**2 * second) / (y2 - y1),
        math.sqrt(first + second) / (y2 - y1),
        math.sqrt((1 - y2) ** 2 * first + (1 - y1) ** 2 * second) / (y2 - y1),
    ]
    assert errors(fit) == pytest.approx(expected, rel=1e-5)


def test_the_anchor_has_its_closed_form():
    """Atsusaka and Stevenson (2023), equations 2b and 3; errors of a ratio, by hand."""
    rng = np.random.default_rng(43)
    n, p, q, attentive = 4000, 0.15, 0.25, 0.8
    reads = rng.random(n) < attentive
    answers = (rng.random(n) < 0.1).astype(int)
    guess = rng.integers(0, 2, (2, n))
    # Report 1 is "same": its probability is 1 - p without the trait.
    of_item, of_anchor = np.array([[p, 1 - p], [1 - p, p]]), np.array([[q, 1 - q], [1 - q, q]])
    a = np.where(reads, reports(rng, answers, np.tile(of_item, (n, 1, 1))), guess[0])
    b = np.where(reads, reports(rng, 0 * answers, np.tile(of_anchor, (n, 1, 1))), guess[1])
    zeros = np.zeros(n, int)
    fit = models.anchored(item(a, zeros, of_item), item(b, zeros, of_anchor), 0).fit()
    # E b = gamma (1 - q) + (1 - gamma) / 2; E a = gamma (1 - p - (1 - 2 p) pi) + (1 - gamma) / 2
    gamma = (b.mean() - 0.5) / (0.5 - q)
    naive = (1 - p - a.mean()) / (1 - 2 * p)
    share = (0.5 - p - (a.mean() - 0.5) / gamma) / (1 - 2 * p)
    assert fit.values == pytest.approx([share, gamma], abs=1e-7)
    assert abs(naive - 0.1) > 0.05 > abs(share - 0.1)
    slopes = np.array(
        [
            [-1 / gamma / (1 - 2 * p), (a.mean() - 0.5) / gamma**2 / (0.5 - q) / (1 - 2 * p)],
            [0, 1 / (0.5 - q)],
        ]
    )
    expected = slopes @ (np.cov(a, b) / n) @ slopes.T
    assert fit.covariance == pytest.approx(expected, rel=1e-4)


def always_no_loss(parameters, shares, matrix):
    """Two items, independent for those who do not always say no; not the package's law."""
    always, x, y = parameters
    first, second = (matrix @ [1 - each, each] for each in (x, y))
    probabilities = (1 - always) * np.outer(first, second)
    probabilities[0, 0] += always
    return -(shares * np.log(probabilities)).sum()


def test_two_items_find_those_who_always_say_no():
    rng = np.random.default_rng(44)
    n, matrix = 3000, forced(1 / 6, 1 / 6)
    answers = [(rng.random(n) < share).astype(int) for share in (0.4, 0.3)]
    silent = rng.random(n) < 0.2
    given = [
        item(np.where(silent, 0, reports(rng, each, np.tile(matrix, (n, 1, 1)))), 0 * each, matrix)
        for each in answers
    ]
    fit = models.always_no(given)
    counts = np.zeros((2, 2))
    np.add.at(counts, (given[0].reported, given[1].reported), 1)
    best = optimize.minimize(
        always_no_loss,
        [0.1, 0.5, 0.5],
        (counts / n, matrix),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13},
    )
    assert fit.used.all()
    assert fit.values == pytest.approx(best.x, abs=1e-5)
    assert fit.values[0] == pytest.approx(0.2, abs=3 * errors(fit)[0])
    assert 0.01 < errors(fit)[0] < 0.06


def law_of(*matrices, order):
    return AlwaysNo(tuple(ItemMatrices(np.array(each)) for each in matrices), order)


def test_all_interactions_leave_those_who_always_say_no_undetermined():
    matrix = [forced(1 / 6, 1 / 6)]
    for matrices, order, determined in (
        ([matrix] * 3, 2, True),
        ([matrix] * 3, 3, False),
        ([matrix] * 2, 1, True),
        ([matrix] * 2, 2, False),
        ([matrix], 1, False),
    ):
        model = law_of(*matrices, order=order)
        slopes = model.law(model.start)[1].reshape(len(model.start), -1)
        full = np.linalg.matrix_rank(slopes, tol=1e-9) == len(slopes)
        assert full == determined, (len(matrices), order)


@pytest.mark.parametrize("model", [models.lies, models.cheaters])
def test_one_group_is_not_enough(model):
    zeros, group = np.tile([0, 1], 50), np.repeat([0, 1], 50)
    model(item(zeros, group, forced(P1, 0), forced(P2, 0))).fit()
    for given in (item(zeros, 0 * group, forced(P1, 0)), item(zeros, group, *[forced(P1, 0)] * 2)):
        with pytest.raises(incrowd.UsageError, match="do not determine"):
            model(given).fit()


def test_an_anchor_that_looks_like_guessing_is_not_enough():
    reported, zeros = np.tile([0, 1], 50), np.zeros(100, int)
    even, uneven = (item(reported, zeros, warner(p)) for p in (0.5, 0.25))
    assert models.anchored(uneven, uneven, 0).fit().values[1] < 0.5
    with pytest.raises(incrowd.UsageError, match="do not determine"):
        models.anchored(uneven, even, 0).fit()


def test_the_extended_crosswise_test_of_fit():
    """Heck, Hoffmann, and Moshagen (2018): G squared with one degree of freedom."""
    p, sizes = 0.25, (400, 600)
    good = item(*counted((0.35, 0.65), sizes), warner(1 - p), warner(p))
    test = models.everyone_follows(good).fit().test
    assert (test.degrees, test.statistic) == (1, pytest.approx(0, abs=1e-9))
    bad = item(*counted((0.35, 0.55), sizes), warner(1 - p), warner(p))
    test = models.everyone_follows(bad).fit().test

    def loss(share, counts=((260, 140), (270, 330))):
        expected = [warner(each) @ [1 - share, share] for each in (1 - p, p)]
        return sum(
            2 * k * math.log(k / n / q)
            for row, law, n in zip(counts, expected, sizes, strict=True)
            for k, q in zip(row, law, strict=True)
        )

    best = optimize.minimize_scalar(loss, bounds=(0, 1), method="bounded")
    assert test.statistic == pytest.approx(best.fun, rel=1e-5)
    assert test.p_value < 0.01


def test_weights_and_clusters_change_the_errors_and_the_test():
    rng = np.random.default_rng(45)
    group = np.repeat([0, 1], 500)
    reported = rng.integers(0, 2, 1000)
    given = item(reported, group, warner(P1), warner(P2))
    plain = models.lies(given).fit()
    equal = models.lies(given, np.full(1000, 3.0)).fit()
    assert equal.covariance == pytest.approx(plain.covariance)
    twice = item(np.tile(reported, 2), np.tile(group, 2), warner(P1), warner(P2))
    clustered = models.lies(twice, None, np.tile(np.arange(1000), 2)).fit()
    assert errors(clustered) == pytest.approx(errors(plain), rel=2e-3)
    assert errors(models.lies(twice).fit()) == pytest.approx(errors(plain) / 2**0.5, rel=2e-3)
    mirrored = item(reported, group, warner(0.75), warner(0.25))
    ordinary = models.everyone_follows(mirrored).fit().test
    weighted = models.everyone_follows(mirrored, np.full(1000, 3.0)).fit().test
    assert (ordinary.kind, weighted.kind) == ("likelihood ratio", "Wald")
    assert weighted.statistic == pytest.approx(ordinary.statistic, rel=0.05)


def test_people_who_are_asked_directly_are_left_out():
    reported, group = counted((0.9, 0.67, 0.62), (100, 500, 800))
    given = item(reported, group, np.eye(2), warner(P1), warner(P2))
    fit = models.lies(given).fit()
    assert fit.used.tolist() == [False] * 100 + [True] * 1300
    assert fit.values[0] == pytest.approx(1 - 0.05 / (P2 - P1), abs=1e-7)
    assert models.cheaters(given).fit().used.sum() == 1300


def test_derivatives_of_laws_agree_with_differences():
    two = [warner(P1), warner(P2)]
    model = law_of(two, two, two, order=2)
    for law in (model.law, model.shares):
        slopes = law(model.start)[1]
        steps = np.eye(len(model.start)) * 1e-6
        numeric = [
            (law(model.start + step)[0] - law(model.start - step)[0]) / 2e-6 for step in steps
        ]
        expected = np.array(numeric) if slopes.ndim == 3 else np.array(numeric).T
        assert slopes == pytest.approx(expected, abs=1e-8)


def test_published_numbers_of_the_lie_detector():
    """R's RRreg on the survey of Heck and Moshagen (2018)."""
    data = shared_columns("minarets_rr.csv")
    groups = data["condition"].astype(int)
    given = item(data["answer"].astype(int), groups, np.eye(2), warner(2 / 12), warner(10 / 12))
    fit = models.lies(given).fit()
    assert fit.values.round(6).tolist() == [0.870695, 0.635806]
    assert errors(fit).round(6).tolist() == [0.041118, 0.017344]
