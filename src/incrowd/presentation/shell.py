"""Pages from templates: one HTML shell with one style sheet, and every text escaped."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    PackageLoader,
    StrictUndefined,
    pass_context,
    select_autoescape,
)
from jinja2.runtime import Context
from markupsafe import Markup, escape

from incrowd.catalog.sentences import ENGLISH, localized, translatable, translated

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
        finalize=_spoken,
    )
    environment.filters |= {
        "breakable": _breakable,
        "one_line": one_line,
        "plain": plain,
        "shown": _shown,
        "capital": _capital,
    }
    environment.globals["say"] = translatable
    environment.globals["drawn"] = {"ink": INK, "muted": MUTED, "line": LINE, "accent": ACCENT}
    return environment


def _language(context: Context) -> str:
    return str(context.get("language", ENGLISH))


@pass_context
def _spoken(context: Context, value: Any) -> Any:
    """Return a text in the language of the page."""
    return translated(value, _language(context))


@pass_context
def _capital(context: Context, value: str) -> str:
    """Return a text in the language of the page, which begins with a capital letter."""
    text = str(translated(value, _language(context)))
    return text[:1].upper() + text[1:]


@pass_context
def _shown(context: Context, value: Any, spec: str) -> str:
    """Return a number, as the language of the page writes it."""
    return localized(format(value, spec), _language(context))


@pass_context
def _breakable(context: Context, name: str) -> Markup:
    return breakable(translated(name, _language(context)))


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
