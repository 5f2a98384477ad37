"""Which reports a client of the plan can have sent; the others are counted and left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from incrowd.errors import InWords, ReportsError, quantity
from incrowd.plans import Message, Plan
from incrowd.plans.strata import StratumNames, label, strata
from incrowd.reports.collection import Collection
from incrowd.reports.moments import extract

SHOWN = 12  # names of strata in a message
DIGITS = 12  # of a digest
_ITS_PLAN = "use the plan that they were made with"


def check_origin(plan: Plan, digest: str, reports: Collection) -> Message:
    """Return the message that the reports belong to.

    digest: the plan's, which takes longer to compute than the checks. Raises ReportsError unless
    the reports name this plan, one of its messages and its strata, and have the message's length.
    """
    if reports.plan != digest:
        raise ReportsError.of(
            "reports", reports.plan, f"they belong to {another_plan(reports.plan)}"
        )
    if not 0 <= reports.message < len(plan.messages):
        shown = InWords(f"message {reports.message + 1}")
        raise ReportsError.of("reports", shown, f"the plan has no such message; {_ITS_PLAN}")
    message = plan.messages[reports.message]
    bits = message.bits
    if reports.bits != bits or reports.packed.shape[1] != -(-bits // 8):
        raise ReportsError.of(
            "reports",
            InWords(quantity(reports.bits, "bits")),
            f"the plan's reports have {bits}; {_ITS_PLAN}",
        )
    if reports.people is None and message.declared(0) is not None:
        allowed = "reports of cells should state how many people took part"
        raise ReportsError.of("reports", InWords("no number of people"), allowed)
    if wrong := wrong_strata(plan, reports.strata):
        raise ReportsError.of("reports", stratum_named(reports.strata), wrong)
    return message


def another_plan(digest: str) -> str:
    """Return a message about reports of another plan."""
    return f"another plan; use the one whose digest begins with {digest[:DIGITS]}"


def stratum_named(names: StratumNames) -> InWords:
    """Return strata as they are named in a message."""
    return InWords(f"of stratum {label(names)}" if names else "of no stratum")


def wrong_strata(plan: Plan, names: StratumNames) -> str:
    """Return what is wrong with the strata of a collection, and what would work; "" if they fit."""
    stratum_names = strata(plan.survey)
    if not stratum_names and names:
        return f"the plan has no strata; {_ITS_PLAN}"
    if stratum_names and not names:
        return f"the reports of this plan name their stratum; {_ITS_PLAN}"
    if not set(names) <= set(stratum_names) or len(set(names)) < len(names):
        return f"the plan's strata are {', '.join(stratum_names[:SHOWN])}; {_ITS_PLAN}"
    if len(names) > 1 and plan.survey.small_strata != "merge":
        return "the plan does not merge strata; use files of one stratum each"
    return ""


def accepted(message: Message, packed: np.ndarray) -> np.ndarray:
    """Return the reports that a client of the plan can send, uint8, same width.

    No client sets a padding bit or gives two options in a k-ary response. Everything else is
    possible, since every bit can be flipped. message: of joint reports; cells that the message does
    not have are rejected when they are counted.
    """
    for possible in _conditions(message, packed):
        if not possible.all():
            return accepted(message, packed[possible])
    return packed


def _conditions(message: Message, packed: np.ndarray) -> Iterator[np.ndarray]:
    """Yield for each condition the mask of the reports that meet it."""
    if spare := message.bits % 8:
        yield packed[:, -1] < 1 << spare
    for bits, channel in zip(message.layout.values(), message.channels.values(), strict=True):
        if channel.of_answers:
            yield extract(packed, np.arange(bits.start, bits.stop)).sum(axis=1) == 1
