"""Files of known margins: TOML, or CSV with one row per answer."""

from __future__ import annotations

import csv
import io
import logging
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa

from incrowd.catalog.sentences import sentence
from incrowd.encoding.formats.csv import SEPARATORS, pointed
from incrowd.errors import Place, UsageError, unreadable

_log = logging.getLogger(__name__)


def load_margins(path: str | Path) -> dict[str, Any]:
    r"""Read known margins: for each question, the share or number of people with each answer.

    They are validated when they are used.

    Parameters
    ----------
    path : str or Path
        A .csv file has the columns question, answer, and people (or share), separated by commas,
        semicolons, or tabs. Any other file is TOML, with a table for each question. Questions of
        one margin, and their answers, are joined by " | ".

    Returns
    -------
    dict
        By question, the number of each answer.

    Raises
    ------
    UsageError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> import incrowd
    >>> written = Path("margins.csv").write_text("question,answer,people\nsex,f,510\nsex,m,490\n")
    >>> incrowd.load_margins("margins.csv")
    {'sex': {'f': 510.0, 'm': 490.0}}
    """
    path = Path(path)
    _log.info("reading %s, margins", path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError.of(
            "margins", "encoding.no-margins", value=str(path), reason=unreadable(error)
        ) from None
    except UnicodeDecodeError:
        reason = sentence("encoding.not-utf-8-text")
        raise UsageError.of(
            "margins", "encoding.no-margins", value=str(path), reason=reason
        ) from None
    return _of_csv(text, path) if path.suffix.lower() == ".csv" else _of_toml(text, path)


def _of_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = sentence("encoding.not-toml", reason=str(error))
        raise UsageError.of(
            "margins", "encoding.no-margins", value=str(path), reason=reason
        ) from None


def _of_csv(text: str, path: Path) -> dict[str, Any]:
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    read = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    names = [name for name in ("people", "share") if name in (read.fieldnames or ())]
    if len(names) != 1 or not {"question", "answer"} <= set(read.fieldnames or ()):
        columns = [*(read.fieldnames or ())] or sentence("shared.none")
        reason = sentence("encoding.its-columns", columns=columns)
        raise UsageError.of("margins", "encoding.no-margins", value=str(path), reason=reason)
    margins: dict[str, Any] = {}
    rows = list(read)
    numbers = [row[names[0]] for row in rows]
    if separator == ";":
        numbers = pointed(pa.array(numbers, pa.string())).to_pylist()
    for line, (row, number) in enumerate(zip(rows, numbers, strict=True), 2):
        answers = margins.setdefault(row["question"], {})
        if row["answer"] in answers:
            raise UsageError.of(
                ("margins", Place("line", line)), "encoding.two-rows", value=row["answer"]
            )
        answers[row["answer"]] = _number(number, line)
    return margins


def _number(text: str | None, line: int) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise UsageError.of(
            ("margins", Place("line", line)), "shared.not-a-number", value=text
        ) from None
