"""What is promised, in words for people who know no mathematics."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from incrowd.plans import Guarantee
from incrowd.presentation.number_text import bound, factor, written_out

ROWS = (
    "Each row of the answers was treated as one person. Somebody with several rows is protected "
    "less than stated, and the intervals take no account of rows that belong together."
)


IDS = (
    "Each id of the answers was treated as one person: rows with the same id gave one set of "
    "reports, and conflicting ones none at all. The ids never left."
)


def persons_sentence(persons: str, rows_per_person: int) -> str:
    """What was taken as one person."""
    if persons == "ids":
        return IDS
    if rows_per_person > 1:
        return (
            f"Up to {rows_per_person} rows of the answers may be one person's: the promise covers "
            "all of them together. The intervals take no account of rows that belong together."
        )
    return ROWS


class Wording(NamedTuple):
    """How one analysis is put into words.

    heading: what the statement may be called. claim: the statement, without a full stop.
    joint: what leads from the claim to the assumption in the same sentence.
    """

    heading: str
    claim: Callable[[Guarantee], str]
    joint: str


def _local(guarantee: Guarantee) -> str:
    return (
        "What a person sends can change anybody's odds on any guess about that person's answers "
        f"by a factor of at most {_factor(guarantee)}"
    )


def _crowd(guarantee: Guarantee) -> str:
    return (
        "Whatever is concluded from the published reports is at most "
        f"{_factor(guarantee)} times as likely (plus a chance of {bound(guarantee.delta)}) as if "
        "any one person had answered differently"
    )


def _unknown(guarantee: Guarantee) -> str:
    claim = _crowd(guarantee)
    return f'By the analysis "{guarantee.analysis}": {claim[:1].lower()}{claim[1:]}'


# An analysis that is not listed is described, but not called a guarantee.
_WORDINGS = {
    "local": Wording("Guarantee", _local, "; "),
    "blanket": Wording("Guarantee", _crowd, ", provided that "),
    "outlier": Wording("Privacy, no guarantee", _unknown, "; "),
}
_FALLBACK = Wording("Privacy", _unknown, "; this assumes: ")


def _wording(guarantee: Guarantee) -> Wording:
    return _WORDINGS.get(guarantee.analysis, _FALLBACK)


def guarantee_heading(guarantee: Guarantee) -> str:
    """What the statement may be called: "Guarantee" only if its analysis proves one."""
    return _wording(guarantee).heading


def guarantee_sentence(guarantee: Guarantee) -> str:
    """The guarantee and its assumption in one plain sentence; figures are rounded up."""
    wording = _wording(guarantee)
    assumption = guarantee.assumption.strip().rstrip(".")
    if not assumption:
        return f"{wording.claim(guarantee)}."
    return f"{wording.claim(guarantee)}{wording.joint}{assumption[:1].lower()}{assumption[1:]}."


def guarantee_symbols(guarantee: Guarantee) -> str:
    """The guarantee as an expert writes it, and what is left of it without the shuffler."""
    pair = f"(ε, δ) = ({bound(guarantee.epsilon, 12)}, {bound(guarantee.delta)})"
    kind = f"{pair}-differential privacy" if guarantee.proved else pair
    alone = "" if guarantee.analysis == "local" else f" {without_shuffler(guarantee)}"
    return (
        f'{kind} by the analysis "{guarantee.analysis}", for a crowd of {guarantee.crowd:,}; '
        f"neighboring collections differ in one person's answers.{alone}"
    )


def without_shuffler(guarantee: Guarantee) -> str:
    """What remains if the shuffler fails."""
    return (
        "If reports can be linked to their senders, what remains is the local guarantee: "
        f"ε = {written_out(guarantee.local_epsilon)}, δ = 0."
    )


def warnings(guarantee: Guarantee) -> tuple[str, ...]:
    """What is unusual about a promise, for people who have to decide."""
    found = []
    if guarantee.delta * guarantee.crowd >= 1:
        found.append(
            f"delta {bound(guarantee.delta)} is at least 1 / crowd: publishing one person's "
            "answers outright would keep it; choose a smaller delta"
        )
    if guarantee.epsilon > 10:
        found.append(
            f"epsilon {bound(guarantee.epsilon)} lets odds change by a factor of "
            f"{_factor(guarantee)}: that promises almost nothing"
        )
    return tuple(found)


def _factor(guarantee: Guarantee) -> str:
    return factor(guarantee.epsilon)
