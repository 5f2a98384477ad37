"""Tables with the covariance of all their cells, read in every message that holds them."""

from __future__ import annotations

from incrowd.errors import TableError
from incrowd.estimation.covariance import (
    JointEstimate,
    combined_joint,
    estimate_joint,
    question_pair_decoder,
)
from incrowd.plans import Plan, UnlinkedBits
from incrowd.tally.tally import Tally
from incrowd.workflow.sources import Ids, Source, sources


def travels_jointly(plan: Plan, ids: Ids) -> bool:
    """Whether reports hold all bits of a table; where set bits travel unlinked they hold one."""
    return not any(plan.survey.question(id).travels_apart for id in ids)


def joint(
    plan: Plan, tally: Tally, ids: Ids, noise_only: bool = False, margin: bool = False
) -> JointEstimate:
    """A table, with its margins if wanted, and the covariance of everything in it.

    tally: of pairs. Raises TableError if it has more than 2,000 cells.
    """
    found = sources(plan, ids)
    tables = [_joint(plan, tally, source, ids, noise_only, margin) for source in found]
    return combined_joint(tables, [source.weight for source in found])


def _joint(
    plan: Plan, tally: Tally, source: Source, ids: Ids, noise_only: bool, margin: bool
) -> JointEstimate:
    if isinstance(source.message, UnlinkedBits):
        allowed = "has unlinked bits: its errors are independent; covariances are not made"
        raise TableError.of("table", ids[0], allowed)
    counts = tally.messages[source.number].tables[ids]
    channels = source.message.channels
    decoders = [question_pair_decoder(plan.survey.question(id), channels[id], margin) for id in ids]
    return estimate_joint(ids, decoders, counts, source.message.copies, noise_only)
