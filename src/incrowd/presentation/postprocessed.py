"""Post-processed shares next to the unbiased ones, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING, Any

from incrowd.presentation.data import JOINT, guarantee_facts
from incrowd.presentation.number_text import finite
from incrowd.presentation.receipts import marked_table
from incrowd.presentation.sentences import guarantee_sentence
from incrowd.presentation.shown import answer_labels, titled
from incrowd.presentation.view import Numbers, View
from incrowd.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.postprocess import Postprocessed


def view(tables: Sequence[Postprocessed], survey: Survey) -> View:
    """The view of all tables that one method post-processed."""
    facts = [
        finite(asdict(item)) | {"guarantee": guarantee_facts(item.guarantee)} for item in tables
    ]
    asked = dict.fromkeys(id for item in tables for id in item.questions)
    return View(
        title=tables[0].method,
        facts={"tables": facts},
        seed=tables[0].seed,
        promise=guarantee_sentence(tables[0].guarantee),
        tables=tuple(_numbers(item, survey) for item in tables),
        notes=(tables[0].statement, *survey.rounding_lines(asked)),
    )


def postprocessed_table(tables: Sequence[Postprocessed]) -> pa.Table:
    """An Arrow table with a row for each cell of each table.

    Columns: questions and answer (joined by " | "), method, post_processed (biased) and unbiased,
    both proportions; bias and bias_error if the bias was estimated.
    """
    import pyarrow  # slow to load

    rows = []
    for item in tables:
        bias = item.bias
        for place, answer in enumerate(product(*item.answers)):
            row: dict[str, Any] = {
                "questions": JOINT.join(item.questions),
                "answer": JOINT.join(answer),
                "method": item.method,
                "post_processed": float(item.estimate.flat[place]),
                "unbiased": float(item.raw.flat[place]),
            }
            if bias:
                row["bias"] = float(bias.bias.flat[place])
                row["bias_error"] = float(bias.standard_error.flat[place])
            rows.append(row)
    return marked_table(pyarrow.Table.from_pylist(rows), tables[0].seed)


def _numbers(item: Postprocessed, survey: Survey) -> Numbers:
    """One table, with its bias if that was estimated."""
    heading = titled([survey.text_of(id) for id in item.questions], item.questions)
    answers = [
        answer_labels(survey, *pair) for pair in zip(item.questions, item.answers, strict=True)
    ]
    bias = item.bias
    lines = []
    for place, answer in enumerate(product(*answers)):
        line = [
            " | ".join(answer),
            f"{item.estimate.flat[place]:.2%}",
            f"{item.raw.flat[place]:.2%}",
        ]
        if bias:
            mean, error = bias.bias.flat[place], bias.standard_error.flat[place]
            line.append(f"{100 * mean:+.2f} ({100 * error:.2f})")
        lines.append(tuple(line))
    of_bias = ("bias in pp (std. error)",) if bias else ()
    headings = ("answer", "post-processed", "unbiased", *of_bias)
    return Numbers(f"{heading}: {item.method}", headings, tuple(lines), notes=tuple(_notes(item)))


def _notes(item: Postprocessed) -> Iterator[str]:
    if item.log_likelihood:
        steps, last = len(item.log_likelihood) - 1, item.log_likelihood[-1]
        yield f"EM: {steps:,} steps, log-likelihood {last:,.3f}"
    yield from filter(None, (item.warning, item.bias.statement if item.bias else ""))
