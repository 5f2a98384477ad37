"""Pages from templates: one HTML shell with one style sheet, and every text escaped."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

# The colors of the light page, by which the style sheet of the dark page selects elements.
INK, MUTED, LINE, ACCENT = "#1b1f24", "#59636e", "#dfe3e8", "#0b5cad"

# An underscore within a word, as in many names, is not markup.
_MARKS = re.compile(r"[\\`*\[\]<>&#|~$]|(?<![^\W_])_|_(?![^\W_])")


@cache
def templates(package: str = __package__) -> Environment:
    """Return the templates of a package, which can extend those here; HTML is escaped."""
    loaders = (PackageLoader(name) for name in dict.fromkeys((package, __package__)))
    environment = Environment(
        loader=ChoiceLoader(list(loaders)),
        autoescape=select_autoescape(disabled_extensions=("md",), default=True),
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "breakable": breakable,
        "one_line": one_line,
        "plain": plain,
        "shown": format,
    }
    environment.globals["drawn"] = {"ink": INK, "muted": MUTED, "line": LINE, "accent": ACCENT}
    return environment


def rendered(template: str, package: str = __package__, /, **parts: Any) -> str:
    """Return a self-contained page: no network, no script, no other file."""
    return templates(package).get_template(template).render(parts)


def breakable(name: str) -> Markup:
    """Allow a line break after each underscore."""
    return escape(name).replace("_", Markup("_<wbr>"))


def plain(text: str) -> str:
    """Escape everything that Markdown would read as markup."""
    return _MARKS.sub(r"\\\g<0>", one_line(text))


def one_line(text: str) -> str:
    """Replace line breaks with spaces, since a new line can start other markup in Markdown."""
    return " ".join(text.splitlines())
