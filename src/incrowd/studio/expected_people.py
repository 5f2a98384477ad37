"""How many people will answer, what happens if they are too few, and how precise the tables are
then: in words, for the pages of design and precision."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from incrowd.catalog.sentences import localized
from incrowd.estimation.intervals import HALF_WIDTH
from incrowd.studio.interval_figures import MOST_MARGIN, percent, points
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.publication import needed_people, needs_no_crowd
from incrowd.studio.titles import answer_title, titles_of
from incrowd.survey import Survey

if TYPE_CHECKING:
    from incrowd.planner.outlook import Outlook, WithinOutlook
    from incrowd.plans import Plan


COARSE = phrase(
    "In the smallest group, the results would show almost nothing. Merge small groups, or ask for "
    "fewer comparisons."
)
SHOWING_NOTHING = phrase(
    "The results would show almost nothing. Ask more people, or ask for fewer comparisons."
)


class PeopleSummary(NamedTuple):
    """The lines about the people of a survey.

    margins: how precise the tables are. answers: how many people are expected, and what the crowd
    is. below: what happens if fewer answer. groups: what is assumed of the groups, or None. short:
    why nothing would be released if as many answer as expected, or None. doubt: that the results
    show next to nothing, of everybody or of the smallest group, or None.
    """

    margins: Phrase
    answers: Phrase
    below: Phrase
    groups: Phrase | None = None
    short: Phrase | None = None
    doubt: Phrase | None = None


def people_summary(
    survey: Survey, seen: Outlook, language: str, plan: Plan | None = None
) -> PeopleSummary:
    """Return the lines for an outlook. plan: once it is certified."""
    needed = needed_people(survey, plan)
    expected = seen.answers.in_smallest
    return PeopleSummary(
        _margins(survey, seen, language),
        _answers(survey, seen, language, plan),
        _below(survey, needed, language, plan),
        _groups(survey, seen, language),
        _short(seen, needed, language) if survey.people and expected < needed else None,
        doubt(seen),
    )


def doubt(seen: Outlook) -> Phrase | None:
    """Return that the results of everybody, or of the smallest group, show next to nothing; None if
    they show more."""
    overall, group = (HALF_WIDTH * each > MOST_MARGIN for each in seen.margins)
    if overall:
        return SHOWING_NOTHING
    return COARSE if group else None


def _number(value: int, language: str) -> str:
    return localized(f"{value:,}", language)


def _margins(survey: Survey, seen: Outlook, language: str) -> Phrase:
    overall, group = (points(HALF_WIDTH * each, language) for each in seen.margins)
    people = _number(seen.answers.people, language)
    if seen.answers.groups > 1 and seen.answers.smallest:
        return phrase(
            "{people} answers: ± {overall} points overall, ± {group} in the smallest group "
            "({name}, {few} answers).",
            people=people,
            overall=overall,
            group=group,
            name=seen.answers.smallest,
            few=_number(seen.answers.in_smallest, language),
        )
    if seen.answers.groups > 1:
        return phrase(
            "{people} answers: ± {overall} points overall, ± {group} in a group ({few} answers).",
            people=people,
            overall=overall,
            group=group,
            few=_number(seen.answers.in_smallest, language),
        )
    within = _least_precise(seen)
    if within is None:
        return phrase("{people} answers: ± {overall} points.", people=people, overall=overall)
    return phrase(
        "{people} answers: ± {overall} points overall, ± {group} among the {few} people with "
        "“{answer}” ({question}).",
        people=people,
        overall=overall,
        group=group,
        few=_number(round(within.share * seen.people), language),
        question=titles_of(survey, language)[within.question],
        answer=answer_title(survey, within.question, within.answer, language),
    )


def _least_precise(seen: Outlook) -> WithinOutlook | None:
    """Return the least precise of all comparisons in tables of two questions; None without any."""
    every = (each for table in seen.tables for each in table.within)
    return max(every, key=lambda each: each.standard_error, default=None)


def _answers(survey: Survey, seen: Outlook, language: str, plan: Plan | None) -> Phrase:
    crowd = _number(survey.crowd, language)
    if survey.people is None:
        if needs_no_crowd(survey, plan):
            return phrase("{people} people are expected to answer.", people=crowd)
        return phrase("The promise counts on {people} people.", people=crowd)
    values = {
        "invited": _number(survey.people.invited, language),
        "share": percent(survey.people.expected, 0, language),
        "people": _number(seen.answers.people, language),
    }
    if needs_no_crowd(survey, plan):
        return phrase("Of {invited} people who are invited, {share} answer: {people}.", **values)
    return phrase(
        "Of {invited} people who are invited, {share} answer: {people}. The promise counts on "
        "{crowd} of them, in case fewer answer.",
        **values,
        crowd=crowd,
    )


def _below(survey: Survey, needed: int, language: str, plan: Plan | None) -> Phrase:
    people = _number(needed, language)
    if survey.open and survey.small_strata == "merge":
        return phrase(
            "Groups in which fewer than {people} people answer are released together, if they are "
            "enough together; otherwise, their answers are deleted unread.",
            people=people,
        )
    if survey.open:
        return phrase(
            "A group in which fewer than {people} people answer is not released; its answers are "
            "deleted unread.",
            people=people,
        )
    if needs_no_crowd(survey, plan):
        return phrase(
            "If fewer than {people} people answer, nothing is released, and everything is deleted.",
            people=people,
        )
    return phrase(
        "If fewer than {people} people answer, nothing is released, and everything is deleted: "
        "{crowd} whom the promise counts on, and a reserve of {reserve}.",
        people=people,
        crowd=_number(survey.crowd, language),
        reserve=_number(needed - survey.crowd, language),
    )


def _groups(survey: Survey, seen: Outlook, language: str) -> Phrase | None:
    within = _least_precise(seen)
    if seen.answers.groups < 2 and within is not None:
        asked = survey.question(within.question)
        if asked.shares is not None or not math.isclose(within.share, 1 / len(asked.answers)):
            return None
        return phrase(
            "This assumes that all answers to “{question}” are equally common. If one is rarer, "
            "the results of those who give it are less precise: type the expected shares.",
            question=titles_of(survey, language)[within.question],
        )
    if seen.answers.groups < 2 or not seen.answers.equal:
        return None
    return phrase(
        "This assumes {groups} groups of equal size. State the sizes, and the smallest one counts.",
        groups=_number(seen.answers.groups, language),
    )


def _short(seen: Outlook, needed: int, language: str) -> Phrase:
    return phrase(
        "Only {people} answers are expected where a release needs {needed}: probably, nothing "
        "would be released. Invite more people, or leave the minimum number empty.",
        people=_number(seen.answers.in_smallest, language),
        needed=_number(needed, language),
    )
