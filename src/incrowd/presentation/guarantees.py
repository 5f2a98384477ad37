"""What is promised, in words for people who know no mathematics."""

from __future__ import annotations

from incrowd.accountant.analyses import analysis
from incrowd.plans import Guarantee
from incrowd.plans.plan import Reduction
from incrowd.presentation.number_text import bound, chance, factor, written_out

ROWS = (
    "Each row of the answers was treated as one person. Anyone with several rows is protected "
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


_REDUCED: dict[Reduction, str] = {
    "one-party": "one party both mixes and opens the reports",
    "permanent-responses": (
        "permanent responses are repeated from round to round, and who took part in which rounds "
        "can be matched with them"
    ),
    "contradicted": "the shuffler signed two different releases of one stratum, and so it cheats",
    "fewer-people": "fewer people took part than it counts on",
    "simulation": (
        "the reports were made in a simulation, and protect nobody; what follows is for reports "
        "made without a seed"
    ),
}


def guarantee_heading(guarantee: Guarantee) -> str:
    """What the statement may be called: "Guarantee" only if its analysis proves one.

    And if the plan's promise holds for the collection that it is about.
    """
    if "simulation" in guarantee.reduced_by:
        return "No guarantee"
    return "Reduced guarantee" if guarantee.reduced_by else analysis(guarantee.analysis).heading


def reduced_sentence(guarantee: Guarantee) -> str:
    """Why the plan's promise does not hold for a collection, and of what kind the one is that does.

    "" if it holds.
    """
    if not guarantee.reduced_by:
        return ""
    reasons = "; ".join(_REDUCED[reason] for reason in guarantee.reduced_by)
    unmixed = not analysis(guarantee.analysis).shuffled and guarantee.reduced_by != ("simulation",)
    left = " Only the local guarantee is left." if unmixed else ""
    return f"The plan's promise does not hold for this collection: {reasons}.{left}"


def guarantee_sentence(guarantee: Guarantee) -> str:
    """The guarantee and its assumption in plain words; figures are rounded up.

    First, why it is not the plan's, if so.
    """
    reduced = reduced_sentence(guarantee)
    return f"{reduced} {_claim(guarantee)}" if reduced else _claim(guarantee)


def _claim(guarantee: Guarantee) -> str:
    by = analysis(guarantee.analysis)
    claim = by.claim(factor(guarantee.epsilon), chance(guarantee.delta))
    assumption = guarantee.assumption.strip().rstrip(".")
    if not assumption:
        return f"{claim}."
    return f"{claim}{by.joint}{assumption[:1].lower()}{assumption[1:]}."


def guarantee_symbols(guarantee: Guarantee) -> str:
    """The guarantee as an expert writes it, and what is left of it without the shuffler."""
    pair = f"(ε, δ) = ({bound(guarantee.epsilon, 6)}, {bound(guarantee.delta)})"
    kind = f"{pair}-differential privacy" if guarantee.proved else pair
    shuffled = analysis(guarantee.analysis).shuffled
    alone = f" {without_shuffler(guarantee)}" if shuffled else ""
    return (
        f'{kind} by the analysis "{guarantee.analysis}", for a crowd of {guarantee.crowd:,}; '
        f"neighboring collections differ in one person's answers.{alone}"
    )


def worst_pair(worst: str) -> str:
    """The pair of records that the certificate found the worst, for experts."""
    return f"Worst pair: {worst}."


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
            f"{factor(guarantee.epsilon)}: that promises almost nothing"
        )
    if analysis(guarantee.analysis).shuffled and guarantee.local_epsilon > 10:
        found.append(
            f"without the shuffler nearly nothing is left: epsilon "
            f"{written_out(guarantee.local_epsilon)} lets odds change by a factor of "
            f"{factor(guarantee.local_epsilon)}"
        )
    return tuple(found)
