"""Reports + Plan -> what people ask of a two-way table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incrowd.estimation.association import IndependenceTest, cramers_v, independence_test
from incrowd.estimation.comparisons import conditional_share, difference, odds_ratio
from incrowd.estimation.covariance import JointEstimate
from incrowd.estimation.quotients import Comparison
from incrowd.estimation.readings import joint
from incrowd.planner.sources import check_tables
from incrowd.plans import Guarantee, Plan
from incrowd.workflow.estimate import Reports, check_arrived, count, readings


@dataclass(frozen=True)
class TwoWay:
    """How two questions go together, every figure with its error or the reason for none.

    independence: a test that is valid under the noise. cramers_v: None where answers overlap.
    shares: of each answer to the second question among those of each answer to the first.
    differences, odds_ratios: of each answer to the second question, the first answer to the first
    question against each other one.
    """

    questions: tuple[str, str]
    guarantee: Guarantee
    independence: IndependenceTest
    cramers_v: Comparison | None
    shares: tuple[Comparison, ...]
    differences: tuple[Comparison, ...]
    odds_ratios: tuple[Comparison, ...]
    seed: int | None = None


def compare(
    plan: Plan,
    reports: Reports,
    first: str,
    second: str,
    *,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
) -> TwoWay:
    """Compare the answers to `second` between those who gave each answer to `first`.

    Raises ReportsError as `estimate` does, TableError for questions that the plan does not have.
    """
    ids = check_tables(plan, [(first, second)])[0]
    counted = count(plan, reports, tables=[ids], kind="pairs")
    _, guarantee = check_arrived(plan, counted, accept_smaller_crowd)
    table = joint(plan, readings(plan, counted, ids), ids, noise_only, margin=True)
    return TwoWay(
        questions=(first, second),
        guarantee=guarantee,
        independence=independence_test(table),
        cramers_v=cramers_v(table) if all(table.exclusive) else None,
        shares=tuple(conditional_share(table, of, given) for of, given in _pairs(table)),
        differences=tuple(difference(table, *of) for of in _against_first(table)),
        odds_ratios=tuple(odds_ratio(table, *of) for of in _against_first(table)),
        seed=counted.seed,
    )


Answer = tuple[str, str]


def _pairs(joint: JointEstimate) -> Iterator[tuple[Answer, Answer]]:
    (first, second), (groups, answers) = joint.questions, joint.answers
    return (((second, answer), (first, group)) for group in groups for answer in answers)


def _against_first(joint: JointEstimate) -> Iterator[tuple[Answer, Answer, Answer]]:
    (first, second), (groups, answers) = joint.questions, joint.answers
    for answer in answers:
        for group in groups[1:]:
            yield (second, answer), (first, groups[0]), (first, group)
