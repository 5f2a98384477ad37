"""The page of a result that has no layout of its own: figures outside of tables, tables, notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from incrowd.catalog.sentences import ENGLISH, as_translatable
from incrowd.interviews.promise import InterviewPromise
from incrowd.presentation.guarantee_text import whole_sentence
from incrowd.presentation.receipts import invented_warning
from incrowd.views import Result, View


def parts(result: Result) -> dict[str, Any]:
    """Return the parts of the page of a result."""
    view = result.view()
    warned = [warning] if (warning := invented_warning(result)) else []
    promise = [as_translatable(whole_sentence(result.guarantee))] if result.guarantee else []
    if isinstance(result.guarantee, InterviewPromise):
        view = replace(view, notes=(*view.notes, as_translatable(result.guarantee.method)))
    return of_view(view, *warned, *view.above, *promise, *view.lines)


def pictured_parts(result: Result, language: str = ENGLISH) -> dict[str, Any]:
    """Return the same, with the pictures of the result above its tables."""
    from incrowd.presentation.pictures import pictures  # slow to load

    return parts(result) | {"pictures": list(pictures(result, language))}


def of_view(view: View, *texts: str) -> dict[str, Any]:
    """Return the parts of the page of a view, with texts above its tables."""
    return {"title": view.title, "texts": texts, "view": view, "pictures": []}
