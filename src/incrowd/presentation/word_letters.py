"""Invitations as Word documents: letters, strips to cut out, a poster, and a letter for Word's mail
merge."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.characters import visible
from incrowd.errors import UsageError, needing
from incrowd.presentation.archives import reproducible
from incrowd.presentation.letters import (
    CODE,
    ERROR_LEVEL,
    LETTER_CM,
    LINK,
    NAME,
    POSTER_CM,
    QUIET,
    STRIP_CM,
    Letter,
    LetterFacts,
    LetterLayout,
    LetterStyle,
    check_fields,
    filled,
    labels,
    letter_text,
    own_columns,
    paragraphs,
    promise_in_two,
    qr_code,
    strip_text,
)

if TYPE_CHECKING:
    from docx.document import Document
    from docx.table import _Cell
    from docx.text.paragraph import Paragraph

MOST_LETTERS = 2_000  # in one document, which Word opens without delay
PIXELS = 10  # of a module of a QR code
PAGE_CM, MARGIN_CM = (21.0, 29.7), 2.0  # A4
FONT, MONOSPACED, POINTS, STRIP_POINTS, POSTER_POINTS = "Calibri", "Consolas", 11, 9, 16
TAGS = {"en": "en-US", "de": "de-DE"}
LEVELS = "lmqh"  # of errors in QR codes, as Word numbers them
_FIELDS = re.compile(r"(\{[^{}\n]+\})")


def word_letters(
    facts: LetterFacts,
    style: LetterStyle,
    letters: Sequence[Letter],
    *,
    text: str = "",
    layout: LetterLayout = "letters",
) -> bytes:
    """Return a document with one letter or strip for each person, or one poster.

    text: as of `printed_letters`. Raises UsageError if python-docx is not installed, for names in
    braces that people do not have, and for more letters than a document should have.
    """
    columns = own_columns(letters)
    text = text or letter_text(facts, style, columns)
    check_fields(text, columns)
    if len(letters) > MOST_LETTERS:
        raise UsageError.of(
            "letters", "presentation.many-letters", letters=len(letters), most=MOST_LETTERS
        )
    document = _document(facts, style, STRIP_POINTS if layout == "strips" else POINTS)
    if layout == "strips":
        _strips(document, facts, style, letters)
        return _bytes(document)
    for number, letter in enumerate(letters):
        _paragraphs(document, paragraphs(filled(text, letter)), layout, new_page=number > 0)
        _answer(document, facts, style, letter, POSTER_CM if layout == "poster" else LETTER_CM)
    return _bytes(document)


def merge_letter(
    facts: LetterFacts, style: LetterStyle, columns: Sequence[str] = (), *, text: str = ""
) -> bytes:
    """Return a letter for Word's mail merge: what differs for each person is a field of Word, also
    the QR code.

    Raises UsageError as `word_letters` does.
    """
    text = text or letter_text(facts, style, columns)
    check_fields(text, columns)
    document = _document(facts, style, POINTS)
    _paragraphs(document, paragraphs(text), "letters", new_page=False)
    _answer(document, facts, style, None, LETTER_CM)
    return _bytes(document)


def _document(facts: LetterFacts, style: LetterStyle, points: int) -> Document:
    """Return an empty document on A4, in the language of the letters."""
    with needing("studio", UsageError, "letters"):
        import docx
    from docx.oxml.ns import qn
    from docx.shared import Cm, Pt

    document = docx.Document()
    section = document.sections[0]
    section.page_width, section.page_height = (Cm(each) for each in PAGE_CM)
    for side in ("left", "right", "top", "bottom"):
        setattr(section, f"{side}_margin", Cm(MARGIN_CM))
    normal: Any = document.styles["Normal"]
    normal.font.name, normal.font.size = FONT, Pt(points)
    normal.paragraph_format.space_after = Pt(points // 2)
    language = normal.element.get_or_add_rPr().makeelement(qn("w:lang"), {})
    language.set(qn("w:val"), TAGS[style.language])
    normal.element.get_or_add_rPr().append(language)
    about = document.core_properties
    about.author, about.comments, about.title = "", "", facts.title
    about.language = TAGS[style.language]
    return document


def _paragraphs(
    document: Document, parts: Sequence[str], layout: LetterLayout, *, new_page: bool
) -> None:
    """Write a heading and the paragraphs below it."""
    from docx.shared import Pt

    for number, part in enumerate(parts):
        paragraph = document.add_paragraph()
        paragraph.paragraph_format.page_break_before = new_page and not number
        _write_fields(paragraph, part)
        for run in paragraph.runs:
            if layout == "poster":
                run.font.size = Pt(POSTER_POINTS * (1 if number else 2))
            elif not number:
                run.font.size = Pt(POINTS + 5)
            run.font.bold = not number


def _write_fields(paragraph: Paragraph, text: str) -> None:
    """Write text; names in braces, which are left for a mail merge, become fields of Word."""
    for piece in _FIELDS.split(text):
        if _FIELDS.fullmatch(piece):
            name = piece[1:-1].replace('"', "")
            _field(paragraph, f'MERGEFIELD "{name}"' if " " in name else f"MERGEFIELD {name}", name)
        elif piece:
            paragraph.add_run(visible(piece))


def _field(paragraph: Paragraph, instruction: str, shown: str) -> None:
    """Write a field of Word, with what is shown until it is computed."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    field: Any = OxmlElement("w:fldSimple")
    field.set(qn("w:instr"), f" {instruction} ")
    run: Any = OxmlElement("w:r")
    text: Any = OxmlElement("w:t")
    text.text = f"«{shown}»"
    run.append(text)
    field.append(run)
    paragraph._p.append(field)


def _answer(
    document: Document, facts: LetterFacts, style: LetterStyle, letter: Letter | None, side: float
) -> None:
    """Write the QR code of a person, and beside it what to type and to compare. letter: None for
    the fields of a mail merge."""
    table = _two_columns(document, 1, side)
    _fill_answer(table.rows[0], facts, style, letter, side)


def _strips(
    document: Document, facts: LetterFacts, style: LetterStyle, letters: Sequence[Letter]
) -> None:
    """Write a strip for each person, with a line to cut along below it."""
    table = _two_columns(document, len(letters), STRIP_CM)
    named = next((n for n in own_columns(letters) if n.strip().casefold() == NAME), None)
    how, promise = strip_text(facts, style), promise_in_two(facts, style)
    for row, letter in zip(list(table.rows), letters, strict=True):
        title = f"{facts.title}: {letter[named]}" if named else facts.title
        _cut_below(row)
        _fill_answer(
            row, facts, style, letter, STRIP_CM, (title, f"{filled(how, letter)} {promise}")
        )


def _two_columns(document: Document, rows: int, side: float) -> Any:
    """Return a table with a column for QR codes of a side in centimeters, and one for text."""
    from docx.shared import Cm

    table: Any = document.add_table(rows=rows, cols=2)
    table.autofit = False
    for column, width in zip(table.columns, _widths(side), strict=True):
        column.width = Cm(width)
    return table


def _widths(side: float) -> tuple[float, float]:
    left = side + 0.5
    return left, PAGE_CM[0] - 2 * MARGIN_CM - left


def _fill_answer(
    row: Any,
    facts: LetterFacts,
    style: LetterStyle,
    letter: Letter | None,
    side: float,
    above: Sequence[str] = (),
) -> None:
    from docx.shared import Cm

    _keep_whole(row)
    left, right = row.cells
    left.width, right.width = map(Cm, _widths(side))
    if letter is None:
        barcode = f"MERGEBARCODE {LINK} QR \\q {LEVELS.index(ERROR_LEVEL)}"
        _field(left.paragraphs[0], barcode, LINK)
    else:
        picture = left.paragraphs[0].add_run().add_picture(_picture(letter[LINK]), width=Cm(side))
        picture._inline.docPr.set("descr", labels(style)["qr"])
    paragraph = _lines(right)
    for number, sentences in enumerate(above):
        paragraph().add_run(visible(sentences)).font.bold = not number
    for label, value in _details(facts, style, letter):
        line = paragraph()
        line.add_run(f"{label}: ")
        if value is None:
            _field(line, f"MERGEFIELD {CODE}", CODE)
        else:
            line.add_run(visible(value)).font.name = MONOSPACED


def _details(
    facts: LetterFacts, style: LetterStyle, letter: Letter | None
) -> Iterator[tuple[str, str | None]]:
    """Yield what is beside a QR code; None for the code of a person in a mail merge."""
    words = labels(style)
    if facts.page and facts.codes:
        yield words["page"], facts.page
    if facts.codes:
        yield words["code"], None if letter is None else letter[CODE]
    yield words["compare"], facts.short
    yield words["until"], style.date(facts.closes)


def _lines(cell: _Cell) -> Callable[[], Paragraph]:
    """Return a function that returns the next paragraph of a cell, which has an empty one."""
    first = iter(cell.paragraphs)
    return lambda: next(first, None) or cell.add_paragraph()


def _keep_whole(row: Any) -> None:
    """Keep a row on one page."""
    from docx.oxml import OxmlElement

    row._tr.get_or_add_trPr().append(OxmlElement("w:cantSplit"))


def _cut_below(row: Any) -> None:
    """Draw a dashed line below a row."""
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    for cell in row.cells:
        borders, bottom = OxmlElement("w:tcBorders"), OxmlElement("w:bottom")
        for name, value in (("val", "dashed"), ("sz", "6"), ("color", "777777")):
            bottom.set(qn(f"w:{name}"), value)
        borders.append(bottom)
        cell._tc.get_or_add_tcPr().append(borders)


def _picture(link: str) -> io.BytesIO:
    """Return the QR code of a link as a PNG file, with its white border."""
    picture = io.BytesIO()
    qr_code(link).save(picture, kind="png", scale=PIXELS, border=QUIET)
    picture.seek(0)
    return picture


def _bytes(document: Document) -> bytes:
    content = io.BytesIO()
    document.save(content)
    return reproducible(content.getvalue())
