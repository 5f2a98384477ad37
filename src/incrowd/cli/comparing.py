"""Comparisons of groups for people or machines."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.text import Text

from incrowd.cli.console import out, printed_as_json, say, table
from incrowd.presentation.comparisons import HEADINGS, independence_words, notes, row, title
from incrowd.presentation.guarantees import guarantee_sentence
from incrowd.presentation.number_text import finite
from incrowd.workflow.compare import TwoWay


def comparison(found: TwoWay, json: bool) -> None:
    """What two questions have to do with each other."""
    if printed_as_json(json, lambda: _facts(found), found.seed):
        return
    say(guarantee_sentence(found.guarantee))
    out.print(independence_words(found.independence), markup=False, highlight=False)
    shown = table(title(found.questions), *HEADINGS)
    for item in found.figures:
        name, estimate, interval = row(item)
        shown.add_row(Text(name), estimate, interval)
    out.print(shown)
    for note in notes(found.figures):
        say(note)


def _facts(found: TwoWay) -> dict[str, Any]:
    """No infinity and no nan, null in their place: `unbounded` says on which side there is no
    limit."""
    facts: dict[str, Any] = finite(dataclasses.asdict(found))
    return facts | {"guarantee": found.guarantee.model_dump()}
