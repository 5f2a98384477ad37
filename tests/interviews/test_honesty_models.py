"""People who do not follow the rules: the models on arrays, against closed forms by hand."""

import math

import numpy as np
import pytest
from scipy import optimize

from incrowd.interviews import honesty_models as models
from incrowd.interviews.items import ItemMatrices, ReportedItem
from incrowd.interviews.rule_breakers import shares_law, with_class, with_lies
from tests.oracles.interview_rules import forced, reports, shared_columns, warner

P1, P2 = 1 / 6, 5 / 6


def item(reported, group, *matrices):
    return ReportedItem(np.asarray(reported), np.asarray(group), ItemMatrices(np.array(matrices)))


def counted(shares, sizes):
    """Exactly these shares of "yes" in groups of these sizes."""
    yes = [round(share * size) for share, size in zip(shares, sizes, strict=True)]
    reported = np.concatenate([np.arange(n) < k for n, k in zip(sizes, yes, strict=True)])
    return reported.astype(int), np.repeat(np.arange(len(sizes)), sizes)


def fitted(model, given, **options):
    matrices, rows, _ = models.randomized_rows(given, **options)
    return model(matrices).fit(rows)


def errors(fit):
    return np.sqrt(np.diag(fit.covariance))


def test_the_lie_detector_has_its_closed_form():
    """Moshagen, Musch, and Erdfelder (2012): two equations, two unknowns."""
    given = item(*counted((0.67, 0.62), (500, 800)), warner(P1), warner(P2))
    fit = fitted(models.lies, given)
    # lambda_g = pi t + (1 - pi) (1 - p_g)
    pi = 1 - (0.67 - 0.62) / (P2 - P1)
    honesty = (0.67 - (1 - pi) * (1 - P1)) / pi
    assert fit.names == ("carriers", "honesty")
    assert fit.values == pytest.approx([pi, honesty], abs=1e-9)
    assert fit.fit.at_bound.tolist() == [False, False]
    variance = 0.67 * 0.33 / 499 + 0.62 * 0.38 / 799
    assert errors(fit)[0] == pytest.approx(math.sqrt(variance) / (P2 - P1), rel=1e-6)


def test_a_share_that_cannot_exceed_all_is_at_its_bound():
    given = item(*counted((0.62, 0.67), (500, 800)), warner(P1), warner(P2))
    fit = fitted(models.lies, given)
    # The equations give 1.075 carriers. If all people are carriers, their honesty is the share of
    # "yes" in both groups.
    assert fit.values == pytest.approx([1, (310 + 536) / 1300], abs=1e-7)
    assert fit.fit.at_bound.tolist() == [True, False]


def test_cheater_detection_has_its_closed_form():
    """Clark and Desharnais (1998)."""
    y1, y2, s1, s2 = 0.25, 0.75, 0.33, 0.55
    given = item(*counted((s1, s2), (600, 400)), forced(y1, 0), forced(y2, 0))
    fit = fitted(models.cheaters, given)
    honest_no = (s2 - s1) / (y2 - y1)
    honest_yes = s1 - y1 * honest_no
    cheating = 1 - honest_yes - honest_no
    assert fit.values == pytest.approx([honest_yes, honest_no, cheating], abs=1e-9)
    first, second = s1 * (1 - s1) / 599, s2 * (1 - s2) / 399
    expected = [
        math.sqrt(y2**2 * first + y1**2 * second) / (y2 - y1),
        math.sqrt(first + second) / (y2 - y1),
        math.sqrt((1 - y2) ** 2 * first + (1 - y1) ** 2 * second) / (y2 - y1),
    ]
    assert errors(fit) == pytest.approx(expected, rel=1e-6)


def test_the_anchor_has_its_closed_form():
    """Atsusaka and Stevenson (2023), equations 2b and 3; errors of a ratio, by hand."""
    rng = np.random.default_rng(43)
    n, p, q, attentive = 4000, 0.15, 0.25, 0.8
    reads = rng.random(n) < attentive
    answers = (rng.random(n) < 0.1).astype(int)
    guess = rng.integers(0, 2, (2, n))
    # Report 1 is "different": P = p without the trait.
    of_item, of_anchor = np.array([[1 - p, p], [p, 1 - p]]), np.array([[1 - q, q], [q, 1 - q]])
    a = np.where(reads, reports(rng, answers, np.tile(of_item, (n, 1, 1))), guess[0])
    b = np.where(reads, reports(rng, 0 * answers, np.tile(of_anchor, (n, 1, 1))), guess[1])
    zeros = np.zeros(n, int)
    both = item(a, zeros, of_item), item(b, zeros, of_anchor)
    first, second, rows, _ = models.anchored_rows(*both)
    fit = models.inattentive(first, second, 0).fit(rows)
    # E b = gamma q + (1 - gamma) / 2; E a = gamma (p + (1 - 2 p) pi) + (1 - gamma) / 2
    gamma = (b.mean() - 0.5) / (q - 0.5)
    naive = (a.mean() - p) / (1 - 2 * p)
    share = ((a.mean() - 0.5) / gamma + 0.5 - p) / (1 - 2 * p)
    assert fit.values == pytest.approx([share, 1 - gamma], abs=1e-9)
    assert abs(naive - 0.1) > 0.05 > abs(share - 0.1)
    slopes = np.array(
        [
            [1 / gamma / (1 - 2 * p), -(a.mean() - 0.5) / gamma**2 / (q - 0.5) / (1 - 2 * p)],
            [0, -1 / (q - 0.5)],
        ]
    )
    expected = slopes @ (np.cov(a, b) / n) @ slopes.T
    assert fit.covariance == pytest.approx(expected, rel=1e-6)


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
    matrices, rows, used = models.pattern_rows(given)
    fit = models.always_no(matrices, 1).fit(rows)
    counts = np.zeros((2, 2))
    np.add.at(counts, (given[0].reported, given[1].reported), 1)
    best = optimize.minimize(
        always_no_loss,
        [0.1, 0.5, 0.5],
        (counts / n, matrix),
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-13},
    )
    assert used.all()
    assert fit.values == pytest.approx(best.x, abs=1e-5)
    assert fit.values[0] == pytest.approx(0.2, abs=3 * errors(fit)[0])
    assert 0.01 < errors(fit)[0] < 0.06


def test_three_items_with_all_pairs_are_exactly_determined():
    matrix = ItemMatrices(np.array([forced(1 / 6, 1 / 6)]))
    assert models.always_no([matrix] * 3, 2).identified
    assert not models.always_no([matrix] * 3, 3).identified
    assert not models.always_no([matrix], 1).identified


@pytest.mark.parametrize("model", [models.lies, models.cheaters])
def test_one_group_is_not_enough(model):
    one, two = np.array([forced(P1, 0)]), np.array([forced(P1, 0), forced(P2, 0)])
    assert not model(ItemMatrices(one)).identified
    assert model(ItemMatrices(two)).identified
    assert not model(ItemMatrices(np.repeat(one, 2, axis=0))).identified


def test_an_anchor_that_looks_like_guessing_is_not_enough():
    even, uneven = (ItemMatrices(np.array([warner(p)])) for p in (0.5, 0.25))
    assert models.inattentive(uneven, uneven, 0).identified
    assert not models.inattentive(uneven, even, 0).identified


def test_the_extended_crosswise_test_of_fit():
    """Heck, Hoffmann, and Moshagen (2018): G squared with one degree of freedom."""
    p, sizes = 0.25, (400, 600)
    good = item(*counted((0.35, 0.65), sizes), warner(1 - p), warner(p))
    fit = fitted(models.everyone_follows, good).fit
    assert (fit.degrees, fit.statistic) == (1, pytest.approx(0, abs=1e-9))
    bad = item(*counted((0.35, 0.55), sizes), warner(1 - p), warner(p))
    fit = fitted(models.everyone_follows, bad).fit

    def loss(share, counts=((260, 140), (270, 330))):
        expected = [warner(each) @ [1 - share, share] for each in (1 - p, p)]
        return sum(
            2 * k * math.log(k / n / q)
            for row, law, n in zip(counts, expected, sizes, strict=True)
            for k, q in zip(row, law, strict=True)
        )

    best = optimize.minimize_scalar(loss, bounds=(0, 1), method="bounded")
    assert fit.statistic == pytest.approx(best.fun, rel=1e-5)
    assert fit.p_value < 0.01


def test_weights_and_clusters_change_the_errors_and_the_test():
    rng = np.random.default_rng(45)
    group = np.repeat([0, 1], 500)
    reported = rng.integers(0, 2, 1000)
    given = item(reported, group, warner(P1), warner(P2))
    plain = fitted(models.lies, given)
    equal = fitted(models.lies, given, weights=np.full(1000, 3.0))
    assert equal.covariance == pytest.approx(plain.covariance)
    twice = item(np.tile(reported, 2), np.tile(group, 2), warner(P1), warner(P2))
    clustered = fitted(models.lies, twice, clusters=np.tile(np.arange(1000), 2))
    assert errors(clustered) == pytest.approx(errors(plain), rel=2e-3)
    assert errors(fitted(models.lies, twice)) == pytest.approx(errors(plain) / 2**0.5, rel=2e-3)
    mirrored = item(reported, group, warner(0.75), warner(0.25))
    ordinary = fitted(models.everyone_follows, mirrored).fit
    weighted = fitted(models.everyone_follows, mirrored, weights=np.full(1000, 3.0)).fit
    assert (ordinary.test, weighted.test) == ("likelihood ratio", "Wald")
    assert weighted.statistic == pytest.approx(ordinary.statistic, rel=0.05)


def test_derivatives_of_laws_agree_with_differences():
    two = ItemMatrices(np.array([warner(P1), warner(P2)]))
    three = models.always_no([two] * 3, 2)
    cases = [
        (shares_law(with_class(with_lies(two), np.array([1.0, 0.0]))), np.array([0.3, 0.2, 0.7])),
        (three.law, three.start),
        (three.shares, three.start),
        (models.cheaters(two).shares, np.array([0.3, 0.2])),
    ]
    for law, point in cases:
        slopes = law(point)[1]
        steps = np.eye(len(point)) * 1e-6
        numeric = [(law(point + step)[0] - law(point - step)[0]) / 2e-6 for step in steps]
        expected = np.array(numeric) if slopes.ndim == 3 else np.array(numeric).T
        assert slopes == pytest.approx(expected, abs=1e-8)


def test_published_numbers_of_the_lie_detector():
    """R's RRreg on the survey of Heck and Moshagen (2018)."""
    data = shared_columns("minarets_rr.csv")
    groups = data["condition"].astype(int)
    given = item(data["answer"].astype(int), groups, np.eye(2), warner(2 / 12), warner(10 / 12))
    fit = fitted(models.lies, given)
    assert fit.values.round(6).tolist() == [0.870695, 0.635806]
    assert errors(fit).round(6).tolist() == [0.041118, 0.017344]
