"""Results as an R script: estimates, errors and covariances as objects of base R.

The script assigns one list and needs no package. It is ASCII outside of comments, so that it reads
the same under any encoding, and text of a survey cannot end a string or a comment.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from incrowd.characters import cleaned
from incrowd.presentation.receipts import all_notes, promised
from incrowd.views import Result, Sheet, Square, Value

NAME = "incrowd"  # of the list that the script assigns
WIDTH = 98
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def r_script(result: Result) -> str:
    """Return the text of an .R file that assigns the list `incrowd`.

    `incrowd$sheets` has a data frame for each table, with shares as proportions; `incrowd$matrices`
    the covariances. Rows and columns of a covariance are in the order of the rows of its table.
    """
    view, uses = result.view(), textwrap.dedent(result.in_r).strip().splitlines()
    promise, notes = promised(result), all_notes(view)
    every, squares = result.sheets(), result.squares()
    sheets = _named([each.name for each in every], map(_frame, every))
    matrices = _named([each.name for each in squares], map(_matrix, squares))
    lines = [
        *_comment([view.title]),
        "#",
        *_comment(promise),
        "#",
        "# How to use it (base R is enough):",
        '#   source("THIS_FILE.R")',
        *(f"#   {use}" for use in uses),
        "#",
        *_comment(notes),
        "",
        f"{NAME} <- list(",
        f"  title = {text(view.title)},",
        f"  guarantee = {vector(promise)},",
        f"  notes = {vector(notes)},",
        f"  sheets = {sheets},",
        f"  matrices = {matrices}",
        ")",
    ]
    return "\n".join(lines) + "\n"


def text(value: str) -> str:
    """Return a string of R, in ASCII."""
    return '"' + "".join(_ESCAPED.get(each) or _ascii(each) for each in value) + '"'


def _ascii(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return character
    if code == 0 or 0xD800 <= code <= 0xDFFF:  # R has no such characters
        return "\\ufffd"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def number(value: float | None) -> str:
    """Return a number of R with all its digits; NA for a missing one."""
    if value is None or math.isnan(value):
        return "NA"
    if math.isinf(value):
        return "Inf" if value > 0 else "-Inf"
    return repr(value)


def vector(values: Sequence[Value]) -> str:
    """Return a vector of strings, logicals, or numbers in R."""
    if not values:
        return "character(0)"
    if any(isinstance(each, str) for each in values):
        return f"c({_joined(text(each) if isinstance(each, str) else 'NA' for each in values)})"
    if all(isinstance(each, bool) for each in values):
        return f"c({_joined('TRUE' if each else 'FALSE' for each in values)})"
    shown = (number(None if each is None else float(each)) for each in values)
    return f"c({_joined(shown)})"


def _frame(sheet: Sheet) -> str:
    """Return a data frame. Its columns are named last,
    since any text can be an id of a question."""
    columns = zip(*sheet.rows, strict=True) if sheet.rows else [()] * len(sheet.headings)
    vectors = _joined(map(vector, columns))
    return f"setNames(data.frame({vectors}, stringsAsFactors = FALSE), {vector(sheet.headings)})"


def _matrix(square: Square) -> str:
    labels, size = vector(square.labels), len(square.labels)
    numbers = _joined(number(each) for each in square.values.ravel().tolist())
    return f"matrix(c({numbers}), {size}, {size}, TRUE, list({labels}, {labels}))"


def _named(names: Sequence[str], values: Iterable[str]) -> str:
    """Return a list of R with the names of some items."""
    if not names:
        return "list()"
    lines = ",\n    ".join(values)
    return f"setNames(list(\n    {lines}\n  ), {vector(names)})"


def _joined(parts: Iterable[str]) -> str:
    """Return the arguments of a call, in lines of some length; no string is broken."""
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(part) > WIDTH and lines[-1]:
            lines.append("")
        lines[-1] += f"{part}, "
    return "\n      ".join(line.rstrip() for line in lines).removesuffix(",")


def _comment(texts: Iterable[str]) -> Iterator[str]:
    for each in texts:
        yield from (f"# {line}" for line in textwrap.wrap(cleaned(each), WIDTH - 2))
