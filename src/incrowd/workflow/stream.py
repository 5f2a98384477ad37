"""Files of answers to files of reports, whatever their size, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np

from incrowd.encoding.answers import load_answers
from incrowd.encoding.batches import Batches, load_batches
from incrowd.plans import Message, Plan, UnlinkedBits
from incrowd.reports.collection import ID_BYTES, Collection, write_reports
from incrowd.reports.folder import new_files, save_reports
from incrowd.sampling.flip import packed_width
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import DeviceKey
from incrowd.workflow.passes import Disk, shuffled, spread_answers
from incrowd.workflow.randomize import keystream_for, randomize

BATCH_ROWS = 1 << 17
BATCH_BYTES = 1 << 26  # of a batch while it is randomised: a byte for each bit
NUMBER_BYTES = 32  # of an unlinked set bit while they are drawn

Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]


@dataclass(frozen=True)
class Written:
    """What was written: for each message its file, and how many reports are in it.

    rows: of answers. seed: None for real reports; a simulation names it.
    """

    rows: int
    files: tuple[Path, ...]
    reports: tuple[int, ...]
    seed: int | None


def randomize_files(
    plan: Plan,
    answers: str | Path,
    output: str | Path,
    simulation_seed: int | None = None,
    id: str | None = None,
    device_key: DeviceKey | None = None,
    progress: Progress | None = None,
) -> Written:
    """Encode, randomise and shuffle a file of answers of any size, in bounded memory.

    The collections have the law of `randomize`: each is one uniform permutation of all its
    reports. A file that is one batch gives the very bytes that `randomize` gives. On disk the
    reports stand once more while it works, in files without a name beside the output. Only `id`
    takes memory for the whole file: whether a row is the first of its id, and whether others of
    the same id agree with it, is known when all are there.

    answers: a CSV or Parquet file. output: as for `save_reports`; written wholly or not at all.
    progress: makes a progress bar from a label and a total. The rest, and what is raised, is as
    for `randomize`; wrong rows are counted over the whole file.
    """
    bar = progress or _no_bar
    read = _batches(plan, answers, id)
    first = list(islice(read.tables, 2))
    if len(first) > 1:
        read = read._replace(tables=chain(first, read.tables))
        keystream = keystream_for(simulation_seed)
        return _in_two_passes(plan, read, Path(output), keystream, device_key, bar)
    table, _ = first[0]
    with bar("randomising, rows", table.num_rows) as done:
        made = randomize(plan, table, simulation_seed, id, device_key)
        done(table.num_rows)
    return Written(
        table.num_rows, save_reports(made, output), tuple(map(len, made)), simulation_seed
    )


def _in_two_passes(
    plan: Plan,
    read: Batches,
    output: Path,
    keystream: Keystream,
    key: DeviceKey | None,
    bar: Progress,
) -> Written:
    with new_files(output, len(plan.messages)) as files, ExitStack() as open_files:
        disk = Disk(next(iter(files.values())).parent, open_files)
        with bar(f"randomising, {read.unit}", read.size) as done:
            rows, buckets = spread_answers(plan, read.tables, keystream, key, disk, done)
        reports = tuple(sum(map(len, each)) for each in buckets)
        with bar("shuffling, reports", sum(reports)) as done:
            for number, file in enumerate(files.values()):
                pieces = shuffled(buckets[number], keystream, disk, done)
                write_reports(_header(plan, number, rows, keystream), pieces, file)
    return Written(rows, tuple(files), reports, keystream.seed)


def _no_bar(_: str, __: int) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda done: None)


def _batches(plan: Plan, answers: str | Path, id: str | None) -> Batches:
    """The answers in batches; with ids in one, however large."""
    if id is None:
        return load_batches(answers, plan.survey, batch_rows(plan))
    table = load_answers(answers, plan.survey, id)
    return Batches(table.num_rows, "rows", iter([(table, table.num_rows)]))


def batch_rows(plan: Plan) -> int:
    """How many people are randomised at a time, so that a batch takes bounded memory."""
    most = max(_bytes_each(message) for message in plan.messages)
    return int(min(BATCH_ROWS, max(1, BATCH_BYTES // most)))


def _bytes_each(message: Message) -> float:
    """Of one person's reports while they are drawn; of unlinked set bits on average."""
    each = NUMBER_BYTES if isinstance(message, UnlinkedBits) else message.bits
    return each * message.reports_each


def _header(plan: Plan, number: int, rows: int, keystream: Keystream) -> Collection:
    """All of a collection but its reports."""
    message = plan.messages[number]
    bits = message.bits
    return Collection(
        plan=plan.digest,
        message=number,
        bits=bits,
        packed=np.empty((0, packed_width(bits)), np.uint8),
        seed=keystream.seed,
        id=keystream.words(ID_BYTES // 8).tobytes().hex(),
        people=message.declared(rows),
    )
