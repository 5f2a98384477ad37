"""XLSForm (ODK, KoboToolbox, SurveyCTO): the tables survey, choices and settings, as sheets of a
workbook, as sections of a CSV file, or as several CSV files.

The format: https://xlsform.org and https://github.com/XLSForm/pyxform.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from incrowd.catalog.sentences import sentence
from incrowd.drafts.columns import ColumnDraft, DraftQuestion, SkippedColumn
from incrowd.drafts.draft import Draft
from incrowd.drafts.expressions import (
    FALSE,
    TRUE,
    ExpressionLanguage,
    FormCondition,
    has,
    same,
    written,
)
from incrowd.drafts.form import (
    Form,
    FormFile,
    SheetTable,
    ambiguous,
    in_steps,
    numbers,
    one_of,
    some_of,
    ticked,
    with_other,
)
from incrowd.drafts.layout import FormItem, FormPart, laid_out
from incrowd.drafts.wording import FormWording, Languages
from incrowd.encoding.sources import source_of
from incrowd.errors import AnswersError
from incrowd.survey.words import LANGUAGE

# The languages of a questionnaire, which the names of columns contain: `label::English (en)`.

_COLUMN = re.compile(r"(label|hint)(?:\s*::?\s*(.*))?")
_MORE = r"(?:-[A-Za-z0-9]{1,8})*"
_LANGUAGE = re.compile(rf".*\(([A-Za-z]{{2,3}}{_MORE})\)|([A-Za-z]{{2}}{_MORE})")

FormRow = Mapping[str, str]


def languages_of(columns: Iterable[str], default: str) -> Languages:
    """Return the languages of some columns. default: the form's name of the main one, or empty.

    Columns without a language are in the default language.
    """
    parts = (_COLUMN.fullmatch(column) for column in columns)
    names = list(dict.fromkeys(part[2] or "" for part in parts if part)) or [""]
    tags = {name: tag for name in names if (tag := _tag(name or default))}
    main = _main(names, tags, default)
    notes = []
    if main not in tags and (main or len(names) > 1):
        subject = repr(main) if main else "columns without a language"
        notes.append(
            f"{subject}: the language has no tag; {LANGUAGE!r} was assumed; set `language`"
        )
    tags = {main: tags.get(main, LANGUAGE)} | tags
    for name in (name for name in names if name not in tags):
        subject = repr(name) if name else "columns without a language"
        notes.append(f"{subject}: left out; add the language tag, as in label::English (en)")
    return Languages(tags, tuple(notes))


def _main(names: Sequence[str], tags: Mapping[str, str], default: str) -> str:
    """Return the name of the main language;
    one without a tag only if no other has the assumed tag."""
    for name in (default, ""):
        if name in tags:
            return name
    if "" in names and LANGUAGE not in tags.values():
        return ""
    return next(iter(tags), names[0])


def _tag(name: str) -> str | None:
    """Return the tag in the name of a language, such as `en` in "English (en)" and in "en"."""
    match = _LANGUAGE.fullmatch(name.strip())
    if not match:
        return None
    first, *rest = (match[1] or match[2]).split("-")
    return "-".join([first.lower(), *rest])


def _translations(row: FormRow, field: str, languages: Languages) -> dict[str, str]:
    """Return the `label` or the `hint` of a row in each language."""
    parts = {_COLUMN.fullmatch(column): text for column, text in row.items() if text}
    texts = {part[2] or "": text for part, text in parts.items() if part and part[1] == field}
    by_tag: dict[str, str] = {}
    for name in (name for name in languages.tags if name in texts):
        by_tag.setdefault(languages.tags[name], texts[name])
    return by_tag


# The tables of a form.

TABLES = ("survey", "choices", "settings")
SEARCHED = 20  # first rows, for the header of a table
_SEPARATOR = re.compile(r"\s*::?\s*")
_OTHER_NAMES = {
    "caption": "label",
    "command": "type",
    "tag": "name",
    "value": "name",
    "listname": "list_name",
    "relevance": "relevant",
    "title": "form_title",
}
_HEADERS = {
    "survey": ({"type", "name"},),
    "choices": ({"list_name", "name"},),
    "settings": ({"form_title"}, {"form_id"}, {"default_language"}),
}


def _column(name: Any) -> str:
    """Return the name of a column as the documentation of XLSForm writes it."""
    parts = _SEPARATOR.split(_text(name), maxsplit=1)
    first, rest = parts[0].casefold().replace(" ", "_"), "".join(parts[1:])
    if first == "bind" and rest:
        first, rest = rest.casefold().replace(" ", "_"), ""
    first = _OTHER_NAMES.get(first, first)
    return f"{first}::{rest}" if rest else first


def _text(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else " ".join(str(cell).split())


def _has_header(table: str, row: Sequence[Any]) -> bool:
    columns = {*map(_column, row)}
    return any(header <= columns for header in _HEADERS[table])


def _from_header(table: str, rows: SheetTable) -> SheetTable:
    """Return the rows from the header on; none without a header."""
    for place, row in enumerate(rows[:SEARCHED]):
        if _has_header(table, row):
            return rows[place:]
    return ()


def _sheets(file: FormFile) -> dict[str, SheetTable]:
    """Return the tables of a workbook; none if it has no sheet with questions."""
    named = [(_role(name), name) for name in file.sheet_names]
    named.sort(key=lambda each: each[1].casefold() not in TABLES)  # "survey" before "Survey (old)"
    roles = {name: role for role, name in named}
    chosen = file.source.sheet or next((n for n, role in roles.items() if role == "survey"), None)
    chosen = chosen or next(iter(file.sheet_names), None)
    if chosen not in roles:
        return {}
    tables = {"survey": _from_header("survey", file.sheet(chosen))}
    if tables["survey"]:
        for name, role in roles.items():
            if role in TABLES and role not in tables:
                tables[role] = _from_header(role, file.sheet(name))
        others = [name for name, role in roles.items() if name != chosen and role not in TABLES]
        for role in (role for role in TABLES if role not in tables):  # sheets named otherwise
            tables[role] = next(
                filter(None, (_from_header(role, file.sheet(n)) for n in others)), ()
            )
    return {role: rows for role, rows in tables.items() if rows}


def _role(sheet: str) -> str:
    """Return the first word of a name, such as "survey" for "Survey (v2)" and "survey1"."""
    match = re.search(r"[^\W\d_]+", sheet.casefold())
    return match[0] if match else ""


def _sections(rows: SheetTable) -> dict[str, SheetTable]:
    """Return the tables of a CSV file: each begins with its header, or with a row that names it.

    Without either, every row belongs to the first one.
    """
    tables: dict[str, list[Sequence[Any]]] = {}
    table = ""
    for row in rows:
        filled = [_text(cell).casefold() for cell in row if _text(cell)]
        if len(filled) == 1 and filled[0] in TABLES:
            table = filled[0]
            continue
        begun = next((t for t in TABLES if t not in tables and _has_header(t, row)), table)
        if begun != table and begun not in tables:
            table = begun
        if table in tables or (table and _has_header(table, row)):
            tables.setdefault(table, []).append(row)
        elif len(tables) == 0 and len(filled) > 1:
            return {}
    return {**tables}


def _rows(table: SheetTable) -> Iterator[FormRow]:
    """Yield the rows of a table as texts by the names of the columns."""
    names = [_column(name) for name in table[0]] if table else []
    for row in table[1:]:
        filled: dict[str, str] = {}
        for name, cell in zip(names, row, strict=False):
            if name and not filled.get(name):
                filled[name] = str(_cell(cell)).strip()
        if any(filled.values()):
            yield filled


def _cell(cell: Any) -> Any:
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return "" if cell is None else cell


# The types of rows.

_SELECT = re.compile(
    r"(?:add )?(?P<how>select[ _]?(?:one|1|multiple|all[ _]that[ _]apply)|rank)(?: prompt)?"
    r"(?P<file>[ _](?:external|from[ _]file))?(?: (?:from|using))?(?: (?P<list>.+?))?"
    r"(?P<other> or[ _](?:specify[ _])?other)?",
    re.IGNORECASE,
)
_GROUP = re.compile(r"(begin|end)(?:[ _]?(group|lgroup|repeat|loop)\b.*|[ _]\w+)", re.IGNORECASE)
_NUMBERS = frozenset({"int", "integer", "decimal"})
_RANGE = frozenset({"range"})
_TICK = frozenset({"acknowledge", "trigger"})
_OTHERS = frozenset(
    {
        *("text", "string", "date", "time", "datetime", "geopoint", "geotrace", "geoshape"),
        *("location", "gps", "image", "photo", "audio", "video", "file", "barcode", "q string"),
    }
)
_QUIET = frozenset(
    {
        *("note", "calculate", "hidden", "start", "end", "today", "deviceid", "subscriberid"),
        *("simserial", "phonenumber", "username", "email", "audit", "imei", "start-geopoint"),
        *("background-audio", "background-geopoint", "csv-external", "xml-external", "entity"),
        *("calculate_here", "text audit", "speed violations list", "caseid", "osm"),
    }
)
_PARAMETER = re.compile(r"(start|end|step)\s*=\s*(-?[\d.]+)", re.IGNORECASE)
_RANGE_START, _RANGE_END = 1.0, 10.0  # without parameters
_COUNTED = re.compile(r"count-selected\(\s*\.\s*\)\s*(<=?|=)\s*(\d+)")
_LOW = re.compile(r"(?<![\w.}])\.\s*(>=?)\s*(-?\d+(?:\.\d+)?)")
_HIGH = re.compile(r"(?<![\w.}])\.\s*(<=?)\s*(-?\d+(?:\.\d+)?)")
_EITHER = re.compile(r"\bor\b|\bnot\b|\bif\b")
_ALWAYS = frozenset({"yes", "true", "true()", "1"})
_NEVER = frozenset({"", "no", "false", "false()", "0"})
_WHOLE = re.compile(r"(?<=\d)\.0+$")  # of a code that was a number in a workbook
_REFERENCE = re.compile(r"\$\{[^{}]*\}")
_TABLE, _LABELS, _WITHOUT_LABELS = "table-list", "label", "list-nolabel"  # appearances
_OTHER = frozenset({"other", "others", "autre", "otro", "outro", "andere", "sonstiges"})
_CONSENT = re.compile(r"consent|einwillig|einverst|consentimiento", re.IGNORECASE)
_THANKS = re.compile(r"thank|dank|merci|gracias|obrigad", re.IGNORECASE)
_LANGUAGE_OF_CONDITIONS = ExpressionLanguage(
    r"\$\{\s*([^{}\s]+)\s*\}",
    functions={"selected": has, "true": TRUE, "false": FALSE}
    | dict.fromkeys(("number", "int", "string", "boolean"), same),
)


def _kind(row: FormRow) -> str:
    kind = " ".join(row.get("type", "").split()).casefold()
    return kind.removeprefix("add ").removesuffix(" prompt")


def _is_known(row: FormRow) -> bool:
    kind = _kind(row)
    simple = kind in _NUMBERS | _RANGE | _TICK | _OTHERS | _QUIET
    return simple or bool(_SELECT.fullmatch(kind) or _GROUP.fullmatch(kind))


def _tables(file: FormFile, *, whole: bool) -> dict[str, SheetTable]:
    """Return the tables of a form. whole: whether all rows of a text are needed."""
    if file.sheet_names:
        return _sheets(file)
    return _sections(file.rows if whole else file.first_rows)


def recognized(file: FormFile) -> bool:
    """Return whether a file has the columns of a form, and mostly known types; or its sheets."""
    tables = _tables(file, whole=False)
    if _are_choices(tables):
        return True
    typed = [row for row in _rows(tables.get("survey", ())) if row.get("type")]
    if "survey" in tables and "choices" in tables:
        return True
    return bool(typed) and 2 * sum(map(_is_known, typed)) >= len(typed)


def _are_choices(tables: Mapping[str, SheetTable]) -> bool:
    """Return whether a file has nothing but the choices of a form."""
    columns = {*map(_column, tables.get("choices", [()])[0])}
    return "survey" not in tables and any(name.startswith("label") for name in columns)


# The questions.


class ChoiceLists(NamedTuple):
    """The choices of a form. codes: of each list, the wording of each code. twice: of each list,
    the codes with two different labels."""

    codes: Mapping[str, Mapping[str, Mapping[str, str]]]
    twice: Mapping[str, Sequence[str]]


def draft_of(name: str, file: FormFile) -> Draft:
    """Draft a question for each row of the table `survey` that people answer.

    Raises AnswersError for choices without questions.
    """
    tables = _tables(file, whole=True)
    if _are_choices(tables):
        raise AnswersError.of("answers", "drafts.choices-alone", value=file.source.name)
    notes = ["a form does not say how many people answer; set the crowd"]
    for table in ("choices", "settings"):
        if table not in tables and (other := _beside(file, table)):
            tables |= _sections(FormFile(source_of(other)).rows)
            notes.append(f"the {table} were read from {other.name}")
    settings = next(_rows(tables.get("settings", ())), {})
    survey = [*_rows(tables["survey"])]
    listed = [row for row in survey if row.get("list_name") and not row.get("type")]
    listed += _rows(tables.get("choices", ()))
    headers = (tables["survey"][0], *tables.get("choices", ())[:1])
    names = [_column(name) for header in headers for name in header]
    languages = languages_of(names, settings.get("default_language", ""))
    wording = FormWording(languages, _REFERENCE, markdown=True)
    frame = _frame(survey, wording)
    items = _items(_placed(survey, frame, languages), _choices(listed, wording), wording)
    layout = laid_out(items, wording, [row["name"] for row in frame.boxes])
    title = wording.plain(settings.get("form_title", "")) or name
    every = (*notes, *languages.notes)
    return layout.draft(title, every, languages.main, frame.texts(wording))


def _beside(file: FormFile, table: str) -> Path | None:
    """Return the file of another table of a form, next to the CSV file of its questions."""
    path = file.source.path
    if file.source.kind != "csv" or file.source.content is not None:
        return None
    name = re.sub("survey", table, path.name, flags=re.IGNORECASE)
    other = next((each for each in path.parent.glob(f"*{path.suffix}") if _equal(each, name)), None)
    return other if other and name.casefold() != path.name.casefold() else None


def _equal(path: Path, name: str) -> bool:
    return path.name.casefold() == name.casefold() and path.is_file()


def _choices(rows: Iterable[FormRow], wording: FormWording) -> ChoiceLists:
    codes: dict[str, dict[str, Mapping[str, str]]] = {}
    twice: dict[str, list[str]] = {}
    for row in rows:
        name, code = row.get("list_name", "").casefold(), _WHOLE.sub("", row.get("name", ""))
        if not code:
            continue
        label = _translations(row, "label", wording.languages)
        first = codes.setdefault(name, {}).setdefault(code, label)
        if first != label:
            twice.setdefault(name, []).append(code)
    return ChoiceLists(codes, twice)


class FormFrame(NamedTuple):
    """The rows with the texts around the questions. consent: those before the first question.
    boxes: those of consent that people have to tick. thanks: those after the last question."""

    consent: Sequence[FormRow]
    boxes: Sequence[FormRow]
    thanks: Sequence[FormRow]

    def texts(self, wording: FormWording) -> dict[str, Any]:
        """Return the table `page` of a survey."""
        texts = {"consent": self.consent, "thanks": self.thanks}
        words = {key: _paragraphs(rows, wording) for key, rows in texts.items()}
        return {key: text for key, text in words.items() if text}


def _paragraphs(rows: Iterable[FormRow], wording: FormWording) -> dict[str, str] | str:
    """Return the labels of some rows as one text, in every language that all of them have."""
    labels = [_translations(row, "label", wording.languages) for row in rows]
    every = [words for words in map(wording.every, labels) if words]
    main = wording.languages.main
    tags = [tag for tag in every[0] if all(tag in words for words in every)] if every else []
    if len(tags) > 1 and main in tags:
        return {tag: "\n".join(words[tag] for words in every) for tag in tags}
    return "\n".join(filter(None, map(wording.one, labels)))


def _frame(rows: Sequence[FormRow], wording: FormWording) -> FormFrame:
    """Return the rows with consent and thanks: notes named so, and a box at the beginning that
    has to be ticked."""
    consent: list[FormRow] = []
    boxes: list[FormRow] = []
    places = [place for place, row in enumerate(rows) if _asks(row)]
    for place in range(places[0] + 1 if places else 0):
        row = rows[place]
        box = _kind(row) in _TICK and row.get("required", "").casefold() in _ALWAYS
        if row.get("relevant") or not wording.one(_translations(row, "label", wording.languages)):
            continue
        if box or (_kind(row) == "note" and _CONSENT.search(row.get("name", ""))):
            consent.append(row)
        if box:
            boxes.append(row)
    after = rows[places[-1] + 1 :] if places else ()
    notes = (row for row in after if _kind(row) == "note" and not row.get("relevant"))
    texts = ((row, wording.one(_translations(row, "label", wording.languages))) for row in notes)
    return FormFrame(consent, boxes, [row for row, text in texts if _THANKS.search(text)])


def _asks(row: FormRow) -> bool:
    """Return whether people answer a row."""
    kind = _kind(row)
    return bool(row.get("name") and kind and kind not in _QUIET and not _GROUP.fullmatch(kind))


class PlacedRow(NamedTuple):
    """A row, the groups around it from the outermost, and the repeated one of these, or ""."""

    row: FormRow
    groups: tuple[str, ...]
    repeat: str
    conditions: tuple[FormCondition, ...]
    section: FormPart | None
    matrix: FormPart | None


class OpenGroup(NamedTuple):
    """A group around rows. place: of its first row. appearance: how it is shown."""

    place: int
    name: str
    again: bool
    relevant: str
    appearance: Sequence[str]
    words: Mapping[str, str]


def _placed(rows: Sequence[FormRow], frame: FormFrame, languages: Languages) -> Iterator[PlacedRow]:
    """Yield the rows that people answer; notes, groups, and consent are not questions."""
    groups: list[OpenGroup] = []
    header: tuple[int, Mapping[str, str]] | None = None  # of a table whose labels are a row
    for place, row in enumerate(rows):
        kind = _kind(row)
        appearance = row.get("appearance", "").casefold().split()
        words = _translations(row, "label", languages)
        if match := _GROUP.fullmatch(kind):
            header = None
            if match[1] == "begin":
                again = match[2] not in ("group", "lgroup")  # or a grid of other software
                name = row.get("name", "")
                relevant = row.get("relevant", "")
                groups.append(OpenGroup(place, name, again, relevant, appearance, words))
            elif groups:
                groups.pop()
        elif not _asks(row) or row in frame.boxes:
            continue
        elif _SELECT.fullmatch(kind) and _LABELS in appearance:
            header = (place, words or (groups[-1].words if groups else {}))
        else:
            if _WITHOUT_LABELS not in appearance:
                header = None
            yield _in_groups(row, groups, header)


def _in_groups(
    row: FormRow, groups: Sequence[OpenGroup], header: tuple[int, Mapping[str, str]] | None
) -> PlacedRow:
    """Return a row with its section, the outermost group with a label, and its matrix."""
    outermost = next(
        (n for n, each in enumerate(groups) if each.words and _TABLE not in each.appearance), None
    )
    inside = 0 if outermost is None else outermost + 1
    matrix = section = None
    if outermost is not None:
        group = groups[outermost]
        section = FormPart(group.place, group.name, group.words, _conditions(groups[:inside]))
    inner = groups[-1] if groups else None
    if header:
        matrix = FormPart(header[0], inner.name if inner else row["name"], header[1])
    elif inner and _TABLE in inner.appearance:
        matrix = FormPart(inner.place, inner.name, inner.words)
    conditions = _conditions(groups[inside:])
    if relevant := row.get("relevant"):
        conditions = (*conditions, written(relevant, _LANGUAGE_OF_CONDITIONS))
    repeats = [each.name or "repeat" for each in groups if each.again]
    names = tuple(each.name for each in groups if each.name)
    return PlacedRow(row, names, repeats[0] if repeats else "", conditions, section, matrix)


def _conditions(groups: Sequence[OpenGroup]) -> tuple[FormCondition, ...]:
    texts = dict.fromkeys(each.relevant for each in groups if each.relevant)
    return tuple(written(text, _LANGUAGE_OF_CONDITIONS) for text in texts)


def _items(
    rows: Iterable[PlacedRow], choices: ChoiceLists, wording: FormWording
) -> Iterator[FormItem]:
    placed = [*rows]
    once = [each for each in placed if not each.repeat]
    ids = iter(_ids([(*each.groups, each.row["name"]) for each in once]))
    for each in placed:
        name = each.row["name"]
        if each.repeat:
            why = sentence("drafts.asked-repeatedly", repeat=each.repeat)
            yield FormItem(SkippedColumn(name, why))
            continue
        id = next(ids)
        column = _question(id, each, choices, wording)
        if id != name and isinstance(column, DraftQuestion):
            names = (joint.join((*each.groups, name)) for joint in "/-")
            column = column.noting(
                f"In exported answers it is named {' or '.join(names)}; set `column` to that name."
            )
            column = column.doubting(
                f"several questions are named {name}; say in each what it is about"
            )
        yield FormItem(
            column,
            _translations(each.row, "label", wording.languages),
            _translations(each.row, "hint", wording.languages),
            each.row.get("required", "").casefold() in _ALWAYS,
            each.conditions,
            each.section,
            each.matrix,
            name,
            each.groups,
        )


def _ids(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a name for each path: the last part, with the groups before it where these tell equal
    names apart."""
    ids = [path[-1] for path in paths]
    for depth in range(2, max(map(len, paths), default=0) + 1):
        several = Counter(ids)
        ids = [
            "_".join(path[-depth:]) if several[id] > 1 else id
            for id, path in zip(ids, paths, strict=True)
        ]
    return ids


def _question(
    id: str, placed: PlacedRow, choices: ChoiceLists, wording: FormWording
) -> ColumnDraft:
    row = placed.row
    if row.get("disabled", "").casefold() in _ALWAYS:
        return SkippedColumn(id, sentence("drafts.disabled"))
    column = _typed(id, row, choices, wording)
    required = row.get("required", "").casefold()
    if isinstance(column, DraftQuestion) and required not in _ALWAYS | _NEVER:
        column = column.noting(f"Required only if {row['required']}, so it is optional.")
    if isinstance(column, DraftQuestion) and (only := row.get("choice_filter")):
        column = column.noting(f"In the form, other answers decide which are shown: {only}.")
    constraint = row.get("constraint", "")
    if isinstance(column, DraftQuestion) and constraint and not _is_limit(column, constraint):
        column = column.doubting(
            f"the form accepts only answers with {constraint}, which a survey does not check"
        )
    return column


def _typed(id: str, row: FormRow, choices: ChoiceLists, wording: FormWording) -> ColumnDraft:
    kind, constraint = _kind(row), row.get("constraint", "")
    if select := _SELECT.fullmatch(" ".join(row["type"].split())):
        return _selected(id, row, select, choices, wording)
    if kind in _NUMBERS:
        bounds = _bound(_LOW, constraint), _bound(_HIGH, constraint)
        return _beyond(numbers(id, *bounds, whole=kind != "decimal"), constraint)
    if kind in _RANGE:
        stated = {
            key.lower(): _number(n) for key, n in _PARAMETER.findall(row.get("parameters", ""))
        }
        ends = stated.get("start", _RANGE_START), stated.get("end", _RANGE_END)
        step = abs(stated.get("step", 1.0))
        whole = all(each.is_integer() for each in (*ends, step))
        column = numbers(id, min(ends), max(ends), whole=whole)
        return in_steps(column, min(ends), max(ends), step) if 0 < step < 1 else column
    if kind in _TICK:
        return ticked(id, "OK")
    return SkippedColumn(id, sentence("drafts.uncounted-type", type=kind))


def _selected(
    id: str, row: FormRow, select: re.Match[str], choices: ChoiceLists, wording: FormWording
) -> ColumnDraft:
    how, name = select["how"].casefold(), (select["list"] or "").casefold()
    if how.startswith("rank"):
        return SkippedColumn(id, sentence("drafts.ranking"))
    if select["file"] or "search(" in row.get("appearance", ""):
        return SkippedColumn(id, sentence("drafts.choices-elsewhere", name=select["list"] or ""))
    codes = dict(choices.codes.get(name, {}))
    if not codes:
        return SkippedColumn(id, sentence("drafts.no-choices", list=select["list"] or ""))
    if select["other"]:
        codes.setdefault("other", {wording.languages.main: "other"})
    if "multiple" in how or "all" in how:
        column = some_of(id, codes, wording, _most(row.get("constraint", "")))
    else:
        column = one_of(id, codes, wording)
    named = {code: {code.casefold(), wording.one(codes[code]).casefold()} for code in codes}
    if other := next((code for code, names in named.items() if names & _OTHER), None):
        column = with_other(column, other)
    return ambiguous(column, [*dict.fromkeys(choices.twice.get(name, ()))])


def _most(constraint: str) -> int | None:
    limit = _COUNTED.search(constraint)
    return int(limit[2][:9]) - (limit[1] == "<") if limit else None


def _bound(pattern: re.Pattern[str], constraint: str) -> float | None:
    """Return a bound of a number; None if there is none, or it does not hold for all answers."""
    match = pattern.search(constraint)
    return _number(match[2]) if match and not _EITHER.search(constraint) else None


def _beyond(question: DraftQuestion, constraint: str) -> DraftQuestion:
    """Return a question about whole numbers beyond its bounds, where the form says < or >."""
    keys = dict(question.keys)
    for key, pattern, step in (("minimum", _LOW, 1), ("maximum", _HIGH, -1)):
        match = pattern.search(constraint)
        if key in keys and keys.get("whole") and match and "=" not in match[1]:
            keys[key] += step
    if keys.get("minimum", 0) > keys.get("maximum", keys.get("minimum", 0)):
        del keys["minimum"], keys["maximum"]
    return replace(question, keys=keys)


def _is_limit(question: DraftQuestion, constraint: str) -> bool:
    """Return whether a constraint is nothing but bounds of a number, or a number of options."""
    parts = [part.strip() for part in re.split(r"\band\b", constraint)]
    if "edges" in question.keys:
        bare = [part.strip("() ") for part in parts]
        return all(_LOW.fullmatch(part) or _HIGH.fullmatch(part) for part in bare)
    return all(_COUNTED.fullmatch(part) for part in parts)


def _number(text: str) -> float:
    whole, _, fraction = text.partition(".")
    return float(f"{whole or 0}.{fraction.replace('.', '') or 0}")


FORM = Form(sentence("drafts.xlsform"), recognized, draft_of)
