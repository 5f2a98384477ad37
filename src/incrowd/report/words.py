"""What is promised, in words for people who know no mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from incrowd.plan import Guarantee
from incrowd.report.numbers import rounded_up

ROWS = (
    "Each row of the answers was treated as one person. Somebody with several rows is protected "
    "less than stated, and the intervals take no account of rows that belong together."
)


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
        f"{_factor(guarantee)} times as likely (plus a chance of {guarantee.delta:.3g}) as if any "
        "one person had answered differently"
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
    """The guarantee as an expert writes it."""
    return (
        f"(ε, δ) = ({guarantee.epsilon:.12g}, {guarantee.delta:.3g})-differential privacy by the "
        f'analysis "{guarantee.analysis}", for a crowd of {guarantee.crowd:,}; '
        "neighbouring collections differ in one person's answers."
    )


def _factor(guarantee: Guarantee) -> str:
    """e^epsilon for people: "2,981", and a power of ten where it is too long to read."""
    if guarantee.epsilon < math.log(1e6):
        return rounded_up(math.exp(guarantee.epsilon))
    return f"10^{math.ceil(guarantee.epsilon / math.log(10))}"


def simulation_warning(seed: int) -> str:
    """What must stand above estimates made from a simulation."""
    return (
        f"Simulation. These reports were randomised with the known seed {seed}, so the noise can "
        "be taken off again and they protect nobody. What is promised here holds for reports "
        "randomised without a seed."
    )
