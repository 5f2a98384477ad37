"""The layouts of pages. An object names its layout; drawing is slow to import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from incrowd.presentation.shell import rendered
from incrowd.views import Notebook, presented

LOW, HIGH = "28em", "40em"  # of the frame in a notebook


class Layout(NamedTuple):
    """A template, the function that gives what it shows (as for `presented`), and the height of
    its frame in a notebook."""

    template: str
    parts: str
    height: str = LOW


LAYOUTS: Mapping[str, Layout] = {
    "view": Layout("view.html", "view:parts"),
    "table": Layout("view.html", "table_view:table_parts"),
    "words": Layout("view.html", "table_view:words_parts"),
    "estimates": Layout("estimates.html", "page:parts", HIGH),
    "regression": Layout("regression.html", "regression_page:parts", HIGH),
    "survey": Layout("facts.html", "plan_text:survey_parts"),
    "plan": Layout("facts.html", "plan_text:plan_parts"),
}


def parts(shown: Notebook) -> dict[str, Any]:
    """Return the parts that the template of an object's layout shows."""
    shows: dict[str, Any] = presented(f"{__package__}.{LAYOUTS[shown.layout].parts}", shown)
    return shows


def page(shown: Notebook) -> str:
    """Return a self-contained HTML page of an object: no network, no script, no other file."""
    return rendered(LAYOUTS[shown.layout].template, **parts(shown))


def framed(shown: Notebook) -> str:
    """Return a page in a frame: the style of neither reaches the other."""
    return rendered("frame.html", page=page(shown), height=LAYOUTS[shown.layout].height)
