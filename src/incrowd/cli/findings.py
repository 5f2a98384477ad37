"""What the commands `check` print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from incrowd.cli.console import print_json

if TYPE_CHECKING:
    from incrowd.collection.machine import Finding


def print_findings(findings: Sequence[Finding], json: bool) -> None:
    """What was looked at on a service's machine. Exit code 1 if something should be otherwise."""
    if json:
        print_json(
            [
                {"subject": finding.subject, "good": finding.good, "said": finding.text}
                for finding in findings
            ]
        )
    else:
        for finding in findings:
            typer.echo(f"{'ok  ' if finding.good else 'look'}  {finding.subject}: {finding.text}")
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)
