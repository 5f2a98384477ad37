"""The command that randomizes answers: `randomize`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import progress, say
from incrowd.cli.options import (
    AnswersFile,
    AsJson,
    EncodingOption,
    FormatOption,
    PlanArgument,
    SheetOption,
    beside,
    certified,
    check_answers,
    keep,
    source,
)
from incrowd.errors import IncrowdError, UsageError, naming
from incrowd.files import is_stream
from incrowd.reports.locking import locked

ReportsOutput = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        help="Folder to write to; or a Parquet file, if the plan has one message.",
    ),
]

KeyFile = Annotated[
    Path | None,
    typer.Option(help="File with the secret for permanent responses; created if missing."),
]
PeopleLedger = Annotated[
    Path | None,
    typer.Option(help="Ledger of these people; fail if it leaves no round of the plan."),
]


def randomize(
    plan: PlanArgument,
    answers: AnswersFile,
    output: ReportsOutput,
    id: Annotated[
        str | None,
        typer.Option(
            help="Column that identifies the person: one set of reports per id. "
            "Holds the whole file in memory."
        ),
    ] = None,
    device_key: KeyFile = None,
    simulation_seed: Annotated[
        int | None,
        typer.Option(help="Seed, for simulations only: such reports have no privacy."),
    ] = None,
    ledger: PeopleLedger = None,
    format: FormatOption = None,
    encoding: EncodingOption = None,
    sheet: SheetOption = None,
    json: AsJson = False,
) -> None:
    """Randomize and shuffle answers. Without --id, each row is one person.

    \b
    Example:
      incrowd randomize plan.json answers.csv -o reports.parquet
    """
    from incrowd.cli import show
    from incrowd.guarantees.rounds import check_left
    from incrowd.plans.ledger import Ledger
    from incrowd.sampling.check import already_randomized
    from incrowd.sampling.randomize import randomize_files

    keep(output, plan, answers)
    check_answers(answers)
    checked_plan = certified(plan)
    if ledger:
        with naming(plan):
            check_left(Ledger.load(ledger), checked_plan)
    _check_reports_path(checked_plan, output)
    if note := already_randomized(checked_plan.survey):
        say(str(note))
    with stored_key(device_key) as key:
        written = randomize_files(
            checked_plan,
            source(answers, format, encoding, sheet),
            output,
            simulation_seed=simulation_seed,
            id=id,
            device_key=key,
            progress=progress,
        )
    with beside(output):
        show.randomized(checked_plan, written, json)


def _check_reports_path(plan: incrowd.Plan, output: Path) -> None:
    """Raise UsageError, before any work is done, for a path of the wrong kind."""
    if len(plan.messages) > 1 or plan.survey.open:
        if output.suffix:
            if plan.survey.open:
                raise UsageError.of("-o", "cli.folder-for-strata", path=str(output))
            number = len(plan.messages)
            raise UsageError.of("-o", "cli.folder-for-messages", path=str(output), messages=number)
    elif output.suffix.lower() not in ("", ".parquet") and not (
        output.is_dir() or is_stream(output)
    ):
        raise UsageError.of("-o", "cli.file-for-message", path=str(output))


@contextmanager
def stored_key(path: Path | None) -> Iterator[incrowd.DeviceKey | None]:
    """Yield the key in a file; create a new one if the file does not exist.

    A new key is written before the reports that need it, and removed if writing them fails. Until
    then no other process can use it.
    """
    if path is None:
        yield None
        return
    with ExitStack() as held:
        if not path.exists() or os.access(path.parent, os.W_OK):
            held.enter_context(locked(path))
        if not path.exists():
            yield held.enter_context(_new_key(path))
            return
    yield incrowd.DeviceKey.load(path)


@contextmanager
def _new_key(path: Path) -> Iterator[incrowd.DeviceKey]:
    key = incrowd.DeviceKey.create()
    try:
        key.save(path)
        yield key
    except BaseException:
        with suppress(IncrowdError):  # the file was not written
            if incrowd.DeviceKey.load(path) == key:
                path.unlink()
        raise
    say(f"wrote a new secret to {path}: keep it on the device and use it in every round")
