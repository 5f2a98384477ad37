"""How long cells take: randomized and counted beside numpy, least squares beside a dense solver."""

from functools import partial
from itertools import combinations

import numpy as np
import pyarrow as pa

import incrowd
from bench.measure import row
from incrowd.estimation.cells import CellCounts, CellsReading
from incrowd.reports.tally import count

RUNS = 5
PEOPLE = 1 << 20
ANSWERS = 4  # of each question
QUESTIONS = 6


def plan():
    """The tables of all pairs of questions, each sent as cells."""
    ids = [f"q{i}" for i in range(QUESTIONS)]
    options = [f"o{i}" for i in range(ANSWERS)]
    tables = [{"questions": pair} for pair in combinations(ids, 2)]
    messages = [table | {"cells": True} for table in tables]
    raw = {"name": "pairs", "crowd": PEOPLE, "privacy": {"epsilon": 1.0, "delta": 1e-8}}
    raw["question"] = [{"id": id, "type": "choice", "options": options} for id in ids]
    return incrowd.plan(incrowd.Survey.of(raw | {"table": tables, "message": messages}))


def answers(plan):
    generator = np.random.default_rng(0)
    options = pa.array([f"o{i}" for i in range(ANSWERS)])
    places = generator.integers(0, ANSWERS, (QUESTIONS, PEOPLE))
    ids = [question.id for question in plan.survey.questions]
    return places, pa.table(dict(zip(ids, map(options.take, map(pa.array, places)), strict=True)))


def plainly(plan, places):
    """One-hot tables, flips by numbers that are neither secret nor exact, shuffled set cells."""
    generator = np.random.default_rng()
    for message in plan.messages:
        first, second = (int(id[1:]) for id in message.ids)
        cell = places[first] * ANSWERS + places[second]
        sent = generator.random((PEOPLE, ANSWERS**2), np.float32) < message.noise.q
        sent[np.arange(PEOPLE), cell] ^= True
        generator.permutation(np.nonzero(sent)[1])


def collected(plan):
    """Counts of cells, as they come out."""
    generator = np.random.default_rng(0)
    return CellsReading(
        tuple(
            CellCounts(message, PEOPLE, generator.binomial(PEOPLE, 0.1, message.record_bits))
            for message in plan.messages
        ),
        1.0,
    )


def all_tables(reading):
    for part in reading.parts:
        reading.combined(part.message.ids)


def dense(reading):
    """The joint table of all questions with the smallest sum of squares, by a general solver."""
    shape = (ANSWERS,) * QUESTIONS
    cells = np.eye(ANSWERS**QUESTIONS).reshape(*shape, -1)
    rows, values = [], []
    for part in reading.parts:
        axes = tuple(i for i in range(QUESTIONS) if f"q{i}" not in part.message.ids)
        weight = np.sqrt(part.message.noise.excess)
        rows.append(weight * cells.sum(axis=axes).reshape(-1, ANSWERS**QUESTIONS))
        low, high = part.message.noise.inverse[1]
        values.append(weight * (low + (high - low) * part.reports / PEOPLE))
    np.linalg.lstsq(np.vstack(rows), np.concatenate(values), rcond=None)


def rows():
    """Every measurement."""
    made = plan()
    places, table = answers(made)
    number = len(made.messages)
    reports = incrowd.randomize(made, table)
    sent = sum(map(len, reports))
    yield row(
        f"{PEOPLE:,} people randomized into the cells of {number} tables, {sent:,} reports",
        partial(incrowd.randomize, made, table),
        "numpy: one-hot, random() < q, permutation; not cryptographic, not exact",
        partial(plainly, made, places),
        runs=2,
        bar="at least 1.0",
    )
    packed = [np.ascontiguousarray(each.packed[:, 0]) for each in reports]
    yield row(
        f"the same reports counted: {number} tables of {ANSWERS**2} cells",
        partial(count, made, reports, [message.ids for message in made.messages]),
        "np.bincount of the same bytes",
        lambda: [np.bincount(each) for each in packed],
        runs=RUNS,
        bar="at least .70",
    )
    yield row(
        f"{number} tables by least squares over all of them",
        partial(all_tables, collected(made)),
        f"np.linalg.lstsq for the joint table of {QUESTIONS} questions",
        partial(dense, collected(made)),
        runs=RUNS,
    )
