"""Results as a document to print and to hand on."""

from __future__ import annotations

from collections.abc import Iterator

from incrowd.catalog.sentences import (
    ENGLISH,
    NumberText,
    Sentence,
    text_list,
    translatable,
    translated,
)
from incrowd.estimation.amounts import HEADINGS as AMOUNT_HEADINGS
from incrowd.estimation.displayed import Shown, quality
from incrowd.estimation.results import Estimates
from incrowd.number_text import between, digits, percent
from incrowd.presentation.charts import MOST_CELLS, WIDE, chart_svg, png_file
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
)
from incrowd.presentation.findings import (
    finding,
    joined_title,
    limits,
    method_rows,
    method_sentences,
    people_lines,
)
from incrowd.presentation.guarantee_text import (
    guarantee_symbols,
    guess_left,
    promise_lines,
    strength_sentence,
)
from incrowd.presentation.pictures import Picture, pictures
from incrowd.presentation.receipts import invented_warning, promised
from incrowd.views import Numbers, Result

PICTURE_WIDTH = 15.0  # centimeters
MOST_ROWS = 60  # of a table


def document(result: Result, language: str = ENGLISH, paper: Paper = "A4") -> PrintedDocument:
    """Return the document of a result, with its texts in a language.

    That of estimates is a report for readers who were not there: who answered, each question with
    its results, what can be said and what cannot, the promise, and the method.
    """
    title = result.view().title
    parts = (
        _of_estimates(result, language)
        if isinstance(result, Estimates)
        else _of_view(result, language)
    )
    shown = [_in_language(each, language) for each in (*_warned(result), *parts)]
    return PrintedDocument(str(translated(title, language)), shown, language, paper)


def _in_language(part: DocumentPart, language: str) -> DocumentPart:
    """Return a part with its texts in a language."""
    match part:
        case Heading(text, level):
            return Heading(translated(text, language), level)
        case Paragraph(text, tone):
            return Paragraph(translated(text, language), tone)
        case Bullets(texts):
            return Bullets([translated(each, language) for each in texts])
        case Grid(headings, rows, widths, figures):
            cells = [[translated(each, language) for each in row] for row in rows]
            names = [translated(each, language) for each in headings]
            return Grid(names, cells, widths, figures)
    return part


def _warned(result: Result) -> Iterator[DocumentPart]:
    if warning := invented_warning(result):
        yield Paragraph(warning, "warning")


def _of_view(result: Result, language: str) -> Iterator[DocumentPart]:
    """Yield the parts of a result that has no report of its own."""
    view = result.view()
    for text in promised(result)[bool(result.invented) :]:
        yield Paragraph(_as_sentence(text))
    for text in view.above:
        yield Paragraph(text)
    for text in view.lines:
        yield Paragraph(_as_sentence(text))
    for picture in pictures(result, language):
        yield Heading(picture.title, 2)
        yield _picture(picture)
    for table in view.tables:
        yield from _numbers(table)
    for text in view.notes:
        yield Paragraph(_as_sentence(text), "quiet")


def _as_sentence(text: str) -> str:
    """Return a text with a capital letter at its beginning, and a period at its end."""
    ended = text.endswith((".", ":", "?"))
    return translatable(
        "presentation.with-capital" if ended else "presentation.with-period", text=text
    )


def _picture(picture: Picture) -> PlacedPicture:
    return PlacedPicture(png_file(picture.wide, ""), picture.title, PICTURE_WIDTH)


def _numbers(table: Numbers) -> Iterator[DocumentPart]:
    yield Heading(table.title, 2)
    widths = (2.0, *(1.0,) * (len(table.headings) - 1))
    yield Grid(table.headings, table.lines, widths, figures=True)
    for text in table.notes:
        yield Paragraph(_as_sentence(text), "quiet")


# --- the report of estimates ------------------------------------------------------------------


def _of_estimates(estimates: Estimates, language: str) -> Iterator[DocumentPart]:
    items = list(estimates.displayed(estimates.plan))
    yield Heading(translatable("presentation.who-answered"))
    yield Bullets(list(people_lines(estimates)))
    yield Heading(translatable("presentation.results-heading"))
    for item in items:
        yield from _question(item, estimates, language)
    yield Heading(translatable("presentation.limits-heading"))
    yield Bullets(list(limits(estimates)))
    yield Heading(translatable("presentation.privacy-heading"))
    heading, claim, _, *warnings = promise_lines(estimates.guarantee)
    strong = strength_sentence(estimates.guarantee)
    yield Heading(_text(heading), 2)
    if not estimates.invented:  # nobody is protected, so that no strength is stated
        yield Paragraph(_text(strong), "main")
        yield Paragraph(_text(guess_left(estimates.guarantee)))
    yield Paragraph(_text(claim))
    for warning in warnings:
        yield Paragraph(_text(warning), "warning")
    yield PageBreak()
    yield Heading(translatable("presentation.method-heading"))
    yield from _method(estimates)


def _question(item: Shown, estimates: Estimates, language: str) -> Iterator[DocumentPart]:
    """Yield the results of a table: its sentence, its bars, and its figures."""
    title = joined_title(item)
    yield Heading(title, 2)
    yield Paragraph(finding(item, estimates.plan.survey).text, "main")
    if 0 < len(item.cells) <= MOST_CELLS:
        label = translatable("presentation.chart-of", title=title)
        chart = png_file(chart_svg(item, WIDE, "", language), "")
        yield PlacedPicture(chart, str(translated(label, language)), PICTURE_WIDTH)
    yield _figures(item)
    facts = {"whose": item.table.provenance.whose, "interval": item.intervals}
    yield Paragraph(
        translatable("presentation.percent-of-whose", **facts, quality=quality(item.table)), "quiet"
    )
    if len(item.names) > 1:
        yield Paragraph(translatable("presentation.shares-of-all"), "quiet")
    if item.note:
        yield Paragraph(item.note, "quiet")
    if amounts := estimates.amounts_of(item):
        yield Grid(AMOUNT_HEADINGS, list(amounts.lines), (2.0, 1.0, 1.0, 1.5), figures=True)
        yield Paragraph(amounts.note(item.table.provenance.weighted_to), "quiet")


def _figures(item: Shown) -> Grid:
    """Return the figures of a table, with the interval before the estimate."""
    places, truth = digits(item.cells), item.has_truth
    rows = []
    for cell in item.cells[:MOST_ROWS]:
        figures = (cell.estimate,) if cell.truth is None else (cell.estimate, cell.truth)
        shown = [_shown(each, places) for each in figures]
        ends = (
            [] if item.certain else [between(*(_shown(e, places) for e in (cell.low, cell.high)))]
        )
        rows.append([text_list(cell.answer, "shared.and-with"), *ends, *shown])
    headings: list[str] = [translatable("estimation.answer-column")]
    headings += [] if item.certain else [item.intervals]
    headings.append(translatable("estimation.column-estimate"))
    headings += [translatable("presentation.truth-column")] if truth else []
    return Grid(headings, rows, (2.5, *(1.0,) * (len(headings) - 1)), figures=True)


def _shown(share: float, places: int) -> NumberText:
    return NumberText(percent(share, places).replace("-", "−"))


def _method(estimates: Estimates) -> Iterator[DocumentPart]:
    plan, guarantee = estimates.plan, estimates.guarantee
    for text in method_sentences(estimates):
        yield Paragraph(text)
    yield Heading(translatable("presentation.method-figures"), 2)
    yield Grid((), list(method_rows(estimates)), (1.0, 2.2))
    yield Heading(translatable("presentation.method-messages"), 2)
    yield Bullets(plan.message_texts)
    yield Heading(translatable("presentation.method-symbols"), 2)
    yield Paragraph(_text(guarantee_symbols(guarantee)), "quiet")


def _text(words: Sentence) -> str:
    return translatable(words.code, **words.arguments)
