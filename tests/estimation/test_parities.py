"""Tables from parities and single bits, against dense least squares and closed forms."""

import itertools
import math

import numpy as np
import pytest

from incrowd.errors import TableError
from incrowd.estimation.cells import (
    CellCounts,
    CellsReading,
    FalseReports,
    expected_cells,
    planned_noise,
)
from incrowd.estimation.interactions import CellSource, combined, single_bit
from incrowd.plans import CellsMessage
from tests.oracles.parities import messages_of, survey_of

CELLS = list(itertools.product((0, 1), repeat=2))


def least_squares(shares, errors):
    """The four cells of a table of two questions from the shares of bits, by weighted least squares
    with the sum known, and the covariance of their noise. Rows: what share of each cell sets the
    bit. errors: standard deviations of the bits."""
    rows = np.array([[float(bit(a, b)) for a, b in CELLS] for bit, _ in shares])
    wanted = np.array([share for _, share in shares])
    free = np.vstack([np.eye(3), -np.ones(3)])  # the last cell is what is left of everybody
    weighted = rows @ free / np.array(errors)[:, None]
    solve = free @ np.linalg.pinv(weighted) / np.array(errors)
    last = rows[:, 3]
    return solve @ (wanted - last) + np.array([0, 0, 0, 1.0]), solve


def sources(shares, variances):
    names = [("a",), ("b",), ("a", "b")]
    return [
        single_bit(ids, share, variance, 1 / variance, 0.01)
        for ids, share, variance in zip(names, shares, variances, strict=True)
    ]


BITS = (lambda a, b: a, lambda a, b: b, lambda a, b: a != b)
SHARES, VARIANCES = (0.31, 0.45, 0.4), (0.02, 0.03, 0.07)


def test_a_table_of_three_bits_is_that_of_least_squares():
    found = combined(sources(SHARES, VARIANCES), ("a", "b"))
    errors = np.sqrt(VARIANCES)
    cells, solve = least_squares(list(zip(BITS, SHARES, strict=True)), errors)
    assert found.shares.ravel() == pytest.approx(cells)
    covariance = solve @ np.diag(VARIANCES) @ solve.T
    assert found.covariance([np.eye(2)] * 2) == pytest.approx(covariance)
    assert found.shares[1, 1] == pytest.approx((0.31 + 0.45 - 0.4) / 2)
    assert found.noise_variance == pytest.approx(sum(VARIANCES) / 4)
    for bit, shift in enumerate(found.shifts):
        assert shift == pytest.approx(0.01 * np.abs(solve[:, bit]).max())


def test_a_crossed_table_and_parities_are_combined():
    """With the four cells of the same questions, whose noise is independent."""
    crossed = CellSource(
        ("b", "a"), (True, True), np.array([[0.3, 0.2], [0.15, 0.35]]), 0.05, 1 / 0.05, 0.02
    )
    found = combined([*sources(SHARES, VARIANCES), crossed], ("a", "b"))
    cells = [
        (lambda a, b, c=cell: (b, a) == c, share)
        for cell, share in zip(CELLS, (0.3, 0.2, 0.15, 0.35), strict=True)
    ]
    errors = np.sqrt([*VARIANCES, *[0.05] * 4])
    expected, solve = least_squares([*zip(BITS, SHARES, strict=True), *cells], errors)
    assert found.shares.ravel() == pytest.approx(expected)
    assert found.noise_variance == pytest.approx((solve**2 @ errors**2).max())


def test_a_question_with_several_answers_takes_nothing_from_parities_of_others():
    options = CellSource(("m", "a"), (False, True), np.full((3, 2), 0.2), 0.01, 100.0)
    alone = combined([options], ("m", "a"))
    with_bits = combined([options, *sources(SHARES, VARIANCES)], ("m", "a"))
    assert with_bits.shares == pytest.approx(alone.shares)
    assert with_bits.shifts == (*alone.shifts, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ([("a", "b")], ("a", "b")),  # neither question by itself
        ([("a", "b"), ("a",)], ("a", "b")),
        ([("a", "b"), ("a",)], ("b",)),
        ([("a",), ("b",)], ("a", "b")),
        ([(id,) for id in "abc"] + list(itertools.combinations("abc", 2)), ("a", "b", "c")),
    ],
)
def test_a_table_of_which_something_is_told_nowhere_is_refused(held, wanted):
    """Three questions in pairs do not tell how often all three answers come together."""
    told = [single_bit(ids, 0.5, 1.0, 1.0) for ids in held]
    with pytest.raises(TableError, match="no message has all of these"):
        combined(told, wanted)
    whole = single_bit(wanted, 0.5, 1.0, 1.0)
    below = [
        single_bit(each, 0.5, 1.0, 1.0)
        for n in range(1, len(wanted))
        for each in itertools.combinations(wanted, n)
    ]
    assert combined([whole, *below], wanted).shares == pytest.approx(1 / 2 ** len(wanted))


@pytest.mark.parametrize("count", [3, 5])
def test_the_noise_of_all_pairs_is_that_of_the_closed_form(count):
    """n11 = (m_a + m_b - X) / 2, whatever the other pairs say: they tell other effects."""
    survey = survey_of(count)
    messages = messages_of(survey, 2**30, 2**27)
    pair, single = (1 / message.noise.excess for message in messages[:2])
    for questions in itertools.combinations(survey.questions, 2):
        expected = np.full((2, 2), (2 * single + pair) / 4)
        assert planned_noise(messages, questions, 1000) == pytest.approx(expected)
    assert planned_noise(messages, survey.questions[:1], 1000) == pytest.approx(np.full(2, single))


def test_expected_counts_are_those_of_people_one_by_one():
    survey, shares = survey_of(3), {"q0": 0.2, "q1": 0.5, "q2": 0.9}
    message = messages_of(survey, 2**30, 2**27)[0]
    found = expected_cells(message, 1000, lambda q: [1 - shares[q.id], shares[q.id]])
    q = message.noise.q
    expected = np.zeros(3)
    for answers in itertools.product((0, 1), repeat=3):
        chance = math.prod(s if a else 1 - s for s, a in zip(shares.values(), answers, strict=True))
        unlike = [a != b for a, b in itertools.combinations(answers, 2)]
        expected += 1000 * chance * np.where(unlike, 1 - q, q)
    assert found.reports == pytest.approx(expected)


def test_shares_of_pairs_are_found_again_from_expected_counts():
    survey, shares = survey_of(4), [0.2, 0.5, 0.9, 0.4]
    answers = {q.id: [1 - share, share] for q, share in zip(survey.questions, shares, strict=True)}
    parts = [
        expected_cells(message, 1000, lambda q: answers[q.id])
        for message in messages_of(survey, 2**30, 2**27)
    ]
    reading = CellsReading(tuple(parts), 1.0)
    for ids in itertools.combinations(answers, 2):
        assert reading.combined(ids).shares == pytest.approx(np.outer(*(answers[id] for id in ids)))


def test_a_sender_shifts_a_pair_most_by_reports_of_its_parity():
    """Of three, each report moves n11 by half of what a bit is worth."""
    survey = survey_of(3)
    messages = messages_of(survey, 2**30, 2**27)
    parts = [CellCounts(message, 50, np.zeros(message.record_bits)) for message in messages]
    reading = CellsReading(tuple(parts), 1.0)
    worth = {message.parities: 1 / (1 - 2 * message.noise.q) / 50 / 2 for message in messages}
    table = reading.combined(("q0", "q2"))
    anywhere = FalseReports(lambda _: 7, shared=True)
    assert reading.largest_shift(table, anywhere) == pytest.approx(7 * worth[True])
    bits = FalseReports(lambda message: 7 * (not message.parities), shared=True)
    assert reading.largest_shift(table, bits) == pytest.approx(7 * worth[False])
    assert isinstance(messages[0], CellsMessage) and worth[True] > worth[False]
