"""Two shares compared, of one table and of two that no message holds together."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import incrowd
from incrowd.estimation.compare_shares import (
    ShareLaw,
    estimated_shares,
    least_covariance,
    shares_compared,
)
from incrowd.estimation.readings import table
from tests.oracles.cell_collections import CellCollections, noise_of

SMOKES = {"id": "smokes", "type": "yesno"}
ILL = {"id": "ill", "type": "yesno"}
SEX = {"id": "sex", "type": "choice", "options": ["f", "m", "x"]}
TABLES = (("smokes", "ill"), ("smokes", "sex"), ("smokes",))
LAW = np.array([[[0.2, 0.1, 0.05], [0.1, 0.1, 0.05]], [[0.05, 0.1, 0.05], [0.1, 0.05, 0.05]]])
APART = CellCollections((SMOKES, ILL, SEX), TABLES, (0.1, 0.2, 0.05), LAW)
FIRST, SECOND = {"smokes": "yes", "ill": "yes"}, {"sex": "m", "smokes": "no"}
PEOPLE = 1000


def compared(made, counted, first, second, noise_only=False, positive=False, answered=True):
    shares = estimated_shares(made.plan, counted, first, second, answered)
    return shares_compared(made.plan, counted, shares, noise_only, positive)


def test_the_noise_of_two_tables_is_that_of_the_bits():
    """The difference is affine in the counts, each with the variance N q (1 - q): its slopes by
    differences. Wrong: without what the noise of both has in common."""
    (counted,) = APART.tallies(PEOPLE, 1, seed=1)
    found = compared(APART, counted, FIRST, SECOND, noise_only=True)
    total = 0.0
    for number, message in enumerate(APART.plan.messages):
        for cell in range(message.record_bits):
            tables = counted.messages[number].tables
            more = {ids: counts + np.eye(len(counts), dtype=int)[1 + cell] * 100
                    for ids, counts in tables.items()}  # fmt: skip
            moved = counted.messages | {number: replace(counted.messages[number], tables=more)}
            other = compared(APART, replace(counted, messages=moved), FIRST, SECOND, True)
            q = message.noise.q
            total += ((other.estimate - found.estimate) / 100) ** 2 * PEOPLE * q * (1 - q)
    assert found.standard_error == pytest.approx(np.sqrt(total))
    alone = [_noise(APART, counted, each) for each in (FIRST, SECOND)]
    assert abs(found.standard_error**2 / sum(alone) - 1) > 0.01
    assert "not known how many people are in both" in compared(APART, counted, FIRST, SECOND).reason


def test_shares_of_one_table_are_compared_by_its_covariance():
    (counted,) = APART.tallies(PEOPLE, 1, seed=2)
    found = compared(APART, counted, {"smokes": "yes"}, {"sex": "m", "smokes": "no"})
    ids = ("smokes", "sex")
    joint = table(APART.plan, counted, ids, covariance=True)
    rows = np.array([[0, -1, 0], [1, 1, 1]]).ravel()
    assert found.estimate == pytest.approx(rows @ joint.estimate.ravel())
    assert found.standard_error**2 == pytest.approx(rows @ joint.error.covariance @ rows)
    assert found.reason == ""


def _noise(made, counted, answers):
    """The noise variance of one share."""
    ids = tuple(answers)
    share = table(made.plan, counted, ids, noise_only=True, covariance=True)
    place = tuple(made.plan.survey.question(id).answers.index(answers[id]) for id in ids)
    return share.standard_error[place] ** 2


def alone(both):
    """Two yes/no questions, each in a message of its own, to which half of the people say yes."""
    q = noise_of(10, PEOPLE)
    law = np.array([[both, 0.5 - both], [0.5 - both, both]])
    return CellCollections((SMOKES, ILL), (("smokes",), ("ill",)), (q, q), law)


def coverage(both, positive, trials, seed):
    made = alone(both)
    found = [
        compared(made, counted, {"smokes": "yes"}, {"ill": "yes"}, positive=positive)
        for counted in made.tallies(PEOPLE, trials, seed)
    ]
    return np.mean([each.low <= 0 <= each.high for each in found])


@pytest.mark.parametrize("positive", [False, True])
def test_the_error_of_two_messages_is_the_largest_there_can_be(positive):
    """By Var(x - y) = a + b - 2 c - (a - b)^2 of two yes or no, c the share of both."""
    made = alone(0.25)
    (counted,) = made.tallies(PEOPLE, 1, seed=3)
    found = compared(made, counted, {"smokes": "yes"}, {"ill": "yes"}, positive=positive)
    reports = [counted.messages[number].tables[ids][1] for number, ids in enumerate(made.tables)]
    q = made.plan.messages[0].noise.q
    a, b = (np.array(reports) / PEOPLE - q) / (1 - 2 * q)
    noise = 2 * q * (1 - q) / (1 - 2 * q) ** 2
    both = a * b if positive else max(0, a + b - 1)
    variance = noise + a + b - 2 * both - (a - b) ** 2
    assert found.standard_error**2 == pytest.approx(variance / PEOPLE)


@pytest.mark.slow
def test_intervals_cover_however_answers_go_together():
    """4,000 collections: a right interval falls outside [.935, .965] with probability 2e-5. What is
    said of shares that exclude each other is exact; where they go together it is more than enough.
    Wrong: to state that they go together where they do not."""
    assert 0.935 < coverage(0.0, False, 4000, 1) < 0.965
    assert 0.935 < coverage(0.25, True, 4000, 2) < 0.965
    assert coverage(0.25, False, 4000, 3) > 0.965
    assert coverage(0.0, True, 4000, 4) < 0.935


# --- of those who answered -----------------------------------------------------------------------

OPTIONAL = tuple(question | {"optional": True} for question in (SMOKES, ILL))
YES = {"smokes": "yes"}, {"ill": "yes"}
GAVE = np.array([0.95, 0.6])  # of the people, an answer to each question
SHARE = 0.3  # of those say yes, to either question
ONE = np.array([[(1 - SHARE) * gave, SHARE * gave, 1 - gave] for gave in GAVE])


def apart(people=PEOPLE):
    """Each question in a message of its own; answers to one tell nothing about the other."""
    q = noise_of(10, people)
    return CellCollections(OPTIONAL, (("smokes",), ("ill",)), (q, q), np.outer(*ONE))


def test_shares_of_those_who_answered_are_those_of_the_people_who_did():
    """From answers with almost no noise, in one table and in two; errors from what each person
    adds. Wrong: shares of all people."""
    random, number = np.random.default_rng(6), 4000
    codes = dict(
        zip(("smokes", "ill"), (random.choice(3, number, p=law) for law in ONE), strict=True)
    )
    words = np.array(["no", "yes", None], dtype=object)
    people = pa.table({id: words[code].tolist() for id, code in codes.items()})
    privacy = {"epsilon": 60.0, "analysis": "local"}
    raw = {"name": "s", "crowd": number, "privacy": privacy, "question": list(OPTIONAL)}
    adds, shares = [], []
    for code in codes.values():
        shares.append(np.mean(code[code < 2] == 1))
        adds.append(((code == 1) - shares[-1] * (code < 2)) / np.mean(code < 2))
    unrelated = np.sqrt((np.var(adds[0]) + np.var(adds[1])) / number)
    errors = {False: unrelated, True: np.std(adds[0] - adds[1]) / np.sqrt(number)}
    for together, error in errors.items():
        tables = [["smokes", "ill"]] if together else [["smokes"], ["ill"]]
        messages = [{"questions": ids, "cells": True} for ids in tables]
        plan = incrowd.plan(incrowd.Survey.of(raw | {"message": messages}))
        reports = incrowd.randomize(plan, people, simulation_seed=5)
        result = incrowd.compare_shares(plan, reports, *YES, positive=not together)
        answered = [np.mean(code < 2) for code in codes.values()]
        assert result.answered == pytest.approx(answered, abs=2e-3)
        assert result.figure.estimate == pytest.approx(shares[0] - shares[1], abs=2e-3)
        assert result.figure.standard_error == pytest.approx(error, rel=0.02)
        assert result.view().lines[1].endswith("of the people")
        wrong = incrowd.compare_shares(plan, reports, *YES, of_those_who_answered=False)
        assert wrong.answered is None and len(wrong.view().lines) == 1
        assert wrong.figure.low > 0.05


def test_the_share_of_no_answer_is_of_all_people():
    (counted,) = apart().tallies(PEOPLE, 1, seed=4)
    missing = {"smokes": "no answer"}
    one, other = estimated_shares(apart().plan, counted, missing, YES[1], True)
    assert one.answered == 1 and other.answered == pytest.approx(GAVE[1], abs=0.2)


def test_the_least_covariance_is_that_of_a_linear_program():
    """Over all joint laws with these margins. Wrong: independence."""
    random = np.random.default_rng(7)
    for _ in range(20):
        first, second = (
            ShareLaw(random.normal(size=3), random.dirichlet(np.ones(3))) for _ in range(2)
        )
        margins = np.vstack([np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))])
        products = np.outer(first.values, second.values)
        best = linprog(
            products.ravel(), A_eq=margins, b_eq=[*first.chances, *second.chances], bounds=(0, 1)
        )
        assert least_covariance(first, second) == pytest.approx(best.fun, abs=1e-9)
        assert first.chances @ products @ second.chances > best.fun


@pytest.mark.slow
def test_the_noise_of_shares_of_those_who_answered_is_that_of_the_bits():
    """As above, but the difference is only smooth in the counts: slopes by small differences."""
    third = dict(SEX, optional=True)
    law = np.multiply.outer(np.outer(*ONE), [0.4, 0.3, 0.2, 0.1])
    made = CellCollections((*OPTIONAL, third), TABLES, (0.1, 0.2, 0.05), law)
    first, second = {"smokes": "yes", "ill": "yes"}, {"sex": "m", "smokes": "no"}
    (counted,) = made.tallies(PEOPLE, 1, seed=1)
    found = compared(made, counted, first, second, noise_only=True)
    total = 0.0
    for number, message in enumerate(made.plan.messages):
        for cell in range(message.record_bits):
            tables, ends = counted.messages[number].tables, []
            for step in (-1, 1):
                more = {ids: counts + np.eye(len(counts))[1 + cell] * step
                        for ids, counts in tables.items()}  # fmt: skip
                moved = counted.messages | {number: replace(counted.messages[number], tables=more)}
                ends.append(compared(made, replace(counted, messages=moved), first, second, True))
            q = message.noise.q
            slope = (ends[1].estimate - ends[0].estimate) / 2
            total += slope**2 * PEOPLE * q * (1 - q)
    assert found.standard_error == pytest.approx(np.sqrt(total), rel=1e-3)


@pytest.mark.slow
def test_intervals_cover_the_difference_among_those_who_answered():
    """2,000 collections of 4,000 people: a right interval falls outside .95 +- 4 x .005 with
    probability 6e-5. Answers to the two questions are independent, as `positive` states. Wrong:
    shares of all people."""
    made, people = apart(4000), 4000
    held = {True: [], False: []}
    for counted in made.tallies(people, 2000, 9):
        for answered in held:
            found = compared(made, counted, *YES, positive=True, answered=answered)
            held[answered].append(found.low <= 0 <= found.high)
    assert abs(np.mean(held[True]) - 0.95) < 0.02
    assert np.mean(held[False]) < 0.1


def test_the_whole_path_tells_two_shares_apart():
    """From answers; a table of both gives the smaller error, as these two go together."""
    privacy = {"epsilon": 30.0, "analysis": "local"}
    raw = {"name": "s", "crowd": 500, "privacy": privacy, "question": [SMOKES, ILL]}
    people = {"smokes": np.arange(500) % 5 < 2, "ill": np.arange(500) % 5 < 1}
    found = []
    for tables in ([["smokes"], ["ill"]], [["smokes", "ill"]]):
        messages = [{"questions": ids, "cells": True} for ids in tables]
        wanted = [{"questions": ids} for ids in tables if len(ids) > 1]
        plan = incrowd.plan(incrowd.Survey.of(raw | {"message": messages, "table": wanted}))
        reports = incrowd.randomize(plan, pa.table(people), simulation_seed=5)
        found.append(
            incrowd.compare_shares(plan, reports, {"smokes": "yes"}, {"ill": "yes"}).figure
        )
    assert all(each.low <= 0.2 <= each.high for each in found)
    assert found[1].standard_error < 0.8 * found[0].standard_error
