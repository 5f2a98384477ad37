"""Tests of independence and Cramér's V: level, power, and errors against numerical gradients."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

from incrowd.catalog.sentences import translated
from incrowd.estimation.association import Length, cramers_v, independence_test, standardized
from incrowd.estimation.decoders import inverse_matrix, question_decoder
from incrowd.estimation.tables import estimate_table
from incrowd.reports.moments import pair_moments
from tests.conftest import pack, slowly
from tests.estimation.conftest import (
    FLIP,
    SEX,
    SMOKES,
    TRIALS,
    TWO_WAY,
    USES,
    drawn_histograms,
    joint_estimates,
    kronecker,
    numeric_gradient,
)

AXES = (slice(0, 1), slice(1, 4), slice(4, 7))


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


@pytest.mark.slow
@pytest.mark.parametrize("copies", [4, *slowly(1)])
def test_independence_holds_its_level_and_the_naive_test_does_not(copies):
    counts = drawn_histograms(TWO_WAY[0], INDEPENDENT, 5000, copies, 17)
    found = joint_estimates(TWO_WAY[0], counts, copies, margin=True)
    tests = [independence_test(joint) for joint in found]
    assert {t.degrees_of_freedom for t in tests} == {2}
    assert abs(np.mean([t.p_value < 0.05 for t in tests]) - 0.05) < SLACK
    naive = np.mean([naive_chi_square(joint, 5000) < 0.05 for joint in found[:1000]])
    assert naive > 0.05 + 10 * SLACK
    if copies > 1:
        people = [
            independence_test(
                j.of_people(j.people * copies).with_errors(
                    covariance=j.error.covariance / copies,
                    noise_covariance=j.error.noise_covariance / copies,
                    person=j.error.person / copies,
                )
            )
            for j in found[:1000]
        ]
        assert np.mean([t.p_value < 0.05 for t in people]) > 0.05 + 10 * SLACK


@pytest.mark.slow
def test_independence_has_the_power_it_should():
    """Power of a chi-square with 2 degrees of freedom and the exact noncentrality."""
    people = 3000
    shares = INDEPENDENT + 0.025 * np.array([[1, -1, 0], [-1, 1, 0]])
    power = ncx2.sf(chi2.ppf(0.95, 2), 2, explicit_contrasts(shares, people))
    assert 0.5 < power < 0.95
    counts = drawn_histograms(TWO_WAY[0], shares, people, 1, 18, trials=2000)
    found = [independence_test(j) for j in joint_estimates(TWO_WAY[0], counts, margin=True)]
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
        decoders = [question_decoder(q, FLIP, True) for q in questions]
        counts = pair_moments(pack(bits), axes)
        joint = estimate_table([q.id for q in questions], decoders, counts, covariance=True)
        found = independence_test(joint)
        assert found.degrees_of_freedom == wanted and 0 <= found.p_value <= 1


STRONG = np.array([[0.40, 0.12, 0.08], [0.05, 0.25, 0.10]])


def margins(shares):
    return shares.sum(axis=1), shares.sum(axis=0)


def deviations(entries):
    """pi_ij - pi_i. pi_.j and pi_i. pi_.j of the 3 x 4 entries of a joint estimate with margins."""
    table = np.reshape(entries, (3, 4))
    expected = np.outer(table[:2, 3], table[2, :3])
    return table[:2, :3] - expected, expected


def test_association_against_numerical_gradients():
    """Oracle: the definitions, with numerical gradients in all 12 entries of the estimate. The test
    of independence has the sampling of a crowd with these margins in which they are independent."""
    joint = joint_estimates(
        TWO_WAY[0], drawn_histograms(TWO_WAY[0], STRONG, 8000, 1, 20, 1), margin=True
    )[0]
    joint = joint.with_errors(constant=True)  # few reports need no allowance
    entries, covariance = joint.estimate.ravel(), joint.error.covariance

    def contrast(v, j):
        found, _ = deviations(v)
        return found[0, j] - found[1, j] - found[0, 2] + found[1, 2]

    slope = np.array([numeric_gradient(lambda v, j=j: contrast(v, j), entries) for j in range(2)])
    values = np.array([contrast(entries, j) for j in range(2)])
    rows, columns = (joint.estimate[:2, 3], joint.estimate[2, :3])
    law = np.outer(rows / rows.sum(), columns / columns.sum()).ravel()
    person = np.array([np.kron([*r, 1], [*c, 1]) for r in np.eye(2) for c in np.eye(3)])
    independent = law @ person
    sampling = (person.T * law) @ person - np.outer(independent, independent)
    under = np.array(
        [numeric_gradient(lambda v, j=j: contrast(v, j), independent) for j in range(2)]
    )
    variance = slope @ joint.error.noise_covariance @ slope.T
    variance += under @ sampling @ under.T / joint.people
    statistic = values @ np.linalg.solve(variance, values)
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


@pytest.mark.slow
def test_the_correction_of_cramers_v_is_needed():
    """2,000 collections of 4,000 people: the mean of V^2 is within 4 of its standard errors of the
    truth; without the correction it is more than 5 away."""
    expected = np.outer(*margins(STRONG))
    truth = np.sqrt(np.sum((STRONG - expected) ** 2 / expected))
    counts = drawn_histograms(TWO_WAY[0], STRONG, 4000, 1, 20, trials=2000)
    all_joints = joint_estimates(TWO_WAY[0], counts, margin=True)
    squares = np.array([Length(*standardized(j)).estimate ** 2 for j in all_joints])
    naive = [np.sum(d**2 / e) for d, e in (deviations(j.estimate) for j in all_joints)]
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - truth**2) < 4 * error
    assert np.mean(naive) - truth**2 > 5 * error


RARE = np.array([[0.50, 0.25, 0.01], [0.08, 0.13, 0.03]])  # 4% say the last


def without_rare(joint):
    """The wrong variant: V of the two common answers alone, as if the third added nothing."""

    def common(v):
        found, expected = deviations(v)
        return (found / np.sqrt(expected))[:, :2].ravel()

    entries = joint.estimate.ravel()
    slope = np.array([numeric_gradient(lambda v, k=k: common(v)[k], entries) for k in range(4)])
    vector, own = common(entries), slope @ joint.error.covariance @ slope.T
    return np.sqrt(max(vector @ vector - np.trace(own), 0))


@pytest.mark.slow
def test_cramers_v_takes_rare_answers_in_and_covers():
    """300 collections of 5,000 people, in most of which the rare answer is under five errors. There
    is an estimate, near the truth (the mean within .03), and intervals that hold it and are shorter
    than 0 to 1. Without the rare answer, V is too small by more than that."""
    expected = np.outer(*margins(RARE))
    truth = np.sqrt(np.sum((RARE - expected) ** 2 / expected))
    joints = joint_estimates(
        TWO_WAY[0], drawn_histograms(TWO_WAY[0], RARE, 5000, 1, 31, trials=300), margin=True
    )
    found = [cramers_v(joint) for joint in joints]
    assert all(v.estimable for v in found)
    assert abs(np.mean([v.estimate for v in found]) - truth) < 0.03
    assert np.mean([without_rare(joint) for joint in joints[:100]]) < truth - 0.03
    holds = np.mean([v.low <= truth <= v.high for v in found])
    assert holds > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean([v.unbounded == "no" and v.low > 0 for v in found]) > 0.9


def test_rare_answers_of_both_questions_leave_a_lower_end():
    shares = np.array([[0.50, 0.49, 0.002], [0.002, 0.002, 0.004]])
    joint = joint_estimates(
        TWO_WAY[0], drawn_histograms(TWO_WAY[0], shares, 2000, 1, 32, trials=1), margin=True
    )[0]
    found = cramers_v(joint)
    assert not found.estimable and found.high == 1 and found.unbounded in ("above", "everywhere")
    assert "smokes = yes" in found.reason and "sex = x" in found.reason
    assert "zu selten" in translated(found.reason, "de")
