"""The command that makes reports: `randomize`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import progress, say
from incrowd.cli.naming import naming
from incrowd.cli.options import (
    AnswersFile,
    AsJson,
    Encoding,
    Format,
    PlanFile,
    Sheet,
    beside,
    certified,
    check_answers,
    keep,
    source,
)
from incrowd.errors import IncrowdError, UsageError
from incrowd.files import is_stream
from incrowd.reports.locking import locked

ReportsOutput = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        help="Parquet file to write; a folder, if the plan has many messages or strata.",
    ),
]

KeyFile = Annotated[
    Path | None,
    typer.Option(help="File with the secret of permanent responses; made if missing."),
]
PeopleLedger = Annotated[
    Path | None,
    typer.Option(help="Ledger of these people: refused if it leaves no round of the plan."),
]


def randomize(
    plan: PlanFile,
    answers: AnswersFile,
    output: ReportsOutput,
    id: Annotated[
        str | None,
        typer.Option(
            help="Column that says whose row it is: one set of reports for each id. "
            "The whole file is then held in memory."
        ),
    ] = None,
    device_key: KeyFile = None,
    simulation_seed: Annotated[
        int | None,
        typer.Option(help="Repeatable randomness, for simulation only: such reports hide nothing."),
    ] = None,
    ledger: PeopleLedger = None,
    format: Format = None,
    encoding: Encoding = None,
    sheet: Sheet = None,
    json: AsJson = False,
) -> None:
    """Randomise and shuffle answers. Without --id one row is taken as one person.

    \b
    Example:
      incrowd randomize plan.json answers.csv -o reports.parquet
    """
    from incrowd.cli import show
    from incrowd.guarantees import check_left
    from incrowd.plans.ledger import Ledger
    from incrowd.sampling.randomize import randomize_files

    keep(output, plan, answers)
    check_answers(answers)
    made = certified(plan)
    if ledger:
        with naming(plan):
            check_left(Ledger.load(ledger), made)
    _check_reports_path(made, output)
    with kept_key(device_key) as key:
        written = randomize_files(
            made,
            source(answers, format, encoding, sheet),
            output,
            simulation_seed=simulation_seed,
            id=id,
            device_key=key,
            progress=progress,
        )
    with beside(output):
        show.randomized(made, written, json)


def _check_reports_path(made: incrowd.Plan, output: Path) -> None:
    """Raises UsageError before any work is done for a path that cannot be right."""
    if len(made.messages) > 1 or made.survey.open:
        if output.suffix:
            several = "strata" if made.survey.open else f"{len(made.messages)} messages"
            allowed = f"should name a folder: the plan has {several}"
            raise UsageError.of("-o", str(output), allowed)
    elif not is_stream(output) and output.suffix.lower() != ".parquet":
        raise UsageError.of("-o", str(output), "should end in .parquet: that is what is written")


@contextmanager
def kept_key(path: Path | None) -> Iterator[incrowd.DeviceKey | None]:
    """The key in a file; a new one from the operating system if there is no such file.

    A new key is written before the reports that need it, and removed if there are none after all.
    Until that is known nobody else takes it.
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
        with suppress(IncrowdError):  # it was not written
            if incrowd.DeviceKey.load(path) == key:
                path.unlink()
        raise
    say(f"wrote a new secret to {path}: keep it on the device, and use it in every round")
