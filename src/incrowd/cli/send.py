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
from incrowd.catalog.sentences import sentence
from incrowd.cli.console import out, print_json, progress, say, working
from incrowd.cli.options import AsJson, check_answers
from incrowd.cli.randomizing import stored_key
from incrowd.cli.words import AT_ONCE, PATIENCE
from incrowd.errors import UsageError, quantity, unreadable

if TYPE_CHECKING:
    from incrowd.collection.device.device import Device
    from incrowd.collection.protocol.addresses import Link

STANDARD_INPUT = "-"

LinkText = Annotated[
    str,
    typer.Argument(metavar="LINK", help="The whole link; - reads it from standard input."),
]
AnswersArgument = Annotated[
    Path | None,
    typer.Argument(metavar="ANSWERS", help="File with your answers, in one row."),
]
Short = Annotated[
    str, typer.Option(help="Printed short form of the bundle; any other bundle is refused.")
]
CodeOption = Annotated[str, typer.Option(help="Code of your invitation, unless the link has it.")]
StratumOption = Annotated[str | None, typer.Option(help="Your stratum, if there are several.")]
Show = Annotated[bool, typer.Option("--show", help="Show the guarantee; send nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Send without asking.")]
Keep = Annotated[
    bool,
    typer.Option("--keep", help="Keep the upload until closing, so that you can use --withdraw."),
]
Withdraw = Annotated[
    bool, typer.Option("--withdraw", help="Withdraw an upload that was sent with --keep.")
]
EachRow = Annotated[
    bool, typer.Option("--each-row", help="Simulate a crowd: each row is one person.")
]
CodesOption = Annotated[
    Path | None, typer.Option(help="Invitations for --each-row: a CSV file with a column `code`.")
]
Id = Annotated[str | None, typer.Option(help="Column that identifies the person, for --each-row.")]
AtOnce = Annotated[
    int, typer.Option(min=1, max=256, help="How many people of --each-row send at the same time.")
]
DeviceKeyFile = Annotated[
    Path | None,
    typer.Option(help="File with the secret for permanent responses; created if missing."),
]
MemoryFolder = Annotated[
    Path | None,
    typer.Option(help="Folder that records what this device has answered, without the answers."),
]
Seconds = Annotated[
    float, typer.Option(min=0, help="Seconds to keep trying if the server does not respond.")
]


def send(
    link: LinkText,
    answers: AnswersArgument = None,
    short: Short = "",
    code: CodeOption = "",
    stratum: StratumOption = None,
    show: Show = False,
    yes: Yes = False,
    keep: Keep = False,
    withdraw: Withdraw = False,
    each_row: EachRow = False,
    codes: CodesOption = None,
    id: Id = None,
    at_once: AtOnce = AT_ONCE,
    device_key: DeviceKeyFile = None,
    memory: MemoryFolder = None,
    patience: Seconds = PATIENCE,
    json: AsJson = False,
) -> None:
    """Send your answers to a collection's shuffler, sealed.

    The guarantee is shown first. The answers are randomized once, when they are sent, and never
    stored. If the server does not respond or refuses them, the same upload is sent again, and no
    other. Withdrawing is final.

    \b
    Example:
      incrowd send https://mix.example/survey#3f6e... answers.csv
    """
    from incrowd.collection.device.connection import Connection, Patience
    from incrowd.collection.device.device import Device

    where = _read(link, short)
    if answers:
        check_answers(answers)
    elif not (show or withdraw):
        raise UsageError.of("answers", "cli.no-answers")
    connection = Connection(patience=Patience(whole=patience), notify=say)
    with working("fetching the bundle and checking its plan"):
        device = Device.of(
            where, memory or Path(typer.get_app_dir("incrowd")), connection=connection
        )
    _show(device, quiet=json or withdraw)
    facts = _facts(device)
    with ExitStack() as stack:
        if withdraw:
            device.withdraw()
            facts["outcome"] = "withdrawn"
        elif show or answers is None:
            facts["outcome"] = "nothing was sent"
        elif each_row:
            key = stack.enter_context(stored_key(device_key))
            facts |= _crowd(device, answers, stratum, _codes(device, codes), id, key, at_once)
        else:
            if device.is_sealed:
                say(f"your answers are already sealed and are sent again; {answers} is not used")
            if not (yes or json) and sys.stdin.isatty():
                typer.confirm("Send?", abort=True, err=True)
            key = stack.enter_context(stored_key(device_key))
            facts |= _one(device, answers, stratum, code, key, keep)
    _report(facts, json)


def _read(link: str, printed: str) -> Link:
    """Parse the link. On standard input, other users of the machine cannot see its code."""
    from incrowd.collection.protocol.addresses import Link, is_short_of
    from incrowd.collection.protocol.addresses import short as shortened

    parsed = Link.parse(sys.stdin.readline() if link == STANDARD_INPUT else link)
    if printed and not is_short_of(printed, parsed.digest):
        right = shortened(parsed.digest)
        raise UsageError.of("short", "cli.another-link", value=printed, short=right)
    return parsed


def _show(device: Device, quiet: bool) -> None:
    """Show the guarantee and a made-up example; nothing is randomized yet."""
    from incrowd.presentation.terminal_tables import beside

    for warning in device.warnings:
        say(f"warning: {warning}")
    if quiet:
        return
    for title, text in device.terms:
        out.print(beside(f"{title}: ", text), highlight=False)
    out.print("A made-up example:")
    for each in device.example:
        questions, answers = ", ".join(each.questions), " / ".join(each.answers)
        text = f"{questions}: {answers} is {each.record}, and may be sent as {each.report}"
        out.print(beside("  ", f"{text}; odds {each.odds}"), highlight=False)


def _facts(device: Device) -> dict[str, Any]:
    from incrowd.collection.claims import organizations_of
    from incrowd.collection.protocol.addresses import short as shortened
    from incrowd.presentation.data import guarantee_facts

    promise = device.promise.guarantee
    return {
        "bundle": device.bundle.digest.hex(),
        "short": shortened(device.bundle.digest),
        "plan": device.bundle.plan.digest,
        "promise": guarantee_facts(promise, organizations_of(device.bundle))
        | {"redraw_tail": device.promise.tail},
        "terms": dict(device.terms),
        "example": [each.facts | {"odds": str(each.odds)} for each in device.example],
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
    has_code = code or device.link.code or device.is_sealed
    if not has_code and device.bundle.codes and sys.stdin.isatty():
        code = typer.prompt("Code of the invitation", err=True)
    return asdict(device.send(table, stratum=stratum, code=code, device_key=key, keep=keep))


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
    from incrowd.encoding.records import EncodedAnswers, one_row_each
    from incrowd.sampling.permanent import remembering

    plan, bundle = device.bundle.plan, device.bundle
    table = incrowd.load_answers(answers, plan.survey, id=id)
    names = None
    if id is not None:
        table = one_row_each(table, plan.survey, id)
        names = texts(table, id).to_pylist()
    people = EncodedAnswers.of(plan.survey, table)
    with progress("sending, people", people.number) as advance:
        result = send_each(
            bundle,
            people,
            device.connection,
            codes=codes or [checked_code(bundle, "")] * people.number,
            strata=strata_of(bundle, people, stratum).tolist(),
            memory=remembering(plan, people.number, names, key),
            at_once=at_once,
            progress=advance,
        )
    return asdict(result) | {"outcome": "sent", "uploads_per_second": result.uploads_per_second}


def _codes(device: Device, path: Path | None) -> list[bytes]:
    """Read the codes of a file of invitations. No message shows its content."""
    from incrowd.collection.device.device import checked_code

    if path is None:
        return []
    try:
        with path.open(encoding="utf-8", newline="") as file:
            typed = [row.get("code") for row in csv.DictReader(file)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = unreadable(error) if isinstance(error, OSError) else sentence("cli.not-csv")
        raise UsageError.of("codes", "cli.unreadable", path=str(path), reason=why) from None
    if not typed or None in typed:
        raise UsageError.of("codes", "cli.codes-column", path=str(path))
    return [checked_code(device.bundle, each or "") for each in typed]


_OUTCOMES = {
    "stored": "stored: the shuffler has your answers",
    "repeated": "the shuffler already had your answers",
    "withdrawn": "withdrawn: your answers are not counted, and you cannot answer again",
}


def _report(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
    elif facts["outcome"] == "sent":
        accepted, rate = facts["stored"] + facts["repeated"], facts["uploads_per_second"]
        people = quantity(facts["people"], "people")
        say(f"{accepted:,} of {people} sent, {rate:,.0f} uploads per second")
        for kind, people in facts["refused"].items():
            say(f"{people:,} were refused: {kind}")
    else:
        say(_OUTCOMES.get(facts["outcome"], facts["outcome"]))
        if facts.get("can_withdraw"):
            say("the upload is stored until the collection closes; --withdraw withdraws it")
    if facts.get("refused"):
        raise typer.Exit(1)
