"""What questions, answers, and tables are called on pages: their texts, shortened, not their short
names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from incrowd.catalog.sentences import ENGLISH, translated
from incrowd.characters import shortened
from incrowd.studio import operations
from incrowd.studio.condition_form import in_main
from incrowd.studio.document import Raw
from incrowd.survey import Survey
from incrowd.survey.questions import type_of
from incrowd.survey.words import LANGUAGE

MOST_LETTERS = 80
CROSS = " × "

QuestionTitles = Mapping[str, str]  # by id


def titles_of(survey: Survey, language: str = "") -> QuestionTitles:
    """Return the titles of the questions of a survey, in a language if they have it."""
    return _distinct((each.id, survey.text_of(each.id, language)) for each in survey.questions)


def titles_in(content: Raw) -> QuestionTitles:
    """Return the titles of the questions in a survey file, whatever mistakes are in it."""
    language = content.get("language", LANGUAGE)
    main = language if isinstance(language, str) else LANGUAGE
    return _distinct(
        (str(each.get("id", "")), in_main(each.get("text"), main))
        for each in operations.questions(content)
    )


def answer_title_in(content: Raw, asked: Raw, answer: str) -> str:
    """Return what people read for an answer to a question in a survey file with this content."""
    language, labels = content.get("language", LANGUAGE), asked.get("labels")
    main = language if isinstance(language, str) else LANGUAGE
    label = in_main(labels.get(answer), main) if isinstance(labels, dict) else ""
    kind = type_of(asked)
    question = kind.without_wording(asked) if kind else None
    return label or (question.spoken(answer) if question else answer)


def _distinct(texts: Iterable[tuple[str, str]]) -> QuestionTitles:
    """Return titles by id; those that are the same after shortening also have the id."""
    titles = {id: shortened(text, MOST_LETTERS) or id for id, text in texts}
    several = Counter(titles.values())
    return {id: f"{each} ({id})" if several[each] > 1 else each for id, each in titles.items()}


def answer_title(survey: Survey, id: str, answer: str, language: str = "") -> str:
    """Return what an answer is called: its label, in a language if it has one in it. Yes, no, and
    those of people who gave no answer have names in all languages."""
    return str(translated(survey.label_of(id, answer, language), language or ENGLISH))


def table_title(ids: Iterable[str], titles: QuestionTitles) -> str:
    """Return the title of a table: those of its questions with crosses."""
    return CROSS.join(titles.get(id, id) for id in ids)


def variable_title(text: object, titles: QuestionTitles) -> str:
    """Return the title of a variable of a regression: a question, an answer to one, or an
    interaction."""
    ids, shown = [*titles], []
    for variable in operations.variables_of(str(text), ids):
        id = operations.variable_of(variable, ids)
        shown.append(variable if id is None else variable.replace(id, titles[id], 1))
    return CROSS.join(shown)


def formula_title(outcome: object, on: object, titles: QuestionTitles) -> str:
    """Return the title of a regression: its outcome and its predictors."""
    predictors = on if isinstance(on, list | tuple) else ()
    joined = " + ".join(variable_title(each, titles) for each in predictors)
    return f"{variable_title(outcome, titles)} ~ {joined}"
