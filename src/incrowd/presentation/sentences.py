"""The sentences about promises, by code: what `incrowd.guarantees` says, in words for people.

Most are for people who know no mathematics. Figures are rounded towards less privacy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from incrowd.accountant.analyses import analysis
from incrowd.accountant.channels.base import rounded_down
from incrowd.accountant.codes import AssumptionCode, WorstPair
from incrowd.accountant.numerics.positive_part import Bounds
from incrowd.guarantees import Party, against
from incrowd.plans import Guarantee
from incrowd.plans.plan import Assumption, Reduction
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
    if guarantee.reduced_by:
        return "Reduced guarantee"
    return "Guarantee" if guarantee.proved else "Privacy, no guarantee"


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
    """The guarantee and its assumptions in plain words; figures are rounded up.

    First, why it is not the plan's, if so.
    """
    reduced = reduced_sentence(guarantee)
    return f"{reduced} {_claim(guarantee)}" if reduced else _claim(guarantee)


def _claim(guarantee: Guarantee) -> str:
    assumed = assumption_text(guarantee)
    joint = _JOINTS[guarantee.assumptions[0].code]
    return f"{_promised(guarantee)}{joint}{assumed[:1].lower()}{assumed[1:]}"


_JOINTS = {
    "whole-crowd": ". This holds provided that ",
    "every-crowd-tried": "; this assumes: ",
    "crowd-alike": "; ",
    "nobody-trusted": "; ",
}


def _promised(guarantee: Guarantee) -> str:
    """What is promised, in plain words without a full stop."""
    if not analysis(guarantee.analysis).shuffled:
        return (
            "What a person sends can change anybody's odds on any guess about that person's "
            f"answers by a factor of at most {factor(guarantee.epsilon)}"
        )
    claim = (
        "hanging any one person's answer changes the probability of any conclusion by at most "
        f"a factor of {factor(guarantee.epsilon)}, plus {chance(guarantee.delta)}"
    )
    return f"C{claim}" if guarantee.proved else f'By the analysis "{guarantee.analysis}": c{claim}'


def guarantee_formula(guarantee: Guarantee) -> str:
    """What is promised, as an inequality."""
    factor = f"e^{bound(guarantee.epsilon, 6)}"
    if not analysis(guarantee.analysis).shuffled:
        return (
            "For all answers x and x′ of one person, and every set S of what that person can send: "
            f"P[sent(x) ∈ S] ≤ {factor} · P[sent(x′) ∈ S]."
        )
    alike = ", the others having given one and the same answer"
    crowds = alike if guarantee.assumptions[0].code == "crowd-alike" else ""
    return (
        f"For all answers D and D′ of the crowd that differ in one person's{crowds}, and "
        "every set S of what can be published: "
        f"P[published(D) ∈ S] ≤ {factor} · P[published(D′) ∈ S] + {bound(guarantee.delta, 12)}."
    )


# What a promise rests on.


def assumption_text(guarantee: Guarantee) -> str:
    """Everything that a promise rests on."""
    return " ".join(map(assumption_sentence, guarantee.assumptions))


def assumption_sentence(assumption: Assumption) -> str:
    """One thing that a promise rests on."""
    number = assumption.number or 1
    return _ASSUMPTIONS[assumption.code].format(
        number=f"{number:,}",
        times=f"{number:,} times" if number > 1 else "once",
        asked=_asked(assumption),
        questions=" and ".join(assumption.questions),
        are="is" if len(assumption.questions) == 1 else "are",
        them="it" if len(assumption.questions) == 1 else "them",
    )


def analysis_assumption(code: AssumptionCode) -> str:
    """What an analysis assumes."""
    return _ASSUMPTIONS[code]


def _asked(assumption: Assumption) -> str:
    if not any(each.questions for each in assumption.asked):
        return ", ".join(each.survey for each in assumption.asked)
    return "; ".join(f"{each.survey}: {', '.join(each.questions)}" for each in assumption.asked)


_LINKED = (
    "are charged as if they carried names, since the difference of two releases can be one "
    "person's response"
)
_ASSUMPTIONS: dict[str, str] = {
    "whole-crowd": (
        "The shuffler removes every link between a report and its sender, and the whole crowd of "
        "honest people sends as the plan says; nothing is assumed about their answers."
    ),
    "every-crowd-tried": (
        "The shuffler removes every link between a report and its sender, and at least the named "
        "number of honest people take part, each sending as the plan says. Every collection of "
        "their answers was tried."
    ),
    "crowd-alike": (
        "This is exact for homogeneous crowds, in which everybody else holds the same record; a "
        "lower bound on the worst case, so no guarantee; and the shuffler removes every link "
        "between a report and its sender."
    ),
    "nobody-trusted": (
        "Nobody needs to be trusted: it holds for all that a person sends, even with a name on it."
    ),
    "rows": "No person has more than {number} rows of the answers.",
    "rounds": (
        "The promise covers {number} rounds together, in each of which that crowd takes part."
    ),
    "permanent-one-release": (
        "Memoized responses are covered in one release only: the difference of two releases can be "
        "the response of one person who is in another stratum the second time."
    ),
    "permanent-linked": (
        f"Memoized responses {_LINKED}; this covers every round for as long as a person's answers "
        "to them stay the same; everything else is covered {times}."
    ),
    "permanent-same-people": (
        "Memoized responses are repeated in every round, which is covered for as long as the same "
        "people take part and a person's answers to them stay the same; everything else is covered "
        "{times}."
    ),
    "permanent-same-answers": (
        "Memoized responses are repeated in every round, which is covered for as long as a "
        "person's answers to them stay the same; everything else is covered {times}."
    ),
    "earlier-permanent-same-people": (
        "Memoized responses of earlier rounds ({asked}) are covered for as long as the same people "
        "took part in all of these and their answers stayed the same."
    ),
    "earlier-permanent-linked": f"Memoized responses of earlier rounds ({{asked}}) {_LINKED}.",
    "earlier-linked": (
        "Reports of earlier rounds without a shuffler ({asked}) are charged as if they carried "
        "names."
    ),
    "open": (
        "The guarantee does not cover {questions}, which {are} sent openly: people who answer "
        "{them} alike are a crowd of their own."
    ),
}


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


# The worst pair of records, for experts.


def worst_pair(worst: Sequence[WorstPair]) -> str:
    """The pair of records that the certificate found the worst, of each kind of report."""
    return f"Worst pair: {'; '.join(map(_pair, worst))}."


def _pair(worst: WorstPair) -> str:
    by = f" (by {worst.by})" if worst.by else ""
    return f"{_PAIRS[worst.code](worst)}{by}"


def _relation(worst: WorstPair) -> str:
    """x and x', by the number of places in which each of them, and both, differ from z."""
    whose = "the crowd's" if worst.crowd == "alike" else "the others'"
    x, other, place = worst.x or 0, worst.other or 0, worst.place or "bit"
    if not x or not other:
        return f"{whose} record, and one that differs from it in {_many(x + other, place)}"
    if x == other:
        differ = f"two records that each differ from {whose} in {_many(x, place)}"
    else:
        differ = f"two records that differ from {whose} in {x} and in {_many(other, place)}"
    return f"{differ}, {worst.both or 'none'} of them the same"


def _apart(worst: WorstPair) -> str:
    which = "the farthest pair" if worst.farthest else "a nearer pair"
    return f"two records {_many(worst.bits or 0, 'bit')} apart, {which}"


def _collection(worst: WorstPair) -> str:
    x, other = worst.records or ("", "")
    others = ", ".join(f"{held.people:,} times {held.record}" for held in worst.others or ())
    return f"x = {x}, x' = {other}, the others hold {others or 'nothing'}"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"


_PAIRS: dict[str, Callable[[WorstPair], str]] = {
    "relation": _relation,
    "apart": _apart,
    "classes": lambda worst: f"any of {worst.number} kinds of pairs",
    "any-pair": lambda _: "any pair of records, in any crowd",
    "any-crowd": lambda _: "either answer, in any crowd",
    "collection": _collection,
    "no-crowd": lambda _: "the farthest pair, without a crowd",
    "crowd-too-small": lambda _: "any; the crowd is too small to hide the report",
    "beyond-local": lambda _: "none: this much holds without a crowd",
}


# Against whom.


def against_sentence(guarantee: Guarantee, *, sealed: bool) -> str:
    """What each party can learn at most; parties that can learn the same are named together."""
    parties: dict[str, list[str]] = {}
    for party, limit in against(guarantee, sealed=sealed).items():
        figures = f"ε = {written_out(limit.epsilon)}, δ = {bound(limit.delta)}"
        parties.setdefault(figures, []).append(_PARTIES[party])
    text = "; ".join(f"{_listed(names)}: {figures}" for figures, names in parties.items())
    return f"{text[:1].upper()}{text[1:]}."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


_PARTIES: dict[Party, str] = {
    "collector": "whoever opens and counts the reports",
    "readers": "everybody who reads the results",
    "shuffler": "the shuffler alone",
    "shuffler and collector": "both together",
}


# Other ways to send a survey.


def way_words(code: str, limit: float | None = None) -> str:
    """A way to send a survey. limit: of reports per person, or of the local epsilon."""
    return _WAYS[code].format(limit=limit or 0)


_WAYS = {
    "joint": "one joint report",
    "joint-copies": "joint, with copies",
    "table-messages": "a message per table",
    "table-messages-copies": "a message per table, with copies",
    "more-reports": "up to {limit:g} reports",
    "local-epsilon": "local ε at most {limit:g}",
    "local": "no shuffler (local)",
}


# What is left, and what is unusual.


def without_shuffler(guarantee: Guarantee) -> str:
    """What remains if the shuffler fails."""
    return (
        "If reports can be linked to their senders, what remains is the local guarantee: "
        f"{local_figures(guarantee)}."
    )


def local_figures(guarantee: Guarantee) -> str:
    """What remains of all that a person sends, in symbols."""
    return f"ε = {written_out(guarantee.local_epsilon)}, δ = 0"


def warnings(guarantee: Guarantee) -> tuple[str, ...]:
    """What is unusual about a promise, for people who have to decide."""
    texts = []
    if guarantee.delta * guarantee.crowd >= 1:
        texts.append(
            f"delta {bound(guarantee.delta)} is at least 1 / crowd: publishing one person's "
            "answers outright would keep it; choose a smaller delta"
        )
    if guarantee.epsilon > 10:
        texts.append(
            f"epsilon {bound(guarantee.epsilon)} lets odds change by a factor of "
            f"{factor(guarantee.epsilon)}: that promises almost nothing"
        )
    if analysis(guarantee.analysis).shuffled and guarantee.local_epsilon > 10:
        texts.append(
            f"without the shuffler nearly nothing is left: epsilon "
            f"{written_out(guarantee.local_epsilon)} lets odds change by a factor of "
            f"{factor(guarantee.local_epsilon)}"
        )
    return tuple(texts)


NEARLY = 0.01  # share of delta within which its bounds are one figure


def figure_kind(proved: bool, delta: Bounds) -> str:
    """What the figure of an analysis is, in a few words."""
    if proved:
        return "guarantee"
    if delta.upper - delta.lower <= NEARLY * delta.upper:
        return "exact for homogeneous crowds; a lower bound"
    return f"at most, for homogeneous crowds; at least {rounded_down(delta.lower)}"
