"""The files of a result: what can be downloaded, and the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from incrowd.estimation.regression.results import Regression
from incrowd.estimation.results import Estimates
from incrowd.presentation.pictures import Picture, pictures
from incrowd.studio.language import Phrase, phrase

FORMATS: Mapping[str, Phrase] = {
    "html": phrase("Page to hand over"),
    "xlsx": phrase("Excel"),
    "csv": phrase("CSV"),
    "json": phrase("JSON"),
    "R": phrase("R script"),
}
_TYPES = {
    "html": "text/html; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "R": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


def formats_of(result: Any) -> Mapping[str, Phrase]:
    """The formats that a result has: a regression without coefficients has no table of them."""
    if isinstance(result, Regression) and not result.estimable:
        return {format: label for format, label in FORMATS.items() if format != "csv"}
    return FORMATS


def attachment(body: bytes, ending: str, name: str) -> Response:
    """A response that is saved as a file."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(body, media_type=_TYPES[ending], headers=headers)


def pictures_of(result: Any, parts: Mapping[str, Any]) -> tuple[Picture, ...]:
    """The pictures of a result, in the order in which its template shows them.

    parts: of the template; those of tables and regressions have their charts.
    """
    if isinstance(result, Estimates):
        drawn = [table for table in parts["tables"] if table["charts"]]
        return tuple(Picture(" × ".join(each["of"].questions), *each["charts"]) for each in drawn)
    if isinstance(result, Regression):
        return (Picture(parts["what"], *parts["charts"]),) if parts["charts"] else ()
    return pictures(result)
