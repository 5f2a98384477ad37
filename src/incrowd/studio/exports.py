"""The files of a result: what can be downloaded, and the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

from incrowd.presentation.write import has_content
from incrowd.studio.language import Phrase, phrase
from incrowd.views import Result

FORMATS: Mapping[str, Phrase] = {
    "html": phrase("Page to hand over"),
    "docx": phrase("Report for Word"),
    "xlsx": phrase("Excel"),
    "csv": phrase("CSV"),
    "json": phrase("JSON"),
    "R": phrase("R script"),
}
FOR_READERS = ("html", "docx", "xlsx")  # in the language of the studio
_TYPES = {
    "html": "text/html; charset=utf-8",
    "txt": "text/plain; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "R": "text/plain; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


def formats_of(result: Result) -> Mapping[str, Phrase]:
    """Return the formats that a result has: without figures there is no list of them."""
    return {format: label for format, label in FORMATS.items() if has_content(result, f".{format}")}


def attachment(body: bytes, ending: str, name: str) -> Response:
    """Return a response that is saved as a file."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(body, media_type=_TYPES[ending], headers=headers)
