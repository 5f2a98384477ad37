"""A file or a data frame of answers -> a draft of the survey that they answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.catalog.sentences import Sentence, joined, sentence
from incrowd.drafts.columns import (
    ColumnDraft,
    DataColumn,
    DraftQuestion,
    SkippedColumn,
    question_of,
)
from incrowd.drafts.draft import Draft
from incrowd.drafts.forms import form_draft
from incrowd.drafts.people import ROW_NUMBERS, RepeatedIds, notes_of, repeated_ids
from incrowd.drafts.spellings import clean_id, confusable
from incrowd.drafts.ticks import together
from incrowd.encoding.answers import Data, load_data
from incrowd.encoding.cells import by_value, is_list, texts_of, without_point
from incrowd.encoding.frames import is_frame
from incrowd.encoding.sources import source_of
from incrowd.errors import AnswersError, quantity

FROM_DATA = (
    "options and edges were taken from the data; review them before anyone else reads the survey"
)
SMALL = 1000  # with fewer people, tables have large errors


def draft_of(name: str, data: Data) -> Draft:
    """Draft a question for each column from its values. Raises AnswersError without rows."""
    table = data.table
    if table.num_rows < 2:
        rows = sentence("drafts.one-row" if table.num_rows else "drafts.no-rows")
        raise AnswersError.of("answers", "drafts.few-rows", rows=rows)
    repeated, ids = repeated_ids(table), _ids(table.column_names)
    alone = [_column_draft(data, place, ids[place], repeated) for place in range(len(ids))]
    columns = together(alone, table, data.texts, data.sets)
    unnamed = [SkippedColumn(f"column {each}", sentence("drafts.no-name")) for each in data.unnamed]
    people = repeated.people if repeated else table.num_rows
    notes = [FROM_DATA, *_notes_on_rows(data), *notes_of(repeated, table)]
    if people < SMALL:
        notes.append(f"{people:,} people are few; `incrowd plan` shows how large the errors are")
    notes += [f"the questions {each}; rename a column" for each in confusable(ids)]
    each = repeated.most if repeated else 1
    return Draft(name, people, (*columns, *unnamed), tuple(notes), rows_per_person=each)


def _notes_on_rows(data: Data) -> Iterator[str]:
    """Yield which rows and sheets of a file were not read as people, or may not be people."""
    if data.skipped:
        rows = quantity(len(data.skipped), "rows")
        listed = "; ".join(f'"{each}"' for each in data.skipped)
        yield f"{rows} above or below the answers were not read as people: {listed}"
    if data.doubtful:
        yield (
            "the row below the names of the columns has other texts than all rows below it; "
            "delete it from the file if it is not a person"
        )
    if data.others:
        listed = ", ".join(f'"{each}"' for each in data.others)
        yield f"only one sheet was read; name another with --sheet if that has the people: {listed}"


def _ids(names: Sequence[str]) -> list[str]:
    """Return the ids of questions about columns; an id is no other column's name."""
    ids: list[str] = []
    for name in names:
        plain = clean_id(name)
        taken = {*ids, *(each for each in names if each != name)}
        numbered = (f"{plain}_{number}" for number in count(2))
        free = plain not in taken or not plain
        ids.append(plain if free else next(id for id in numbered if id not in taken))
    return ids


def _column_draft(data: Data, place: int, id: str, repeated: RepeatedIds | None) -> ColumnDraft:
    names = data.table.column_names
    name, cells = names[place], data.table.column(place).combine_chunks()
    if names.count(name) > 1:
        return SkippedColumn(name, sentence("drafts.same-name", columns=names.count(name)))
    if name in ROW_NUMBERS:
        return SkippedColumn(name, sentence("drafts.row-of-person"))
    if reason := _unread(cells.type):
        return SkippedColumn(name, reason)
    lists = is_list(cells.type)
    counts = _counts(pc.list_flatten(cells) if lists else cells)
    empty = cells.null_count if lists else len(cells) - sum(counts.values())
    longest = int(pc.max(pc.list_value_length(cells)).as_py() or 1) if lists else 0
    about = (data.texts.get(name, ""), data.labels.get(name, {}), data.missing.get(name, ()))
    column = DataColumn(name, counts, len(cells), empty, longest, *about)
    typed = not _is_text(cells.type)
    draft = question_of(column._replace(order=_order(cells), id=id, typed=typed))
    personal = isinstance(draft, SkippedColumn) and draft.personal
    if repeated and name == repeated.id and not personal:
        return SkippedColumn(name, sentence("drafts.looks-like-id", name=name))
    if isinstance(draft, DraftQuestion) and name in data.sets:
        return draft.noting(f'One of several columns with the answers to "{data.sets[name]}".')
    return draft


def _unread(kind: pa.DataType) -> Sentence | None:
    """Return why the cells of a type cannot be answers; None if they can."""
    inner = kind.value_type if is_list(kind) else kind
    if pa.types.is_nested(inner):
        return sentence("drafts.nested")
    binary = pa.types.is_binary(inner) or pa.types.is_large_binary(inner)
    return sentence("drafts.bytes") if binary else None


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain))


def _order(cells: pa.Array) -> tuple[str, ...]:
    """Return the categories of a column in the order that the file states; () if it states none.

    Categories without an order of their own are sorted, or in the order of appearance.
    """
    if not pa.types.is_dictionary(cells.type) or pa.types.is_nested(cells.type.value_type):
        return ()
    texts = _texts(cells.dictionary).tolist()
    places = pc.drop_null(cells.indices).to_pylist()
    appearing = [texts[place] for place in dict.fromkeys(places)]
    stated = cells.type.ordered or (
        texts != sorted(texts) and [each for each in texts if each in appearing] != appearing
    )
    return tuple(texts) if stated and None not in texts else ()


def _counts(cells: pa.Array) -> Mapping[str, int]:
    """Count the rows with each text; empty texts are not counted."""
    kind = cells.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_binary(kind):
        return {}
    texts = pa.array(by_value(cells, _texts, None), pa.string())
    pairs = pc.value_counts(pc.drop_null(texts)).to_pylist()
    return {pair["values"]: pair["counts"] for pair in pairs if pair["values"]}


def _texts(distinct: pa.Array) -> np.ndarray:
    return np.array(without_point(texts_of(distinct)).to_pylist(), object)


NAME = "Survey"


def draft(
    answers: str | Path | IO[bytes] | Any,
    *,
    format: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Draft:
    """Draft a survey from data or from a questionnaire.

    Parameters
    ----------
    answers : str, Path, file object, or data frame
        As for `load_answers`. Questions are drafted from the values in the data; of SPSS and Stata
        files, also from labels, wording, and codes for no answer. Forms are recognized by their
        content: XLSForms, data dictionaries of REDCap, structures of LimeSurvey, survey files of
        Qualtrics, and texts of questions.
    format, encoding, sheet : str, optional
        As for `load_answers`.

    Returns
    -------
    Draft
        `toml` is the text of the survey, and `undecided` lists what the user has to decide.

    Raises
    ------
    AnswersError
        If the file cannot be read, or nothing in it can become a question.

    Examples
    --------
    >>> import incrowd
    >>> draft = incrowd.draft("examples/rand_hie.csv")
    >>> draft.questions[0].id
    'physical_limitation'
    """
    if is_frame(answers):
        return _with_questions(draft_of(NAME, load_data(answers)))
    source = source_of(answers, format, encoding, sheet, forms=True)
    name = source.path.name.split(".")[0] or NAME
    return form_draft(name, source) or _with_questions(draft_of(name, load_data(source)))


def _with_questions(draft: Draft) -> Draft:
    """Return the draft. Raises AnswersError if it has no questions."""
    if not draft.questions:
        advice = sentence("drafts.another-file")
        if columns := draft.left_out[:3]:
            reasons = [sentence("drafts.column", id=each.id, why=each.why) for each in columns]
            why = joined("shared.first-then", reasons)
            advice = sentence("drafts.another-file-because", why=why)
        raise AnswersError.of("answers", "drafts.no-question", advice=advice)
    return draft
