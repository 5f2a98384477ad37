"""The layouts of pages. An object names its layout; drawing is slow to import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from incrowd.catalog.sentences import ENGLISH
from incrowd.presentation.shell import rendered
from incrowd.views import Notebook, presented

LOW, HIGH = "28em", "40em"  # of the frame in a notebook


class Layout(NamedTuple):
    """A template, the function that gives what it shows (as for `presented`), and the height of
    its frame in a notebook. drawn: whether it has charts, which are drawn in a language."""

    template: str
    parts: str
    height: str = LOW
    drawn: bool = False


LAYOUTS: Mapping[str, Layout] = {
    "view": Layout("view.html", "view:parts"),
    "pictured": Layout("view.html", "view:pictured_parts", HIGH, drawn=True),
    "table": Layout("view.html", "table_view:table_parts"),
    "words": Layout("view.html", "table_view:words_parts"),
    "estimates": Layout("estimates.html", "page:parts", HIGH, drawn=True),
    "regression": Layout("regression.html", "regression_page:parts", HIGH, drawn=True),
    "survey": Layout("facts.html", "plan_text:survey_parts"),
    "plan": Layout("facts.html", "plan_text:plan_parts"),
}


def parts(shown: Notebook, language: str = ENGLISH) -> dict[str, Any]:
    """Return the parts that the template of an object's layout shows. language: of its charts."""
    layout = LAYOUTS[shown.layout]
    options = (language,) if layout.drawn else ()
    shows: dict[str, Any] = presented(f"{__package__}.{layout.parts}", shown, *options)
    return shows


def page(shown: Notebook, language: str = ENGLISH) -> str:
    """Return a self-contained HTML page of an object in a language: no network, no script, no other
    file."""
    return rendered(LAYOUTS[shown.layout].template, **parts(shown, language), language=language)


def framed(shown: Notebook) -> str:
    """Return a page in a frame: the style of neither reaches the other."""
    return rendered("frame.html", page=page(shown), height=LAYOUTS[shown.layout].height)
