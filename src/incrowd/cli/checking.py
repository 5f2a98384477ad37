"""The commands that recompute a plan's guarantee: `verify` and `card`."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import incrowd
from incrowd.catalog.sentences import ENGLISH, LANGUAGES
from incrowd.cli.console import print_json, say, working
from incrowd.cli.options import AsJson, PlanArgument, check_reports, choice, keep
from incrowd.errors import ProofError, UsageError, naming, needing
from incrowd.files import checked_ending

if TYPE_CHECKING:
    from incrowd.accountant.proved import Enclosure
    from incrowd.plans import Guarantee

Proved = Annotated[
    bool,
    typer.Option("--proved", help="Prove delta in interval arithmetic as well (extra `proved`)."),
]


def verify(
    plan: PlanArgument,
    reports: Annotated[
        list[Path] | None,
        typer.Argument(metavar="REPORTS", help="Reports to check against the plan, of all strata."),
    ] = None,
    proved: Proved = False,
    json: AsJson = False,
) -> None:
    """Check that a plan keeps its guarantee, and reports fit it.

    The certificate of the plan is recomputed. For reports collected over a network, the receipt is
    checked as well.

    Exit code 1 if the plan's guarantee does not hold for the reports (for instance if one party
    both mixed and opened them, or if they were simulated), or if the plan cannot produce them. With
    --proved, also if the proof fails.

    \b
    Example:
      incrowd verify plan.json reports.parquet
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of
    from incrowd.presentation import verified

    paths = reports or []
    check_reports(*paths)
    claimed = incrowd.Plan.load(plan)
    with working("recomputing the certificate"), naming(*paths):
        received = receipts_of(claimed, paths, files=True)
        streams = (incrowd.stream_reports(path, check=True) for path in paths)
        parts = chain.from_iterable(streams) if paths else None
        verification = incrowd.verify(claimed, parts, received=received)
    holds, proof = verification.guarantee, None
    if proved:
        proof = _proof(claimed, holds, verification.tail)
    shown = claimed, verification, received, proof
    show.view(verified.view(*shown), verified.facts(*shown), verification.seed, json)
    if not verification.holds or (proof is not None and not _proves(proof, holds)):
        raise typer.Exit(1)


def card(
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN", help="Plan, the shuffler's bundle, or a survey of interviews."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write: .html or .md.")
    ] = None,
    language: Annotated[
        str | None, choice("--language", LANGUAGES, "Language of the card: en or de.")
    ] = None,
    proved: Proved = False,
    json: AsJson = False,
) -> None:
    """Write a summary of a plan for a review board. Without -o, print Markdown.

    The certificate is recomputed and dated today. For a survey of interviews with a die or another
    device, the card states what the device promises. For a bundle, the card states the guarantee of
    its collection, which is weaker if one party both mixes and opens the reports. Exit code 1 if
    the guarantee does not hold. With --proved, the card carries what was proved, and the exit code
    is also 1 if that is not what the card promises.

    \b
    Example:
      incrowd card plan.json -o card.html
    """
    from incrowd.collection.cards import card_of, promise_of
    from incrowd.presentation import verified
    from incrowd.presentation.card import markdown
    from incrowd.presentation.write import CARD_WRITERS, write_card

    if output:
        checked_ending(output, CARD_WRITERS)
        keep(output, plan)
    with working("certifying the plan"), naming(plan):
        written = card_of(plan, language=language or ENGLISH)
    proof: Enclosure | str | None = None
    if proved:
        claimed, holds, tail = promise_of(plan)
        proof = _proof(claimed, holds, tail)
        if isinstance(proof, str):
            say(verified.proof_sentence(proof, holds))
        else:
            written = card_of(plan, proof, language or ENGLISH)
    if output:
        write_card(written, output)
        say(f"wrote {output}")
    if json:
        print_json(written.facts)
    elif not output:
        sys.stdout.write(markdown(written))
    if proof is not None and not _proves(proof, holds):
        raise typer.Exit(1)


def _proof(plan: incrowd.Plan, holds: Guarantee, tail: float) -> Enclosure | str:
    """Return the enclosure of the delta of what holds, or why there is none."""
    with needing("proved", UsageError, "--proved"):
        import flint  # noqa: F401
    from incrowd.verification import prove

    with working("proving the plan in interval arithmetic") as status:
        try:
            return prove(
                plan,
                holds,
                tail=tail,
                progress=lambda step: status.update(f"proving in interval arithmetic: {step}"),
            )
        except ProofError as error:
            (problem,) = error.problems
            return str(problem.arguments["reason"])


def _proves(proof: Enclosure | str, holds: Guarantee) -> bool:
    return not isinstance(proof, str) and proof.at_most(repr(holds.delta))
