"""Reports + Plan -> what people ask of a two-way table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from incrowd.errors import TableError
from incrowd.estimation.association import IndependenceTest, cramers_v, independence_test
from incrowd.estimation.comparisons import conditional_share, difference, odds_ratio
from incrowd.estimation.covariance import JointEstimate, estimate_joint, pair_decoder
from incrowd.estimation.delta_method import Comparison
from incrowd.plan import Guarantee, Plan
from incrowd.reports.collection import Collection
from incrowd.tally.moments import pair_moments
from incrowd.workflow.estimate import check_reports, check_tables


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
    reports: Collection,
    first: str,
    second: str,
    noise_only: bool = False,
    accept_smaller_crowd: bool = False,
) -> TwoWay:
    """Compare the answers to `second` between those who gave each answer to `first`.

    Raises ReportsError as `estimate` does, TableError for questions that the plan does not have.
    """
    ids = check_tables(plan, [(first, second)])[0]
    guarantee = check_reports(plan, reports, accept_smaller_crowd)
    joint = joint_estimate(plan, reports, ids, noise_only)
    return TwoWay(
        questions=(first, second),
        guarantee=guarantee,
        independence=independence_test(joint),
        cramers_v=cramers_v(joint) if all(joint.exclusive) else None,
        shares=tuple(conditional_share(joint, of, given) for of, given in _pairs(joint)),
        differences=tuple(difference(joint, *of) for of in _against_first(joint)),
        odds_ratios=tuple(odds_ratio(joint, *of) for of in _against_first(joint)),
        seed=reports.seed,
    )


def joint_estimate(
    plan: Plan, reports: Collection, ids: tuple[str, ...], noise_only: bool = False
) -> JointEstimate:
    """A table with its margins and the covariance of everything in it.

    Raises TableError if it has more than 2,000 cells.
    """
    message = plan.messages[reports.message]
    layout = plan.layout(message)
    if missing := [id for id in ids if id not in layout]:
        raise TableError.of("table", missing[0], "does not travel in these reports")
    questions = [plan.survey.question(id) for id in ids]
    decoders = [pair_decoder(q, message.channel.inverse, margin=True) for q in questions]
    counts = pair_moments(reports.packed, [layout[id] for id in ids])
    return estimate_joint(ids, decoders, counts, message.copies, noise_only)


Answer = tuple[str, str]


def _pairs(joint: JointEstimate) -> Iterator[tuple[Answer, Answer]]:
    (first, second), (groups, answers) = joint.questions, joint.answers
    return (((second, answer), (first, group)) for group in groups for answer in answers)


def _against_first(joint: JointEstimate) -> Iterator[tuple[Answer, Answer, Answer]]:
    (first, second), (groups, answers) = joint.questions, joint.answers
    for answer in answers:
        for group in groups[1:]:
            yield (second, answer), (first, groups[0]), (first, group)
