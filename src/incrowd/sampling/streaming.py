"""Files of reports from any number of answers, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np

from incrowd.plans import CellsMessage, Message, Plan
from incrowd.plans.strata import StratumNames
from incrowd.reports.collection import ID_BYTES, Collection, write_reports
from incrowd.reports.folder import Bucket, new_files
from incrowd.reports.tally import as_counts, of_rows
from incrowd.sampling.added import with_noise
from incrowd.sampling.flips import packed_width
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.shuffle import (
    AnswerTables,
    Disk,
    DrawReports,
    Rows,
    shuffled,
    spread_answers,
)
from incrowd.sampling.strata import check_people

BATCH_ROWS = 1 << 17
BATCH_BYTES = 1 << 26  # for a batch while it is randomized: a byte per bit
NUMBER_BYTES = 32  # for the number of a cell while it is drawn

ProgressBar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True)
class WrittenReports:
    """The files that were written, one for each message, and the number of reports in each; of
    published counts, how many there are.

    rows: the rows of answers. seed: None for real reports, otherwise that of the simulation.
    strata: those of each file, if questions are open.
    """

    rows: int
    files: tuple[Path, ...]
    reports: tuple[int, ...]
    seed: int | None
    strata: tuple[StratumNames, ...] = ()


def in_two_passes(
    plan: Plan,
    tables: AnswerTables,
    draw: DrawReports,
    output: Path,
    *,
    keystream: Keystream,
    size: int,
    unit: str,
    bar: ProgressBar,
    people: Mapping[StratumNames, int] | None = None,
) -> WrittenReports:
    """Randomize and shuffle tables of answers into the files of `new_files`.

    draw: makes the reports of each message (and of each release, if questions are open) from a
    table, or the counts of its cells if noise is added to them: they add up over all tables. size,
    unit: how much there is to read. people: the number in each release.
    """
    heads = list(product(people or [()], range(len(plan.messages))))
    with (
        new_files(output, [crowd for crowd, _ in heads]) as files,
        ExitStack() as open_files,
    ):
        disk = Disk(next(iter(files.values())).parent, open_files)
        with bar(f"randomizing, {unit}", size) as done:
            kinds = [
                Rows(packed_width(plan.messages[n].file_bits), plan.messages[n].by_services)
                for _, n in heads
            ]
            rows, buckets = spread_answers(draw, kinds, tables, keystream, disk, done)
        if people is None:
            check_people(plan, rows)
        reports = tuple(
            plan.messages[n].record_bits if plan.messages[n].by_services else sum(map(len, each))
            for (_, n), each in zip(heads, buckets, strict=True)
        )
        with bar("shuffling, reports", sum(reports)) as done:
            for (crowd, number), file, parts in zip(heads, files.values(), buckets, strict=True):
                message = plan.messages[number]
                head = header(plan, number, (people or {}).get(crowd, rows), keystream)
                if message.cells and message.by_services:
                    pieces = iter([publish(plan, message, _summed(parts, message), keystream)])
                else:
                    pieces = shuffled(parts, keystream, disk, done)
                write_reports(replace(head, strata=crowd), pieces, file)
    strata = tuple(crowd for crowd, _ in heads) if people else ()
    return WrittenReports(rows, tuple(files), reports, keystream.seed, strata)


def publish(
    plan: Plan, message: CellsMessage, counts: np.ndarray, keystream: Keystream
) -> np.ndarray:
    """Return the rows of a collection of published counts, from the true ones of one party."""
    assert message.added is not None
    return as_counts(with_noise(counts, message.added, plan.own_draws, keystream))


def _summed(parts: list[Bucket], message: CellsMessage) -> np.ndarray:
    """Return the sums of the counts of all tables of answers."""
    (bucket,) = parts
    tables = bucket.take(message.record_bits)
    return np.asarray(sum(map(of_rows, tables)), np.int64)


def no_bar(_: str, __: int) -> AbstractContextManager[Callable[[int], None]]:
    """Return a progress bar that shows nothing."""
    return nullcontext(lambda done: None)


def batch_rows(plan: Plan) -> int:
    """Return how many people to randomize at a time, so that a batch takes bounded memory."""
    most = max(_bytes_each(message) for message in plan.messages)
    return int(min(BATCH_ROWS, max(1, BATCH_BYTES // most)))


def _bytes_each(message: Message) -> float:
    """Return the bytes of one person's reports while they are drawn; for cells on average."""
    each = NUMBER_BYTES if message.cells else message.bits
    return each * message.reports_each


def header(plan: Plan, number: int, people: int, keystream: Keystream) -> Collection:
    """Return a collection without its reports. people: the number whose reports it will contain."""
    message = plan.messages[number]
    bits = message.file_bits
    return Collection(
        plan=plan.digest,
        message=number,
        bits=bits,
        packed=np.empty((0, packed_width(bits)), np.uint8),
        seed=keystream.seed,
        id=keystream.words(ID_BYTES // 8).tobytes().hex(),
        people=message.declared(people),
        draws=plan.own_draws if message.by_services else 0,
    )
