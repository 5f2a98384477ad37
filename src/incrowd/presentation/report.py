"""Results as a document to print and to hand on."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd.presentation.charts import png_file
from incrowd.presentation.document import (
    DocumentPart,
    Grid,
    Heading,
    Paragraph,
    PlacedPicture,
    PrintedDocument,
)
from incrowd.presentation.pictures import pictures
from incrowd.presentation.receipts import promised
from incrowd.views import Result

PICTURE_WIDTH = 15.0  # centimeters


def document(result: Result) -> PrintedDocument:
    """Return the document of a result."""
    return PrintedDocument(result.view().title, list(_parts(result)))


def _parts(result: Result) -> Iterator[DocumentPart]:
    view = result.view()
    warned = result.seed is not None
    for number, text in enumerate(promised(result)):
        yield Paragraph(text, "warning" if warned and not number else "plain")
    for text in (*view.legend, *view.lines):
        yield Paragraph(text)
    for picture in pictures(result):
        yield Heading(picture.title, 2)
        yield PlacedPicture(png_file(picture.wide, ""), picture.title, PICTURE_WIDTH)
    for table in view.tables:
        yield Heading(table.title, 2)
        widths = (2.0, *(1.0,) * (len(table.headings) - 1))
        yield Grid(table.headings, table.lines, widths, figures=True)
        for text in table.notes:
            yield Paragraph(text, "quiet")
    for text in view.notes:
        yield Paragraph(text, "quiet")
