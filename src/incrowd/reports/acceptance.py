"""The reports that a client of the plan can have sent; the others are counted and left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from incrowd.catalog.sentences import FileDigest, Sentence, sentence
from incrowd.errors import ReportsError
from incrowd.plans import Message, Plan
from incrowd.plans.message import SERVICES
from incrowd.plans.strata import StratumNames, label, strata
from incrowd.reports.collection import Collection
from incrowd.reports.moments import extract

SHOWN = 12  # names of strata in a message
DIGITS = 12  # of a digest


def check_origin(plan: Plan, digest: str, reports: Collection) -> Message:
    """Return the message that the reports belong to.

    digest: the digest of the plan, which takes longer to compute than the checks. Raises
    ReportsError unless the reports name this plan, one of its messages and its strata, and have the
    message's length.
    """
    if reports.plan != digest:
        raise ReportsError.of(
            "reports",
            "reports.of-another-plan",
            value=FileDigest(reports.plan),
            start=reports.plan[:DIGITS],
        )
    if not 0 <= reports.message < len(plan.messages):
        raise ReportsError.of("reports", "reports.no-such-message", message=reports.message + 1)
    message = plan.messages[reports.message]
    bits = message.file_bits
    if reports.bits != bits or reports.packed.shape[1] != -(-bits // 8):
        raise ReportsError.of("reports", "reports.number-of-bits", bits=reports.bits, planned=bits)
    if message.by_services and not plan.own_draws <= reports.draws <= SERVICES:
        why = sentence("reports.wrong-draws", draws=reports.draws)
        raise ReportsError.of("reports", "reports.impossible", message=reports.message + 1, why=why)
    if reports.people is None and message.declared(0) is not None:
        raise ReportsError.of("reports", "reports.no-people")
    check_stratum(plan, "reports", reports.strata)
    return message


def check_stratum(plan: Plan, path: str, names: StratumNames) -> None:
    """Raise ReportsError unless the strata of a collection are strata of the plan.

    path: the path of what names them.
    """
    if why := _wrong_strata(plan, names):
        strata = sentence("reports.of-no-stratum")
        if names:
            strata = sentence("reports.of-stratum", stratum=label(names))
        raise ReportsError.of(path, "reports.wrong-stratum", strata=strata, why=why)


def _wrong_strata(plan: Plan, names: StratumNames) -> Sentence | None:
    """Return what is wrong with strata, and what would work; None if they fit."""
    stratum_names = strata(plan.survey)
    if not stratum_names and names:
        return sentence("reports.plan-without-strata")
    if stratum_names and not names:
        return sentence("reports.stratum-not-named")
    if not set(names) <= set(stratum_names) or len(set(names)) < len(names):
        return sentence("reports.strata-of-plan", strata=stratum_names[:SHOWN])
    if len(names) > 1 and plan.survey.small_strata != "merge":
        return sentence("reports.strata-not-merged")
    return None


def accepted(message: Message, packed: np.ndarray) -> np.ndarray:
    """Return the reports that a client of the plan can send, uint8, same width.

    No client sets a padding bit or gives two options in a k-ary response. Everything else is
    possible, since every bit can be flipped. message: the message of joint reports; cells that the
    message does not have are rejected when they are counted.
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
