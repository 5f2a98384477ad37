"""Answers in files of statistics packages: the labels of codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.survey import AnyQuestion, Codes

Labels = Mapping[str, str]


def with_labels(column: pa.Array, question: AnyQuestion, codes: Codes, labels: Labels) -> pa.Array:
    """Replace the codes of a column with labels, except for codes that the survey uses itself."""
    if not labels or codes.values:
        return column
    replaced = {
        code: label
        for code, label in labels.items()
        if code not in codes.missing and not _by_code(question, code, label, codes.missing)
    }
    if not replaced:
        return column
    return pa.array(
        [replaced.get(text or "", text) for text in pc.cast(column, pa.string()).to_pylist()],
        pa.string(),
    )


def _by_code(question: AnyQuestion, code: str, label: str, missing: Iterable[str]) -> bool:
    """Return whether a question uses the code and not the label: numbers, and options that are
    codes."""
    if question.of_numbers:
        return label not in missing
    options = question.choices
    return label not in options and label not in missing and code in options
