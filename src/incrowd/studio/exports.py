"""The files of a result: what can be downloaded, and the pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from starlette.responses import Response

from incrowd.errors import UsageError
from incrowd.presentation.pictures import Picture
from incrowd.presentation.write import content, has_content
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
    "zip": "application/zip",
    "svg": "image/svg+xml",
    "png": "image/png",
}


def formats_of(result: Result) -> Mapping[str, Phrase]:
    """Return the formats that a result has: without figures there is no list of them."""
    return {format: label for format, label in FORMATS.items() if has_content(result, f".{format}")}


def result_file(result: Result, ending: str, stem: str, language: str) -> Response:
    """Return a result as a file to save. stem: its name before the ending. Raises UsageError if the
    result has no such format."""
    if ending not in formats_of(result):
        reason = result.view().notes[0]
        raise UsageError.of("format", "studio.no-figures", format=ending, reason=reason)
    body = content(result, f".{ending.lower()}", language)
    return attachment(body, ending, f"{stem}.{ending}")


def picture_file(
    pictures: Sequence[Picture], number: str, ending: str, stem: str, language: str
) -> Response:
    """Return one of some pictures as a file to save. Raises UsageError if there is no such one."""
    from incrowd.presentation.charts import png_file, svg_file  # drawing is slow to import

    if number not in map(str, range(len(pictures))):
        raise UsageError.of("number", "studio.no-picture", number=number)
    drawn = pictures[int(number)]
    if ending not in ("svg", "png"):
        raise UsageError.of("format", "shared.use-one-of", value=ending, choices=("svg", "png"))
    write = png_file if ending == "png" else svg_file
    body = write(drawn.wide, drawn.title)
    name = f"{stem}-{int(number) + 1}.{ending}"
    return attachment(body if isinstance(body, bytes) else body.encode(), ending, name)


def attachment(body: bytes, ending: str, name: str) -> Response:
    """Return a response that is saved as a file."""
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(body, media_type=_TYPES[ending], headers=headers)
