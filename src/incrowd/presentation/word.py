"""Documents for Word (.docx). The same document gives the same bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from incrowd.characters import visible
from incrowd.errors import UsageError, needing
from incrowd.presentation.archives import reproducible
from incrowd.presentation.document import (
    Bullets,
    DocumentPart,
    Grid,
    Heading,
    PageBreak,
    Paper,
    Paragraph,
    PlacedPicture,
    PrintedDocument,
    Tone,
)
from incrowd.presentation.shell import INK, LINE, MUTED

SIZES: dict[Paper, tuple[float, float]] = {"A4": (210, 297), "letter": (215.9, 279.4)}  # mm
MARGIN = 22  # mm on each side
FONT = "Arial"
WARNING = "#8a4600"
_COLORS: dict[Tone, str] = {"plain": INK, "main": INK, "quiet": MUTED, "warning": WARNING}
_POINTS: dict[Tone, float] = {"plain": 10.5, "main": 12, "quiet": 9, "warning": 10.5}
_LANGUAGES = {"en": "en-US", "de": "de-DE"}


def word(document: PrintedDocument) -> bytes:
    """Return the bytes of a .docx file.

    Raises UsageError if python-docx is not installed.
    """
    with needing("studio", UsageError, "path"):
        from docx import Document
    file = Document()
    _set_up(file, document)
    _add_title(file, document.title)
    for part in document.parts:
        _add(file, part, _content_width(document.paper))
    content = io.BytesIO()
    file.save(content)
    return reproducible(content.getvalue())


def _content_width(paper: Paper) -> float:
    """Return the width between the margins, in centimeters."""
    return (SIZES[paper][0] - 2 * MARGIN) / 10


def _set_up(file: Any, document: PrintedDocument) -> None:
    """Set the page, the fonts and the language, of which Word checks the spelling."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Mm, Pt, RGBColor

    page = file.sections[0]
    page.page_width, page.page_height = map(Mm, SIZES[document.paper])
    page.left_margin = page.right_margin = page.top_margin = page.bottom_margin = Mm(MARGIN)
    code = _LANGUAGES.get(document.language, document.language)
    for name in ("Normal", "Title", "Heading 1", "Heading 2", "Heading 3", "List Bullet"):
        style = file.styles[name]
        style.font.name = FONT
        style.font.color.rgb = RGBColor.from_string(INK.strip("#").upper())
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for each in [each for each in fonts.attrib if each.endswith("Theme")]:
            del fonts.attrib[each]
        fonts.set(qn("w:eastAsia"), FONT)
        fonts.set(qn("w:cs"), FONT)
    normal = file.styles["Normal"]
    normal.font.size, normal.paragraph_format.space_after = Pt(_POINTS["plain"]), Pt(6)
    for name, points in (("Title", 22), ("Heading 1", 16), ("Heading 2", 12.5), ("Heading 3", 11)):
        file.styles[name].font.size = Pt(points)
    for old in file.styles.element.iter(qn("w:lang")):
        old.set(qn("w:val"), code)
    language = OxmlElement("w:lang")
    language.set(qn("w:val"), code)
    normal.element.get_or_add_rPr().append(language)
    file.core_properties.title = visible(document.title)
    file.core_properties.language = code
    file.core_properties.author = ""
    file.core_properties.comments = ""


def _add_title(file: Any, text: str) -> None:
    from docx.oxml.ns import qn

    paragraph = file.add_paragraph(visible(text), style="Title")
    for border in paragraph.style.element.iter(qn("w:pBdr")):
        border.getparent().remove(border)


def _add(place: Any, part: DocumentPart, width: float) -> None:
    """Add a part to a document or a cell. width: of the place, in centimeters."""
    match part:
        case Heading(text, level):
            paragraph = place.add_paragraph(visible(text), style=f"Heading {min(level, 3)}")
            paragraph.paragraph_format.keep_with_next = True
        case Paragraph():
            _write(place.add_paragraph(), part)
        case Bullets(texts):
            for text in texts:
                place.add_paragraph(visible(text), style="List Bullet")
        case PlacedPicture():
            _draw(place.add_paragraph(), part, width)
        case PageBreak():
            _break_page(place.add_paragraph())
        case Grid():
            _add_grid(place, part, width)


def _write(paragraph: Any, part: Paragraph) -> None:
    from docx.shared import Pt, RGBColor

    run = paragraph.add_run(visible(part.text))
    run.bold = part.tone in ("main", "warning") or None
    if part.tone != "plain":
        run.font.size = Pt(_POINTS[part.tone])
        run.font.color.rgb = RGBColor.from_string(_COLORS[part.tone].strip("#").upper())


def _draw(paragraph: Any, part: PlacedPicture, width: float) -> None:
    from docx.shared import Cm

    shape = paragraph.add_run().add_picture(io.BytesIO(part.png), width=Cm(min(part.width, width)))
    shape._inline.docPr.set("descr", visible(part.alternative))


def _break_page(paragraph: Any) -> None:
    from docx.enum.text import WD_BREAK

    paragraph.add_run().add_break(WD_BREAK.PAGE)


def _add_grid(place: Any, grid: Grid, width: float) -> None:
    """Add a table of a fixed width, with a line below each row if it has headings."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Cm

    columns = len(grid.headings) or max(map(len, grid.rows), default=0)
    if not columns:
        return
    weights = grid.widths or [1.0] * columns
    widths = [width * each / sum(weights) for each in weights]
    rows = len(grid.rows) + bool(grid.headings)
    table = _new_table(place, rows, columns, width)
    table.autofit = False
    for column, each in zip(table.columns, widths, strict=True):
        column.width = Cm(each)
    lines = iter(table.rows)
    if grid.headings:
        head = next(lines)
        head._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
        _fill(head, [[Paragraph(each, "quiet")] for each in grid.headings], widths, grid.figures)
    for row, cells in zip(lines, grid.rows, strict=True):
        _fill(row, cells, widths, grid.figures)
    for row in table.rows:
        row._tr.get_or_add_trPr().append(OxmlElement("w:cantSplit"))
        for cell in row.cells if grid.headings else ():
            borders = OxmlElement("w:tcBorders")
            line = OxmlElement("w:bottom")
            for name, value in (("val", "single"), ("sz", "4"), ("color", LINE.strip("#"))):
                line.set(qn(f"w:{name}"), value)
            borders.append(line)
            cell._tc.get_or_add_tcPr().append(borders)
    _set_small(place.add_paragraph())


def _new_table(place: Any, rows: int, columns: int, width: float) -> Any:
    from docx.document import Document
    from docx.shared import Cm

    if isinstance(place, Document):
        return place.add_table(rows, columns)
    table = place.add_table(rows, columns)
    table.width = Cm(width)
    return table


def _fill(row: Any, cells: Sequence[Any], widths: Sequence[float], figures: bool) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.shared import Cm, Pt

    for number, (cell, content, width) in enumerate(zip(row.cells, cells, widths, strict=True)):
        cell.width = Cm(width)
        for part in [Paragraph(content)] if isinstance(content, str) else content:
            _add(cell, part, width - 0.4)  # without the margins of the cell
        first, *more = cell.paragraphs
        if more or cell.tables:  # a cell begins with an empty paragraph
            first._p.getparent().remove(first._p)
        for paragraph in cell.paragraphs:
            paragraph.paragraph_format.space_after = Pt(2)
            if figures and number:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT


def _set_small(paragraph: Any) -> None:
    """Make the empty paragraph small that has to follow a table."""
    from docx.shared import Pt

    paragraph.paragraph_format.space_after = Pt(0)
    paragraph.paragraph_format.line_spacing = Pt(6)
