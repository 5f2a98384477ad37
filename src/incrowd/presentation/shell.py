"""Pages from templates: one HTML shell with one style sheet, and every text escaped."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from incrowd.presentation.style import style_sheet


@cache
def templates(package: str = __package__) -> Environment:
    """The templates of a package, which may extend those here; they escape what they are given."""
    own = (PackageLoader(name) for name in dict.fromkeys((package, __package__)))
    found = Environment(
        loader=ChoiceLoader(list(own)),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    found.filters["breakable"] = breakable
    found.globals["style_sheet"] = Markup(style_sheet())
    return found


def rendered(template: str, package: str = __package__, /, **parts: Any) -> str:
    """A self-contained page: no network, no script, no other file."""
    return templates(package).get_template(template).render(parts) + "\n"


def breakable(name: str) -> Markup:
    """A line may break after each underscore."""
    return escape(name).replace("_", Markup("_<wbr>"))
