"""Documents for Word, as another program opens them."""

import io
import struct
import zlib

import pytest

from incrowd.presentation.document import (
    Bullets,
    Grid,
    Heading,
    PageBreak,
    Paragraph,
    PlacedPicture,
    PrintedDocument,
)
from incrowd.presentation.word import word

docx = pytest.importorskip("docx")  # of the extra `studio`
qn = pytest.importorskip("docx.oxml.ns").qn

LONG = "Donaudampfschifffahrtsgesellschaft" * 9


def png(width, height):
    """A gray picture of some pixels."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    lines = b"".join(b"\x00" + b"\x80" * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def opened(*parts, **how):
    return docx.Document(io.BytesIO(word(PrintedDocument("A title", parts, **how))))


def texts(paragraphs):
    return [paragraph.text for paragraph in paragraphs if paragraph.text.strip()]


def test_texts_come_in_their_order_and_styles():
    file = opened(
        Heading("Results"),
        Paragraph("One sentence."),
        Bullets(["first", "second"]),
        Heading("A part", 2),
        Paragraph("Look here.", "warning"),
    )
    shown = [(each.text, each.style.name) for each in file.paragraphs]
    assert shown == [
        ("A title", "Title"),
        ("Results", "Heading 1"),
        ("One sentence.", "Normal"),
        ("first", "List Bullet"),
        ("second", "List Bullet"),
        ("A part", "Heading 2"),
        ("Look here.", "Normal"),
    ]
    assert file.paragraphs[-1].runs[0].bold and not file.paragraphs[2].runs[0].bold


def test_a_table_repeats_its_headings_and_its_figures_end_at_the_right():
    (table,) = opened(Grid(("answer", "%"), (("no", "80"), ("yes", "20")), figures=True)).tables
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["answer", "%"],
        ["no", "80"],
        ["yes", "20"],
    ]
    assert [bool(row._tr.findall(f".//{qn('w:tblHeader')}")) for row in table.rows] == [
        True,
        False,
        False,
    ]
    sides = [cell.paragraphs[0].alignment for cell in table.rows[1].cells]
    assert sides == [None, docx.enum.text.WD_ALIGN_PARAGRAPH.RIGHT]


def test_a_cell_holds_parts_of_the_document():
    cell = (Paragraph("Your code", "main"), PlacedPicture(png(9, 9), "A code", 3))
    file = opened(Grid((), ((cell, "Cut here"),)))
    left, right = file.tables[0].rows[0].cells
    assert texts(left.paragraphs) == ["Your code"] and texts(right.paragraphs) == ["Cut here"]
    (shape,) = left._tc.iter(qn("wp:docPr"))
    assert shape.get("descr") == "A code"


@pytest.mark.parametrize(("wanted", "width"), [(5, 5), (50, 21 - 2 * 2.2)])
def test_a_picture_is_never_wider_than_the_page(wanted, width):
    (shape,) = opened(PlacedPicture(png(40, 20), "Bars", wanted)).inline_shapes
    assert shape.width.cm == pytest.approx(width, abs=0.01)
    assert shape.height.cm == pytest.approx(width / 2, abs=0.01)


@pytest.mark.parametrize(("paper", "size"), [("A4", (21, 29.7)), ("letter", (21.59, 27.94))])
def test_the_page_and_the_language_are_those_of_the_document(paper, size):
    file = opened(Paragraph("Ein Satz."), language="de", paper=paper)
    page = file.sections[0]
    assert (page.page_width.cm, page.page_height.cm) == pytest.approx(size, abs=0.01)
    languages = {each.get(qn("w:val")) for each in file.styles.element.iter(qn("w:lang"))}
    assert languages == {"de-DE"}
    assert file.core_properties.title == "A title"


def test_a_page_break_and_what_people_write_break_nothing():
    evil = "\x00\x0b<w:p>&\ud800" + LONG
    file = opened(Paragraph(evil), PageBreak(), Grid((evil,), ((evil,),)), Heading(evil))
    assert LONG in file.paragraphs[1].text and "<w:p>&" in file.paragraphs[1].text
    assert any(each.get(qn("w:type")) == "page" for each in file.element.iter(qn("w:br")))


def test_the_same_document_gives_the_same_bytes():
    document = PrintedDocument("A title", (Heading("Results"), Grid(("a",), (("b",),))))
    assert word(document) == word(document)
