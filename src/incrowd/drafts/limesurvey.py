"""LimeSurvey's survey structure (.lss): XML with a table of rows for each part of a survey.

The parts: https://www.limesurvey.org/manual/Export_survey. Since version 4, texts are in tables of
their own (question_l10ns, answer_l10ns); before, each row is repeated in every language.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat

from incrowd.catalog.sentences import Sentence, sentence
from incrowd.drafts.columns import ColumnDraft, DraftQuestion, SkippedColumn
from incrowd.drafts.conditions import EarlierAnswers, all_of, has_negation
from incrowd.drafts.draft import Draft
from incrowd.drafts.expressions import (
    ExpressionLanguage,
    FormCondition,
    is_empty,
    same,
    written,
)
from incrowd.drafts.form import (
    Form,
    FormFile,
    numbers,
    one_of,
    read_from,
    some_of,
    with_other,
)
from incrowd.drafts.layout import FormItem, FormPart, laid_out, shown
from incrowd.drafts.missing import number
from incrowd.drafts.wording import FormWording, Languages, Translations
from incrowd.errors import AnswersError
from incrowd.survey.conditions import Condition
from incrowd.survey.words import LANGUAGE, TAG

LineRow = Mapping[str, str]
Tables = Mapping[str, Sequence[LineRow]]

MOST_DEPTH = 16
_KIND = re.compile(r"<LimeSurveyDocType>\s*(Survey|Group|Question)\s*<")  # or a part of a survey
_REFERENCE = re.compile(r"\{[^{}\s][^{}]*\}")
_NAME = r"([A-Za-z]\w*)(?:\.(NAOK|code|value|valueNAOK))?(?![\w.]|\s*\()"


def _refined(condition: Condition, text: str, answers: EarlierAnswers) -> Condition:
    """Return a condition that does not hold if a question was not asked whose name has no NAOK."""
    if not has_negation(condition):
        return condition  # a comparison with the answer of such a question does not hold either
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", " ", text)
    strict = (m[1] for m in re.finditer(_NAME, bare) if "NAOK" not in (m[2] or ""))
    names = (name for name in strict if name.casefold() not in _WORDS.keys() | {"and", "or", "not"})
    return all_of([condition, *map(answers.were_asked, dict.fromkeys(names))])


_WORDS = {
    **{"&&": "and", "||": "or", "!": "not", "==": "=", "eq": "=", "ne": "!=", "lt": "<"},
    **{"le": "<=", "gt": ">", "ge": ">="},
}
_LANGUAGE_OF_CONDITIONS = ExpressionLanguage(
    _NAME,
    words=_WORDS,
    functions={"is_empty": is_empty, "empty": is_empty, "intval": same, "floatval": same},
    refined=_refined,
)


def recognized(file: FormFile) -> bool:
    """Return whether a file is a survey structure."""
    return bool(_KIND.search(file.start))


# The tables.


@dataclass
class _TableReading:
    """The state of the parser: the names of the open elements, and what was read."""

    path: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    row: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[LineRow]] = field(default_factory=lambda: defaultdict(list))

    def start(self, name: str, _: Mapping[str, str]) -> None:
        if len(self.path) >= MOST_DEPTH:
            raise expat.ExpatError("nested too deeply")
        self.path.append(name)
        self.text.clear()

    def end(self, name: str) -> None:
        match self.path:
            case [_, _, "rows", "row", _]:
                self.row[name] = "".join(self.text).strip()
            case [_, table, "rows", "row"]:
                self.tables[table].append(self.row)
                self.row = {}
            case [_, "languages", "language"]:
                self.tables["languages"].append({"language": "".join(self.text).strip()})
        self.path.pop()

    def refuse(self, *_: object) -> NoReturn:
        raise expat.ExpatError("it declares a document type")


def tables_of(text: str) -> Tables:
    """Return the rows of every table. Raises ExpatError for damaged XML, and for a document type:
    its entities could stand for other files, or for billions of characters."""
    reading, parser = _TableReading(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reading.start, reading.end
    parser.CharacterDataHandler = reading.text.append
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = reading.refuse
    parser.ExternalEntityRefHandler = parser.UnparsedEntityDeclHandler = reading.refuse
    parser.Parse(re.sub(r"^\s*<\?xml[^>]*\?>", "", text).encode(), True)  # decoded already
    return reading.tables


# The questions.


class Subquestion(NamedTuple):
    """A row of an array, or an option of several. scale: the axis of an array with two axes.
    relevance: the expression that decides who sees it."""

    code: str
    words: Translations
    scale: str
    relevance: str


@dataclass(frozen=True)
class LimeQuestion:
    """A question with everything that belongs to it.

    answers: the wording of each answer by its code, for each scale. conditions: of the question and
    of its group, unless that is its section.
    """

    code: str
    kind: str
    words: Translations
    help: Translations
    other: bool
    mandatory: bool
    conditions: tuple[FormCondition, ...]
    section: FormPart | None
    subquestions: Sequence[Subquestion]
    answers: Mapping[str, Mapping[str, Translations]]
    attributes: Mapping[str, str]

    @property
    def rows(self) -> Sequence[Subquestion]:
        """The subquestions of the first axis."""
        return [each for each in self.subquestions if each.scale == "0"]


def draft_of(name: str, file: FormFile) -> Draft:
    """Draft a question for each question of a survey, and for each row of its arrays.

    Raises AnswersError for a damaged file.
    """
    try:
        tables = tables_of(file.text)
    except (expat.ExpatError, ValueError):
        raise AnswersError.of(
            "answers", "drafts.damaged-form", value=file.source.name, form=FORM.spoken
        ) from None
    languages = _languages(tables)
    wording = FormWording(languages, _REFERENCE)
    items = [item for question in _questions(tables) for item in _items(question, wording)]
    note = "a survey structure does not say how many people answer; set the crowd"
    title = wording.one(_settings(tables, "surveyls_title")) or name
    layout = laid_out(items, wording)
    return layout.draft(title, (note, *languages.notes), languages.main, _frame(tables, wording))


def _settings(tables: Tables, key: str) -> dict[str, str]:
    """Return a text of the survey in each language."""
    rows = tables.get("surveys_languagesettings", ())
    return {row.get("surveyls_language", ""): row[key] for row in rows if row.get(key)}


def _frame(tables: Tables, wording: FormWording) -> dict[str, Any]:
    """Return the table `page` of a survey: the text at its end, and its policy if people have to
    accept it."""
    (settings, *_) = tables.get("surveys") or [{}]
    texts = {"thanks": shown(_settings(tables, "surveyls_endtext"), wording)}
    if settings.get("showsurveypolicynotice", "0") not in ("", "0"):
        policy = shown(_settings(tables, "surveyls_policy_notice"), wording)
        texts = {"consent": policy} | texts
    return {key: text for key, text in texts.items() if text}


def _languages(tables: Tables) -> Languages:
    """Return the languages of a survey, its base language first."""
    (settings, *_) = tables.get("surveys") or [{}]
    base = settings.get("language", "")
    more = [row.get("language", "") for row in tables.get("languages", ())]
    tags = dict.fromkeys([base, *settings.get("additional_languages", "").split(), *more])
    return Languages({tag: tag for tag in tags if re.fullmatch(TAG, tag)} or {"": LANGUAGE})


def _texts(rows: Sequence[LineRow], key: str, default: str) -> dict[str, str]:
    return {row.get("language") or default: row[key] for row in rows if row.get(key)}


def _order(row: LineRow, *keys: str) -> tuple[float, ...]:
    return tuple(number(row.get(key, "")) or 0 for key in keys)


def _grouped(rows: Sequence[LineRow], key: str) -> dict[str, list[LineRow]]:
    """Return rows by a key: the same row in several languages, or rows that belong together."""
    groups: dict[str, list[LineRow]] = defaultdict(list)
    for row in rows:
        groups[row.get(key, "")].append(row)
    return groups


def _questions(tables: Tables) -> Iterator[LimeQuestion]:
    """Yield the questions in the order in which people see them."""
    default = _languages(tables).main
    groups = {row.get("gid", ""): row for row in tables.get("groups", ())}
    sections = _sections(tables, default)
    texts = _grouped(tables.get("question_l10ns", ()), "qid")
    every = [*tables.get("questions", ()), *tables.get("subquestions", ())]
    below = _grouped([row for row in every if _is_below(row)], "parent_qid")
    attributes = _grouped(tables.get("question_attributes", ()), "qid")
    answers = _answers(tables, default)

    def place(row: LineRow) -> tuple[float, ...]:
        return _order(groups.get(row.get("gid", ""), {}), "group_order") + _order(
            row, "question_order"
        )

    asked = _grouped([row for row in every if not _is_below(row)], "qid")
    for qid, rows in sorted(asked.items(), key=lambda each: place(each[1][0])):
        row, every_text = rows[0], [*rows, *texts.get(qid, ())]
        yield LimeQuestion(
            row.get("title", "") or f"q{qid}",
            row.get("type", ""),
            _texts(every_text, "question", default),
            _texts(every_text, "help", default),
            row.get("other") == "Y",
            row.get("mandatory") in ("Y", "S"),
            _conditions(row.get("relevance", "")),
            sections.get(row.get("gid", "")),
            [*_subquestions(below.get(qid, ()), texts, default)],
            answers.get(qid, {}),
            {a.get("attribute", ""): a.get("value", "") for a in attributes.get(qid, ())},
        )


def _is_below(row: LineRow) -> bool:
    return row.get("parent_qid", "0") not in ("", "0")


def _conditions(relevance: str) -> tuple[FormCondition, ...]:
    """Return the condition of a question or a group, unless everybody is asked."""
    plain = relevance.strip()
    return () if plain in ("", "1") else (written(plain, _LANGUAGE_OF_CONDITIONS),)


def _sections(tables: Tables, default: str) -> dict[str, FormPart]:
    """Return the section of each group of questions, by its number."""
    texts = _grouped(tables.get("group_l10ns", ()), "gid")
    sections: dict[str, FormPart] = {}
    for gid, rows in _grouped(tables.get("groups", ()), "gid").items():
        words = _texts([*rows, *texts.get(gid, ())], "group_name", default)
        name = words.get(default, "").casefold() or f"group_{gid}"
        below = _texts([*rows, *texts.get(gid, ())], "description", default)
        conditions = _conditions(rows[0].get("grelevance", ""))
        sections[gid] = FormPart(gid, name, words, conditions, below)
    return sections


def _subquestions(
    rows: Sequence[LineRow], texts: Mapping[str, Sequence[LineRow]], default: str
) -> Iterator[Subquestion]:
    by_id = _grouped(rows, "qid")
    for qid, each in sorted(by_id.items(), key=lambda pair: _order(pair[1][0], "question_order")):
        words = _texts([*each, *texts.get(qid, ())], "question", default)
        row = each[0]
        scale = row.get("scale_id") or "0"
        yield Subquestion(row.get("title", ""), words, scale, row.get("relevance", ""))


def _answers(
    tables: Tables, default: str
) -> Mapping[str, Mapping[str, Mapping[str, Translations]]]:
    """Return the wording of each answer by question, scale, and code."""
    l10ns = tables.get("answer_l10ns", ())
    by_id = _grouped([row for row in l10ns if row.get("aid")], "aid")
    answers: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for row in sorted(tables.get("answers", ()), key=lambda each: _order(each, "sortorder")):
        scales = answers.setdefault(row.get("qid", ""), {})
        codes = scales.setdefault(row.get("scale_id") or "0", {})
        words = _texts([row, *by_id.get(row.get("aid", "-"), ())], "answer", default)
        codes.setdefault(row.get("code", ""), {}).update(words)
    for row in (row for row in l10ns if row.get("qid") and row.get("code")):
        codes = answers.setdefault(row["qid"], {}).setdefault(row.get("scale_id") or "0", {})
        codes.setdefault(row["code"], {}).update(_texts([row], "answer", default))
    return answers


# The types of questions, which are letters and signs.

_FIXED: Mapping[str, Mapping[str, str]] = {
    "Y": {"Y": "Yes", "N": "No"},
    "G": {"F": "Female", "M": "Male"},
    "5": {str(n): str(n) for n in range(1, 6)},
    "A": {str(n): str(n) for n in range(1, 6)},
    "B": {str(n): str(n) for n in range(1, 11)},
    "C": {"Y": "Yes", "U": "Uncertain", "N": "No"},
    "E": {"I": "Increase", "S": "Same", "D": "Decrease"},
}
_NAMED_BY_SOFTWARE = "GCE"
_QUIET = "X*I"  # texts, equations, and the switch of the language
_LEFT_OUT: Mapping[str, Sentence] = {
    "R": sentence("drafts.ranking"),
    "|": sentence("drafts.file"),
    **dict.fromkeys("STUQD;", sentence("drafts.text-or-date")),
}
OTHER = "-oth-"  # the code of an answer that people write themselves


def _items(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    if question.kind in _QUIET:
        return
    if question.attributes.get("hidden") == "1":
        yield FormItem(SkippedColumn(question.code, sentence("drafts.hidden-field")))
        return
    for item in _typed(question, wording):
        column = item.column
        if question.kind in _NAMED_BY_SOFTWARE and isinstance(column, DraftQuestion):
            column = _named_in_english(column, wording)
        yield item._replace(
            column=column,
            help=question.help,
            required=question.mandatory,
            conditions=(*question.conditions, *item.conditions),
            section=question.section,
        )


def _named_in_english(column: DraftQuestion, wording: FormWording) -> DraftQuestion:
    if wording.languages.main.startswith(LANGUAGE):
        return column
    return column.doubting("the form does not contain these answers, which are named in English")


def _typed(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    if way := _WAYS.get(question.kind):
        return way(question, wording)
    why = _LEFT_OUT.get(question.kind) or sentence("drafts.uncounted-type", type=question.kind)
    return iter([FormItem(SkippedColumn(question.code, why), question.words)])


def _list(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    codes = _fixed(question, wording) or {**question.answers.get("0", {})}
    column = one_of(question.code, codes | _other(question, wording), wording)
    yield FormItem(with_other(column, OTHER), question.words)


def _several(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    codes = {each.code: each.words for each in question.rows} | _other(question, wording)
    most = number(question.attributes.get("max_answers", ""))
    at_most = None if most is None else int(min(most, len(codes)))
    column = _one_column(some_of(question.code, codes, wording, at_most), codes)
    boxes = {f"{question.code}_{each.code}": each.code for each in question.rows}
    only = dict.fromkeys(c.text for each in question.rows for c in _of_row(question, each))
    if only and isinstance(column, DraftQuestion):
        listed = "; ".join(only)
        column = column.noting(f"In the form, other answers decide which are shown: {listed}.")
    yield FormItem(with_other(column, OTHER), question.words, boxes=boxes)


def _of_row(question: LimeQuestion, row: Subquestion) -> tuple[FormCondition, ...]:
    """Return the conditions of a row: its own, and that the row with the same code of another
    question was chosen, or was not."""
    texts = [row.relevance]
    filters = (("array_filter", "==", " or "), ("array_filter_exclude", "!=", " and "))
    for attribute, operator, word in filters:
        names = filter(None, question.attributes.get(attribute, "").split(";"))
        texts.append(word.join(f'{name.strip()}_{row.code}.NAOK {operator} "Y"' for name in names))
    return tuple(each for text in texts for each in _conditions(text))


def _array(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    codes = _fixed(question, wording) or {**question.answers.get("0", {})}
    for each in question.rows:
        column = one_of(f"{question.code}_{each.code}", codes, wording)
        column = read_from(column, f"{question.code}[{each.code}]")
        conditions, matrix = _of_row(question, each), _matrix(question, question.words)
        yield FormItem(column, each.words, conditions=conditions, matrix=matrix)


def _matrix(question: LimeQuestion, words: Translations, part: str = "") -> FormPart:
    return FormPart((question.code, part), f"{question.code}{part}", words)


def _dual_array(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    for each in question.rows:
        for place, scale in enumerate(("0", "1"), start=1):
            codes = question.answers.get(scale, {})
            header = question.attributes.get(f"dualscale_header{'AB'[place - 1]}", "")
            above = {tag: f"{text} {header}" for tag, text in question.words.items()}
            column = one_of(f"{question.code}_{each.code}_{place}", codes, wording)
            column = read_from(column, f"{question.code}[{each.code}][{place}]")
            matrix = _matrix(question, above, f"_{place}")
            name = f"{question.code}_{each.code}_{scale}"
            conditions = _of_row(question, each)
            yield FormItem(column, each.words, conditions=conditions, matrix=matrix, name=name)


def _number(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    yield FormItem(_bounded(question.code, question), question.words)


def _numbers(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    for each in question.rows:
        column = _bounded(f"{question.code}_{each.code}", question)
        column = read_from(column, f"{question.code}[{each.code}]")
        conditions, matrix = _of_row(question, each), _matrix(question, question.words)
        yield FormItem(column, each.words, conditions=conditions, matrix=matrix)


def _number_array(question: LimeQuestion, wording: FormWording) -> Iterator[FormItem]:
    across = [each for each in question.subquestions if each.scale == "1"]
    for each in question.rows:
        for other in across:
            words = _together(each.words, other.words)
            cell = _cell(f"{question.code}_{each.code}_{other.code}", question)
            cell = read_from(cell, f"{question.code}[{each.code}_{other.code}]")
            conditions, matrix = _of_row(question, each), _matrix(question, question.words)
            yield FormItem(cell, words, conditions=conditions, matrix=matrix)


_WAYS: Mapping[str, Callable[[LimeQuestion, FormWording], Iterator[FormItem]]] = {
    **dict.fromkeys("L!OYG5", _list),
    **dict.fromkeys("MP", _several),
    **dict.fromkeys("FHABCE", _array),
    "1": _dual_array,
    "N": _number,
    "K": _numbers,
    ":": _number_array,
}


def _other(question: LimeQuestion, wording: FormWording) -> dict[str, Translations]:
    """Return the answer that people write themselves, if there is one."""
    if not question.other:
        return {}
    stated = question.attributes.get("other_replace_text", "")
    return {OTHER: {wording.languages.main: stated or "Other"}}


def _one_column(column: ColumnDraft, codes: Mapping[str, Translations]) -> ColumnDraft:
    if isinstance(column, SkippedColumn):
        return column
    first = next(iter(codes))
    return column.noting(
        f"LimeSurvey exports a column for each option, such as {column.id}[{first}]; join their "
        "codes with semicolons."
    )


def _fixed(question: LimeQuestion, wording: FormWording) -> dict[str, Translations]:
    """Return the answers that the type of a question determines."""
    main = wording.languages.main
    return {code: {main: label} for code, label in _FIXED.get(question.kind, {}).items()}


def _together(first: Translations, second: Translations) -> dict[str, str]:
    """Return the wording of a row and of a column, in every language that has the column."""
    return {tag: " ".join(filter(None, (first.get(tag), text))) for tag, text in second.items()}


_LIMIT = "{}_num_value_n"


def _bounds(question: LimeQuestion) -> tuple[float | None, float | None]:
    names = ("slider_{}",) if question.attributes.get("slider_layout") == "1" else ()
    low, high = (
        next(filter(None, (question.attributes.get(n.format(end)) for n in (*names, _LIMIT))), "")
        for end in ("min", "max")
    )
    return number(low), number(high)


def _bounded(id: str, question: LimeQuestion) -> ColumnDraft:
    whole = question.attributes.get("num_value_int_only") == "1"
    return numbers(id, *_bounds(question), whole=whole)


def _cell(id: str, question: LimeQuestion) -> ColumnDraft:
    """Return a cell of an array of numbers: by default 1 to 10, or a box."""
    if question.attributes.get("multiflexible_checkbox") == "1":
        return one_of(id, {"1": {LANGUAGE: "yes"}, "0": {LANGUAGE: "no"}}, FormWording())
    low, high = (
        number(question.attributes.get(f"multiflexible_{end}", "")) for end in ("min", "max")
    )
    return numbers(id, 1.0 if low is None else low, 10.0 if high is None else high)


FORM = Form(sentence("drafts.limesurvey"), recognized, draft_of)
