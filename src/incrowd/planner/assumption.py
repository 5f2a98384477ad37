"""What a promise rests on, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as Names

from incrowd.accountant.analyses import analysis
from incrowd.plans.ledger import Rounds, permanent, repeated
from incrowd.survey import Survey


def assumption(plans: Sequence[Rounds], assumed: str) -> str:
    """What a promise rests on: what its analysis assumes, the survey, and what was asked before.

    plans: the rounds of each plan that the promise covers, those of its own at the end.
    """
    survey = plans[-1][0].survey
    said = [assumed]
    if survey.rows_per_person > 1:
        said.append(f"No person has more than {survey.rows_per_person} rows of the answers.")
    if survey.rounds > 1:
        said.append(
            f"The promise covers {survey.rounds:,} rounds together, in each of which that crowd "
            "takes part."
        )
    hidden, exposed = repeated(plans)
    if any(question.memoised for question in survey.questions):
        said.append(_permanent(survey, bool(_repeats(plans[-1:], exposed))))
    said += _earlier(plans[:-1], hidden, exposed)
    if survey.open:
        named = " and ".join(question.id for question in survey.open)
        are, them = ("is", "it") if len(survey.open) == 1 else ("are", "them")
        said.append(
            f"The guarantee does not cover {named}, which {are} sent openly: people who answer "
            f"{them} alike are a crowd of their own."
        )
    return " ".join(said)


def _permanent(survey: Survey, exposed: bool) -> str:
    """What is assumed of memoised responses. exposed: whether releases can show single ones."""
    shuffled = analysis(survey.privacy.analysis).shuffled
    times = f"{survey.rounds:,} times" if survey.rounds > 1 else "once"
    if shuffled and survey.open and survey.rounds == 1 and not exposed:
        return (
            "Memoised responses are covered in one release: of two, the difference can be the "
            "response of one person who is in another stratum the second time."
        )
    if shuffled and exposed:
        return (
            "Memoised responses are charged as if they carried names, since the difference of two "
            "releases can be one person's response; this covers every round for as long as a "
            f"person's answers to them stay the same; everything else is covered {times}."
        )
    people = "the same people take part and " if shuffled else ""
    return (
        "Memoised responses are repeated in every round, which is covered for as long as "
        f"{people}a person's answers to them stay the same; everything else is covered {times}."
    )


def _earlier(before: Sequence[Rounds], hidden: Names[str], exposed: Names[str]) -> Iterator[str]:
    """What is assumed of earlier rounds."""
    if named := _repeats(before, hidden):
        yield (
            f"Memoised responses of earlier rounds ({named}) are covered for as long as the same "
            "people took part in all of these and their answers stayed the same."
        )
    if named := _repeats(before, exposed):
        yield (
            f"Memoised responses of earlier rounds ({named}) are charged as if they carried names, "
            "since the difference of two releases can be one person's response."
        )
    if linked := [rounds[0].survey.name for rounds in before if any(r.linked for r in rounds)]:
        yield (
            f"Reports of earlier rounds without a shuffler ({', '.join(linked)}) are charged as if "
            "they carried names."
        )


def _repeats(plans: Sequence[Rounds], names: Names[str]) -> str:
    """The surveys and questions of some permanent responses that the plans gave."""
    found = {
        rounds[0].survey.name: [
            question.id
            for message in rounds[0].messages
            if not names.isdisjoint(permanent(rounds[0].survey, message))
            for question in message.questions
        ]
        for rounds in plans
    }
    return "; ".join(f"{name}: {', '.join(ids)}" for name, ids in found.items() if ids)
