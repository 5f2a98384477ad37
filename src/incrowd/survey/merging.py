"""Merging of answers in an analysis: several answers to a question are treated as one.

The questions, the reports, and the guarantee do not change. A question with merged answers has
fewer answers, and everything that reads reports uses those: docs/estimates.md#merging-answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from incrowd.catalog.sentences import likely
from incrowd.errors import Problem, UsageError
from incrowd.survey.question import MERGED, UNANSWERED, AnyQuestion, Merged

AnswerGroups = Sequence[Sequence[str]] | Mapping[str, Sequence[str]]
Merge = Mapping[str, AnswerGroups]  # of questions, by id


def merged_answers(groups: AnswerGroups) -> tuple[Merged, ...]:
    """Return the merged answers, with the given names or with names composed of the answers."""
    if isinstance(groups, Mapping):
        return tuple(Merged(name, tuple(answers)) for name, answers in groups.items())
    return tuple(Merged(MERGED.join(answers), tuple(answers)) for answers in groups)


def merged_questions(questions: Sequence[AnyQuestion], merge: Merge) -> dict[str, AnyQuestion]:
    """Return all questions by id, those of `merge` with merged answers.

    Raises UsageError for what cannot be merged.
    """
    by_id = {question.id: question for question in questions}
    if problems := tuple(merge_problems(by_id, merge)):
        raise UsageError(*problems)
    return by_id | {
        id: by_id[id].with_merged(merged_answers(groups)) for id, groups in merge.items()
    }


def merge_problems(questions: Mapping[str, AnyQuestion], merge: Merge) -> Iterator[Problem]:
    """Yield the reasons why some answers cannot be merged."""
    for id, groups in merge.items():
        if id not in questions:
            close, ids = likely(id, questions), list(questions)
            yield Problem("merge", "survey.unknown-id", value=id, meant=close, ids=ids)
        elif reason := questions[id].not_merged:
            yield Problem("merge", "survey.unfit", value=id, reason=reason)
        elif not _readable(groups):
            yield Problem(("merge", id), "survey.no-groups", value=groups)
        else:
            yield from _group_problems(questions[id], merged_answers(groups))


def _readable(groups: object) -> bool:
    each = groups.values() if isinstance(groups, Mapping) else groups
    return isinstance(each, Sequence | type({}.values())) and all(
        isinstance(answers, Sequence) and not isinstance(answers, str) for answers in each
    )


def _group_problems(question: AnyQuestion, groups: Sequence[Merged]) -> Iterator[Problem]:
    path, recorded = ("merge", question.id), question.recorded
    for name, answers in groups:
        unknown = [answer for answer in answers if answer not in recorded]
        for answer in unknown:
            yield Problem(
                path,
                "survey.merge-of-no-answer",
                value=answer,
                id=question.id,
                meant=likely(answer, recorded),
                answers=recorded,
            )
        if len(set(answers)) < 2 and not unknown:
            yield Problem(path, "survey.merge-of-one", value=name)
        elif name in recorded:
            yield Problem(path, "survey.merged-name-taken", value=name)
        elif set(answers) == set(UNANSWERED):
            yield Problem(path, "survey.merge-of-states", value=name)
    counts = Counter(answer for _, answers in groups for answer in answers)
    for answer in (answer for answer, count in counts.items() if count > 1):
        yield Problem(path, "survey.merged-twice", value=answer)
    if any(set(recorded) <= set(answers) for _, answers in groups):
        yield Problem(path, "survey.one-answer-left", answers=len(recorded))


def parsed_merges(
    questions: Sequence[AnyQuestion], texts: Sequence[str]
) -> dict[str, AnswerGroups]:
    """Parse merges written as "QUESTION: a + b" or "QUESTION: NAME = a + b".

    Raises UsageError for a text without a question.
    """
    merges: dict[str, dict[str, Sequence[str]]] = {}
    for text in texts:
        ids = [q.id for q in questions if text.startswith(f"{q.id}:")]
        if not ids:
            listed = [question.id for question in questions]
            raise UsageError.of("merge", "survey.no-merge", value=text, ids=listed)
        id = max(ids, key=len)
        answers = next(question.recorded for question in questions if question.id == id)
        name, group = _parsed_group(text[len(id) + 1 :].strip(), answers)
        groups = merges.setdefault(id, {})
        if name in groups:
            raise UsageError.of("merge", "survey.same-group-name", value=text)
        groups[name] = group
    return dict(merges)


def _parsed_group(text: str, recorded: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the name and the answers of one group; answers may contain "+" and "=" themselves."""
    if answers := _split(text, recorded):
        return MERGED.join(answers), answers
    for place in (at for at, letter in enumerate(text) if letter == "="):
        if answers := _split(text[place + 1 :], recorded):
            return text[:place].strip(), answers
    name, sign, rest = text.partition("=")
    answers = tuple(part.strip() for part in (rest if sign else text).split("+"))
    return (name.strip() if sign else MERGED.join(answers)), answers


def _split(text: str, recorded: Sequence[str]) -> tuple[str, ...]:
    """Split a text at "+" into recorded answers; return () if that is not possible."""
    if text.strip() in recorded:
        return (text.strip(),)
    for place in (at for at, letter in enumerate(text) if letter == "+"):
        if text[:place].strip() in recorded and (rest := _split(text[place + 1 :], recorded)):
            return (text[:place].strip(), *rest)
    return ()
