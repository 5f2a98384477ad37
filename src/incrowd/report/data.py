"""Estimates as plain data: JSON for programs, one long table for spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.estimation.results import Estimates
from incrowd.estimation.tables import TableEstimate

JOINT = " | "


class Cell(NamedTuple):
    """One cell of a table: the answers, one of each question, and proportions of the people."""

    answer: tuple[str, ...]
    estimate: float
    standard_error: float
    low: float
    high: float
    truth: float | None = None

    @property
    def below_zero(self) -> bool:
        """Whether the raw estimate is negative: noise took it below what is possible."""
        return self.estimate < 0


class Shown(NamedTuple):
    """A table and its cells, the last question's answers changing fastest."""

    table: TableEstimate
    cells: tuple[Cell, ...]

    @property
    def has_truth(self) -> bool:
        """Whether the true shares are known as well."""
        return self.cells[0].truth is not None


def shown(estimates: Estimates) -> Iterator[Shown]:
    """Every table with its cells, in the order of the estimates."""
    truths = estimates.truth or (None,) * len(estimates.tables)
    for table, truth in zip(estimates.tables, truths, strict=True):
        yield Shown(table, _cells(table, truth))


def _cells(table: TableEstimate, truth: np.ndarray | None) -> tuple[Cell, ...]:
    columns = [table.estimate, table.standard_error, table.low, table.high]
    if truth is not None:
        columns.append(truth)
    values = zip(*(np.ravel(column).tolist() for column in columns), strict=True)
    return tuple(Cell(a, *v) for a, v in zip(product(*table.answers), values, strict=True))


def as_json(estimates: Estimates) -> dict[str, Any]:
    """The estimates as JSON-ready data.

    estimate, standard_error, low, high and truth are proportions of the people, raw: neither
    clipped nor projected. noise is the flip probability of a bit. truth is there only if known.
    """
    message = estimates.plan.messages[0]
    return {
        "reports": estimates.reports,
        "crowd": estimates.crowd,
        "simulation_seed": estimates.seed,
        "plan": estimates.plan.digest,
        "noise": message.channel.q,
        "copies": message.copies,
        "guarantee": estimates.guarantee.model_dump(mode="json"),
        "tables": [_table_json(item) for item in shown(estimates)],
    }


def _table_json(item: Shown) -> dict[str, Any]:
    return {
        "questions": list(item.table.questions),
        "errors": item.table.errors,
        "level": item.table.level,
        "cells": [_cell_json(cell) for cell in item.cells],
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    values = {**cell._asdict(), "answer": list(cell.answer)}
    return {name: value for name, value in values.items() if value is not None}


def as_table(estimates: Estimates) -> pa.Table:
    """The estimates as one long Arrow table, a row for each cell of each table.

    Columns: table and answer (the questions' ids and the answers, joined by " | "), estimate,
    standard_error, low, high (proportions of the people), below_zero, and truth if it is known.
    What is not in the columns (crowd, guarantee, seed, plan) is JSON in the schema's metadata
    under "incrowd"; Parquet keeps it, CSV cannot.
    """
    rows = [_row(item.table, cell) for item in shown(estimates) for cell in item.cells]
    columns = {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
    about = {name: value for name, value in as_json(estimates).items() if name != "tables"}
    return pa.table(columns).replace_schema_metadata({"incrowd": json.dumps(about)})


def _row(table: TableEstimate, cell: Cell) -> dict[str, Any]:
    values = _cell_json(cell)
    truth = values.pop("truth", None)
    row = {"table": JOINT.join(table.questions)} | values | {"answer": JOINT.join(cell.answer)}
    row["below_zero"] = cell.below_zero
    return row if truth is None else {**row, "truth": truth}
