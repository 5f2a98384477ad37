"""Shares, differences and odds ratios: coverage, and errors against numerical gradients."""

from functools import cache

import numpy as np
import pytest

from incrowd.errors import TableError
from incrowd.estimation.association import independence_test
from incrowd.estimation.compare import conditional_share, difference, odds_ratio
from incrowd.estimation.decoders import decoder
from incrowd.estimation.delta_method import pick
from incrowd.estimation.tables import estimate_table
from incrowd.reports.moments import pair_moments
from tests.conftest import one_in, pack, slowly
from tests.estimation.conftest import (
    MIXED,
    TWO_WAY,
    Z,
    drawn_histograms,
    joint_estimates,
    nominal,
    numeric_gradient,
    records,
)

AXES = (slice(0, 1), slice(1, 4), slice(4, 7))

# --- comparisons -----------------------------------------------------------------------------


OF, FEMALE, MALE = ("smokes", "yes"), ("sex", "f"), ("sex", "m")
TRUTH = {
    conditional_share: 0.12 / 0.42,
    difference: 0.12 / 0.42 - 0.18 / 0.40,
    odds_ratio: (0.12 / 0.30) / (0.18 / 0.22),
}


@cache
def two_way(people, copies):
    return joint_estimates(
        TWO_WAY[0], drawn_histograms(*TWO_WAY, people, copies, 13 + copies), copies, margin=True
    )


def compared(figure, joint):
    return (
        figure(joint, OF, FEMALE)
        if figure is conditional_share
        else figure(joint, OF, FEMALE, MALE)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("people", "copies"), [(8000, 1), *slowly((3000, 4))])
@pytest.mark.parametrize("figure", [difference, odds_ratio, *slowly(conditional_share)])
def test_comparisons_cover_and_wrong_ones_do_not(figure, people, copies):
    found = [compared(figure, joint) for joint in two_way(people, copies)[:1500]]
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


@pytest.mark.parametrize("figure", one_in(3, TRUTH))
def test_delta_method_against_numerical_gradients(figure):
    """With errors so small that the bias of products is nothing (a millionth in variance)."""
    joint = two_way(8000, 1)[0]
    joint = joint.of_people(joint.people * 1e6).with_errors(
        covariance=joint.error.covariance * 1e-6,
        noise_covariance=joint.error.noise_covariance * 1e-6,
        person=joint.error.person * 1e-6,
    )
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
    decoders = [decoder(q, np.eye(2)).with_margin() for q in MIXED]
    rows = np.repeat([r for r, _ in crowd], np.round(weights * 1e6).astype(int), axis=0)
    counts = pair_moments(pack(rows), AXES)
    joint = estimate_table([q.id for q in MIXED], decoders, counts, covariance=True)
    found = odds_ratio(joint, ("uses", "u"), FEMALE, MALE)
    (a, b), (group_a, group_b) = cells[-1, :2, 0], cells[-1, :2, -1]
    assert found.estimate == pytest.approx((a / (group_a - a)) / (b / (group_b - b)), rel=1e-3)
    assert np.allclose(joint.estimate, cells, atol=1e-4)


@pytest.mark.slow
def test_what_rests_on_an_empty_group_is_left_open():
    """The third group is empty: at least 80 of 100 surveys exclude no share in it (90% at least; by
    chance fewer in 1 of 500), and their difference from a known share can be anything else."""
    shares = np.array([[0.4, 0.3, 0.0], [0.2, 0.1, 0.0]])
    counts = drawn_histograms(TWO_WAY[0], shares, 3000, 1, 15, trials=100)
    found = joint_estimates(TWO_WAY[0], counts, margin=True)
    share = [conditional_share(joint, OF, ("sex", "x")) for joint in found]
    gaps = [difference(joint, OF, FEMALE, ("sex", "x")) for joint in found]
    odds = [odds_ratio(joint, OF, FEMALE, ("sex", "x")) for joint in found]
    for figures in (share, odds):
        assert sum(f.unbounded == "everywhere" for f in figures) >= 80
        assert all("sex = x" in f.reason for f in figures if f.unbounded == "everywhere")
        assert all(np.isnan(f.estimate) != f.estimable for f in figures)
    assert all(-1 <= gap.low < gap.high <= 1 for gap in gaps)
    open_ended = [gap for gap, s in zip(gaps, share, strict=True) if s.unbounded == "everywhere"]
    assert min(gap.high - gap.low for gap in open_ended) > 1
    assert all(conditional_share(joint, OF, FEMALE).unbounded == "no" for joint in found)


def test_answers_and_margins_that_are_not_there_are_errors():
    joint = two_way(8000, 1)[0]
    with pytest.raises(TableError, match="not one of the answers to sex; use f, m, x"):
        difference(joint, OF, FEMALE, ("sex", "n"))
    with pytest.raises(TableError, match="not in this table"):
        conditional_share(joint, ("drinks", "yes"), FEMALE)
    bare = joint_estimates(TWO_WAY[0], drawn_histograms(*TWO_WAY, 3000, 1, 16, 1))[0]
    with pytest.raises(TableError, match="margin=True"):
        conditional_share(bare, OF, FEMALE)
    with pytest.raises(TableError, match="margin=True"):
        independence_test(bare)
