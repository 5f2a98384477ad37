"""The command of a device: `send`."""

from __future__ import annotations

import csv
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import incrowd
from incrowd.cli.console import out, print_json, progress, say, working
from incrowd.cli.options import AsJson, check_answers
from incrowd.cli.randomizing import kept_key
from incrowd.cli.words import AT_ONCE, PATIENCE
from incrowd.errors import MISSING, UsageError, unreadable

if TYPE_CHECKING:
    from incrowd.collection.device.crowd import Crowd
    from incrowd.collection.device.device import Device
    from incrowd.collection.protocol.addresses import Link

STANDARD_INPUT = "-"

LinkText = Annotated[
    str,
    typer.Argument(metavar="LINK", help="The whole link; - reads it from standard input."),
]
Answers = Annotated[
    Path | None,
    typer.Argument(metavar="ANSWERS", help="Your answers, a file with one row."),
]
Short = Annotated[
    str, typer.Option(help="Short form of the bundle, as it is printed: another one is refused.")
]
Code = Annotated[str, typer.Option(help="Code of the invitation, unless the link has it.")]
Stratum = Annotated[
    str | None, typer.Option(help="The part of the crowd that you belong to, if there are several.")
]
Show = Annotated[bool, typer.Option("--show", help="Say what is promised, and send nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before sending.")]
Keep = Annotated[
    bool, typer.Option("--keep", help="Keep the upload until closing, so that --withdraw can work.")
]
Withdraw = Annotated[bool, typer.Option("--withdraw", help="Take back what was sent with --keep.")]
EachRow = Annotated[
    bool, typer.Option("--each-row", help="Play a crowd: every row is a person of its own.")
]
Codes = Annotated[
    Path | None, typer.Option(help="Invitations for --each-row, a CSV file with a column code.")
]
Id = Annotated[str | None, typer.Option(help="Column that says whose row it is, for --each-row.")]
AtOnce = Annotated[
    int, typer.Option(min=1, max=256, help="How many of --each-row send at the same time.")
]
DeviceKeyFile = Annotated[
    Path | None, typer.Option(help="File with the secret of permanent responses; made if missing.")
]
MemoryFolder = Annotated[
    Path | None, typer.Option(help="Folder of what this device answered: digests, no answers.")
]
Seconds = Annotated[
    float, typer.Option(min=0, help="Seconds for which to try again where there is no answer.")
]


def send(
    link: LinkText,
    answers: Answers = None,
    short: Short = "",
    code: Code = "",
    stratum: Stratum = None,
    show: Show = False,
    yes: Yes = False,
    keep: Keep = False,
    withdraw: Withdraw = False,
    each_row: EachRow = False,
    codes: Codes = None,
    id: Id = None,
    at_once: AtOnce = AT_ONCE,
    device_key: DeviceKeyFile = None,
    memory: MemoryFolder = None,
    patience: Seconds = PATIENCE,
    json: AsJson = False,
) -> None:
    """Answer a collection: one upload, sealed, to its shuffler.

    Says what is promised first. The answers are randomised when they are sent, once, and written
    nowhere. Where there is no answer the same upload is sent again.

    \b
    Example:
      incrowd send https://mix.example/survey#3f6e... answers.csv
    """
    from incrowd.collection.device.connection import Connection, Patience
    from incrowd.collection.device.device import Device

    where = _read(link, short)
    _check_use(answers, show or withdraw)
    connection = Connection(patience=Patience(whole=patience), notify=say)
    with working("fetching the bundle, certifying its plan"):
        device = Device.of(where, memory or _home(), connection=connection)
    _show(device, quiet=json or withdraw)
    facts = _facts(device)
    with ExitStack() as held:
        if withdraw:
            device.withdraw()
            facts["outcome"] = "withdrawn"
        elif show or answers is None:
            facts["outcome"] = "nothing was sent"
        elif each_row:
            key = held.enter_context(kept_key(device_key))
            facts |= _crowd(device, answers, stratum, _codes(device, codes), id, key, at_once)
        else:
            _ask(yes or json)
            key = held.enter_context(kept_key(device_key))
            facts |= _one(device, answers, stratum, code, key, keep)
    _report(facts, json)


def _home() -> Path:
    return Path(typer.get_app_dir("incrowd"))


def _read(link: str, printed: str) -> Link:
    """The link itself, from standard input too: on a command line others see the code in it."""
    from incrowd.collection.protocol.addresses import Link, is_short_of
    from incrowd.collection.protocol.addresses import short as shortened

    found = Link.parse(sys.stdin.readline() if link == STANDARD_INPUT else link)
    if printed and not is_short_of(printed, found.digest):
        allowed = f"the link is for {shortened(found.digest)}; ask whoever invited you"
        raise UsageError.of("short", printed, allowed)
    return found


def _check_use(answers: Path | None, nothing_sent: bool) -> None:
    if answers:
        check_answers(answers)
    elif not nothing_sent:
        raise UsageError.of("answers", MISSING, "name a file with your answers")


def _ask(agreed: bool) -> None:
    """At a terminal a person agrees first; who typed the whole command elsewhere has."""
    if not agreed and sys.stdin.isatty():
        typer.confirm("Send?", abort=True, err=True)


def _show(device: Device, quiet: bool) -> None:
    """What is promised, and an example: made up, nothing is drawn yet."""
    from incrowd.presentation.terminal_tables import beside

    for warning in device.warnings:
        say(f"warning: {warning}")
    if quiet:
        return
    for title, text in device.terms:
        out.print(beside(f"{title}: ", text), highlight=False)
    out.print("An example, made up:")
    for each in device.example:
        asked, answers = ", ".join(each.questions), " / ".join(each.answers)
        said = f"{asked}: {answers} is {each.record}, sent perhaps as {each.report}"
        out.print(beside("  ", f"{said}; odds {each.odds}"), highlight=False)


def _facts(device: Device) -> dict[str, Any]:
    from incrowd.collection.protocol.addresses import short as shortened
    from incrowd.presentation.data import promise_facts

    promise = device.promise.guarantee
    return {
        "bundle": device.bundle.digest.hex(),
        "short": shortened(device.bundle.digest),
        "plan": device.bundle.plan.digest,
        "promise": promise_facts(promise, sealed=True) | {"redraw_tail": device.promise.tail},
        "terms": dict(device.terms),
        "example": [each._asdict() | {"odds": each.odds} for each in device.example],
        "warnings": list(device.warnings),
    }


def _one(
    device: Device,
    answers: Path,
    stratum: str | None,
    code: str,
    key: incrowd.DeviceKey | None,
    keep: bool,
) -> dict[str, Any]:
    table = incrowd.load_answers(answers, device.bundle.plan.survey)
    if not code and not device.link.code and device.bundle.codes and sys.stdin.isatty():
        code = typer.prompt("Code of the invitation", err=True)
    sent = device.send(table, stratum=stratum, code=code, device_key=key, keep=keep)
    return asdict(sent)


def _crowd(
    device: Device,
    answers: Path,
    stratum: str | None,
    codes: list[bytes],
    id: str | None,
    key: incrowd.DeviceKey | None,
    at_once: int,
) -> dict[str, Any]:
    from incrowd.collection.device.crowd import send_each
    from incrowd.collection.device.device import checked_code, strata_of
    from incrowd.encoding.answers import texts
    from incrowd.encoding.records import People, one_row_each
    from incrowd.sampling.permanent import remembering

    plan, bundle = device.bundle.plan, device.bundle
    table = incrowd.load_answers(answers, plan.survey, id=id)
    names = None
    if id is not None:
        table = one_row_each(table, plan.survey, id)
        names = texts(table, id).to_pylist()
    people = People.of(plan.survey, table)
    with progress("sending, people", people.number) as advance:
        found = send_each(
            bundle,
            people,
            device.connection,
            codes=codes or [checked_code(bundle, "")] * people.number,
            strata=strata_of(bundle, people, stratum).tolist(),
            memory=remembering(plan, people.number, names, key),
            at_once=at_once,
            progress=advance,
        )
    return _outcome(found)


def _outcome(found: Crowd) -> dict[str, Any]:
    return asdict(found) | {"outcome": "sent", "uploads_per_second": found.uploads_per_second}


def _codes(device: Device, path: Path | None) -> list[bytes]:
    """The codes of a file of invitations; none of it is shown in a message."""
    from incrowd.collection.device.device import checked_code

    if path is None:
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            typed = [row.get("code") for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = unreadable(error) if isinstance(error, OSError) else "it is no CSV file"
        raise UsageError.of("codes", str(path), f"{why}; name another file") from None
    if not typed or None in typed:
        allowed = "should be a CSV file with a column code, as the shuffler's side made it"
        raise UsageError.of("codes", str(path), allowed)
    return [checked_code(device.bundle, each or "") for each in typed]


_SAID = {
    "stored": "stored: the shuffler has it",
    "repeated": "the shuffler had it already",
    "withdrawn": "withdrawn: it was not counted, and you may answer again",
}


def _report(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
    elif facts["outcome"] == "sent":
        taken, rate = facts["stored"] + facts["repeated"], facts["uploads_per_second"]
        say(f"{taken:,} of {facts['people']:,} people sent, {rate:,.0f} uploads a second")
        for kind, people in facts["refused"].items():
            say(f"{people:,} were refused: {kind}")
    else:
        if facts.get("resumed"):
            say("an earlier upload was kept and sent again; these answers were not looked at")
        say(_SAID.get(facts["outcome"], facts["outcome"]))
    if facts.get("refused"):
        raise typer.Exit(1)
