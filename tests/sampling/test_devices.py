"""Randomizers of the questions' own, from the survey to the estimate.

The matrices are written out by hand. Statistical checks are at 5 standard errors: with another seed
a right implementation fails one of 10 cells once in 170,000 times, and the seeds are fixed.
"""

import math

import numpy as np
import pyarrow as pa
import pytest

import incrowd
from incrowd.plans import fixed_channel
from tests.conftest import (
    ASKED,
    choice_toml,
    drinking,
    load_survey,
    one_in,
    survey_toml,
    yes_no_toml,
)
from tests.oracles.axes import k_ary


def flip(q):
    return np.array([[1 - q, q], [q, 1 - q]])


def bit(zero, one):
    """P(report | answer) of a bit that is 1 with these probabilities."""
    return np.array([[1 - zero, 1 - one], [zero, one]])


# What the survey says, and P(report | answer) of each bit worked out by hand.
E2 = math.exp(2)
DEVICES = {
    "bit flip": ('kind = "bit flip", noise = 0.2', flip(0.2)),
    "bit flip by epsilon": ('kind = "bit flip", epsilon = 2.0', flip(1 / (1 + E2))),
    "spinner": ('kind = "warner", spinner = 0.8', flip(0.2)),
    "spinner that mostly denies": ('kind = "warner", spinner = 0.3', flip(0.7)),
    "unrelated coin": ('kind = "simmons", unrelated = 0.4', flip(0.2)),
    "unrelated birthday": (
        'kind = "simmons", unrelated = 0.4, prevalence = 0.1',
        bit(0.04, 0.64),
    ),
    "one-time": ('kind = "rappor", f = 0.4', flip(0.2)),
    "two stages": (
        'kind = "rappor", f = 0.4, one_if_zero = 0.1, one_if_one = 0.7',
        bit(0.1, 0.7) @ flip(0.2),
    ),
    "two stages, symmetric": (
        'kind = "rappor", f = 0.4, one_if_zero = 0.1, one_if_one = 0.9',
        flip(0.1) @ flip(0.2),
    ),
    "one-time, memoized": ('kind = "rappor", f = 0.4, memoized = true', flip(0.2)),
    "two stages, memoized": (
        'kind = "rappor", f = 0.4, one_if_zero = 0.1, one_if_one = 0.7, memoized = true',
        bit(0.1, 0.7) @ flip(0.2),
    ),
    "asymmetric": ('kind = "bit", one_if_zero = 0.1, one_if_one = 0.7', bit(0.1, 0.7)),
}
every_device = pytest.mark.parametrize("name", DEVICES)


def collected(plan, table, seed=2):
    """Reports and their bits, shape (reports, bits)."""
    key = incrowd.DeviceKey(bytes(range(32))) if plan.memoized else None
    reports = incrowd.randomize(plan, table, simulation_seed=seed, id="id", device_key=key)
    bits = np.unpackbits(reports[0].packed, axis=1, count=reports[0].bits, bitorder="little")
    return reports, bits


def unlike(found, truth):
    """The largest distance from the truth, in standard errors."""
    return float(np.max(np.abs(found.estimate - truth) / found.standard_error))


# --- from the survey to the estimate ---------------------------------------------------------


@pytest.mark.parametrize("name", one_in(2, DEVICES))
def test_a_device_from_the_survey_to_the_estimate(name, tmp_path):
    """One-way tables are those of the explicit inverse, to the last digits; they and the two-way
    table lie near the truth. Wrong: as if a fifth of the bits were flipped once more."""
    said, matrix = DEVICES[name]
    table = "\n[[table]]\nquestions = ['smokes', 'drinks']"
    plan = incrowd.plan(
        load_survey(tmp_path, survey_toml(yes_no_toml(said), choice_toml(said) + table))
    )
    assert np.allclose(fixed_channel(plan.survey.question("smokes")).matrix, matrix, atol=1e-9)
    reports, bits = collected(plan, drinking())
    estimates, truths = incrowd.estimate(plan, reports), incrowd.truth(plan, drinking())
    for found, truth in zip(estimates.tables, truths, strict=True):
        assert unlike(found, truth) < 5
    rates = np.stack([1 - bits.mean(axis=0), bits.mean(axis=0)])
    by_hand = np.linalg.solve(matrix, rates)
    smokes, drinks, _ = estimates.tables
    assert np.allclose(smokes.estimate, by_hand[:, 0], atol=1e-8)
    assert np.allclose(drinks.estimate, by_hand[1, 1:], atol=1e-8)
    wrong = np.linalg.solve(flip(0.2) @ matrix, rates)
    assert np.abs(wrong[1, 0] - truths[0][1]) > 5 * smokes.standard_error[1]
    assert np.any(np.abs(wrong[1, 1:] - truths[1]) > 5 * drinks.standard_error)
    assert incrowd.verify(plan, reports).impossible == ()


@pytest.mark.parametrize("number", ["keep = 0.6", "epsilon = 2.0"])
def test_k_ary_response_from_the_survey_to_the_estimate(number, tmp_path):
    """The counts of options, the explicit inverse. Wrong: the same response, kept less often."""
    keep = 0.6 if "keep" in number else E2 / (E2 + 2)
    plan = incrowd.plan(
        load_survey(tmp_path, survey_toml(choice_toml(f'kind = "k-ary", {number}')))
    )
    table = drinking().select(["id", "drinks"])
    reports, bits = collected(plan, table)
    assert np.all(bits.sum(axis=1) == 1)
    (found,), (truth,) = incrowd.estimate(plan, reports).tables, incrowd.truth(plan, table)
    by_hand = np.linalg.solve(k_ary(keep, 3), bits.mean(axis=0))
    assert np.allclose(found.estimate, by_hand, atol=1e-8)
    assert unlike(found, truth) < 5
    wrong = np.linalg.solve(k_ary(keep - 0.2, 3), bits.mean(axis=0))
    assert np.any(np.abs(wrong - truth) > 5 * found.standard_error)
    second = bits.mean(axis=0) @ np.linalg.inv(k_ary(keep, 3)).T ** 2
    variance = (second - found.estimate) / ASKED + found.estimate * (1 - found.estimate) / ASKED
    assert np.allclose(found.standard_error, np.sqrt(variance), rtol=1e-7)


def test_questions_with_devices_of_different_kinds_in_one_table(tmp_path):
    """A three-way table, the planner's noise beside three devices; its covariance, comparisons
    and maximum likelihood know all of them."""
    text = survey_toml(
        yes_no_toml('kind = "bit", one_if_zero = 0.1, one_if_one = 0.8'),
        choice_toml('kind = "k-ary", keep = 0.8'),
        "id = 'old'\ntype = 'yesno'",
        yes_no_toml('kind = "rappor", f = 0.2, one_if_zero = 0.1, one_if_one = 0.8', "rich"),
        privacy="epsilon = 10.0\nanalysis = 'local'",
        rest="[[table]]\nquestions = ['smokes', 'drinks', 'old']",
    )
    plan = incrowd.plan(load_survey(tmp_path, text))
    people = drinking()
    others = {"old": people["smokes"], "rich": np.arange(ASKED) % 3 > 0}
    people = pa.table({name: people[name] for name in people.column_names} | others)
    reports, _ = collected(plan, people)
    estimates = incrowd.estimate(plan, reports, covariance=True)
    truths = incrowd.truth(plan, people)
    assert len(truths) == 5 and truths[-1].shape == (2, 3, 2)
    for found, truth in zip(estimates.tables, truths, strict=True):
        assert unlike(found, truth) < 5
        possible = (found.estimate >= 0) & (found.estimate <= 1)  # else no sampling error is added
        errors = np.sqrt(np.diagonal(found.error.covariance)).reshape(found.estimate.shape)
        both = errors[possible], found.standard_error[possible]
        assert np.allclose(*both, rtol=1e-9) and possible.sum() > 1
    compared = incrowd.compare(plan, reports, "smokes", "drinks")
    assert compared.independence.p_value < 1e-6
    (fitted,) = incrowd.postprocess(plan, reports, tables=[("smokes", "drinks")])
    assert np.abs(fitted.estimate - [[0.42, 0.21, 0.07], [0, 0, 0.3]]).max() < 0.05
    checked = incrowd.verify(plan, reports)
    assert checked.plan_holds and checked.impossible == ()
