"""How to read a page of estimates, for readers who have never met randomised answers."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd.estimation.results import Estimates
from incrowd.estimation.tables import NOISE_AND_SAMPLING, NOISE_ONLY
from incrowd.presentation.guarantees import persons_sentence
from incrowd.survey import Multi

_MEANING = {
    NOISE_AND_SAMPLING: (
        "They allow for the noise and for sampling: they are about a large population, of which "
        "the people who answered are taken to be a random sample."
    ),
    NOISE_ONLY: (
        "They allow for the noise alone: they are about the people who answered, and about "
        "nobody else."
    ),
}
_INTERVALS = (
    "Each interval runs from low to high. It is made so that, were the survey repeated, it would "
    "cover the true share about {level:.0%} of the time. Every interval is for its own cell: where "
    "many are shown, expect about one in {miss:.0f} to miss. The standard error is the typical "
    "size of the error."
)
_NEGATIVE = (
    "A share cannot be negative, but an unbiased estimate of a small share can: the noise moves it "
    "up and down by about a standard error. Such values are marked and shown as they are. Cutting "
    "them off at zero would make every small share look larger than it is, and sums and averages "
    "of several cells would be biased. Read them as “too small to tell from zero”. Shares of one "
    "table need not add up to exactly 100% either."
)
_MULTI = " Where several answers could be given, they can add up to far more."
_TRUTH = (
    "This is a demonstration, in which the answers themselves are known. The true shares are "
    "those of the people who answered."
)
_TRUTH_SAMPLE = " Intervals that allow for sampling as well cover them more often than stated."


def guide(estimates: Estimates) -> Iterator[tuple[str, str]]:
    """The parts of the section "How to read this page": headings and texts."""
    several = any(isinstance(question, Multi) for question in estimates.plan.survey.questions)
    yield "What randomised means", _randomised(estimates)
    yield "What the intervals mean", _intervals(estimates)
    yield "Why a value can be below zero", _NEGATIVE + (_MULTI if several else "")
    yield (
        "Who counts as one person",
        persons_sentence(estimates.persons, estimates.plan.survey.rows_per_person),
    )
    if estimates.truth is not None:
        sampled = NOISE_AND_SAMPLING in {table.errors for table in estimates.tables}
        yield "The true shares", _TRUTH + (_TRUTH_SAMPLE if sampled else "")


def _randomised(estimates: Estimates) -> str:
    return (
        "Answers are written as yes-or-no bits, and before they are sent each bit is flipped with "
        "a known probability (above), whatever the answer is. So what a report says may or may not "
        "be what the person answered. Because the probability is known, its "
        "effect on the counts of many reports can be taken out again, and that is what the "
        "estimates are: right on average, each with an error that is shown."
    )


def _intervals(estimates: Estimates) -> str:
    level = estimates.tables[0].level if estimates.tables else 0.95
    kinds = dict.fromkeys(table.errors for table in estimates.tables)
    meanings = [_MEANING.get(kind, f"They allow for {kind}.") for kind in kinds]
    return " ".join([_INTERVALS.format(level=level, miss=1 / (1 - level)), *meanings])
