"""Commands that are loaded when they are run: a list of them needs none of what they work with."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from incrowd.errors import InWords, UsageError

# The command -> where its function is, and what the list of all commands says of it.
COMMANDS = {
    "init": ("drafting:init", "Write a survey from data."),
    "check": ("drafting:check", "Find what `randomize` would refuse in a file of answers."),
    "plan": ("planning:plan", "Find the messages and the smallest noise for a survey."),
    "randomize": ("randomizing:randomize", "Randomise and shuffle answers."),
    "estimate": ("estimating:estimate", "Estimate tables from reports, without bias."),
    "compare": ("estimating:compare", "Compare groups, with errors."),
    "correlate": ("regressing:correlate", "Correlations of all pairs, with errors."),
    "regress": (
        "regressing:regress",
        "Explain one answer by others: logistic and linear regression.",
    ),
    "postprocess": (
        "estimating:postprocess",
        "Shares that look like proportions, by a named, biased method.",
    ),
    "tally": ("estimating:tally", "Count reports where they lie."),
    "card": ("checking:card", "Write a page about a plan, for a review board."),
    "ledger": ("noting:ledger", "Note that a plan was carried out, and who came."),
    "verify": ("checking:verify", "Recompute a plan's certificate."),
    "send": ("send:send", "Answer a collection: one upload, sealed, to its shuffler."),
    "simulate": ("trying:simulate", "Check a survey on known answers."),
    "demo": ("trying:demo", "Run the whole path on real data, and compare with the truth."),
    "shuffler": ("shuffler:app", "Take sealed reports, mix them, pass them on."),
    "page": ("page:page", "Write a survey page, with which people answer in a browser."),
    "invitations": ("invitations:invitations", "Make invitations, on the shuffler's side."),
    "collector": ("collector:app", "Make a collector's key; take and open releases."),
    "open": ("open:open_sealed", "Open a release without a server."),
    "privacy": ("privacy:app", "What a noise guarantees in a crowd, by every analysis."),
}


@contextmanager
def needing_collect(name: str) -> Iterator[None]:
    """For imports of the extra `collect`. Raises UsageError, about `name`, if it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        needed = InWords(f"needs {error.name}, which is not installed")
        raise UsageError.of(name, needed, 'install "incrowd[collect]"') from None


class Later(TyperCommand):
    """The name of a command and a line about it; the command itself takes its arguments."""

    def __init__(self, name: str) -> None:
        self.place, line = COMMANDS[name]
        super().__init__(name, help=line)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """The context of the command that was meant, which is loaded now."""
        return self.loaded().make_context(info_name, args, *rest, **more)

    def loaded(self) -> Any:
        """The command itself."""
        module, _, name = self.place.partition(":")
        target = getattr(importlib.import_module(f"incrowd.cli.{module}"), name)
        if not isinstance(target, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(self.name)(target)
            target = alone
        command: Any = typer.main.get_command(target)
        command.invoke = partial(_invoked, self.name or name, command.invoke)
        return command


def _invoked(name: str, invoke: Callable[[Any], Any], context: Any) -> Any:
    """Run a command, which imports what it works with. Raises UsageError without `collect`."""
    with needing_collect(name):
        return invoke(context)


class Commands(TyperGroup):
    """All commands, none of them loaded."""

    def __init__(self, *, commands: object = None, **attributes: Any) -> None:
        super().__init__(commands=[Later(name) for name in COMMANDS], **attributes)
