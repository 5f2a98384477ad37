"""Commands that are loaded when they are run, so that the list of commands is fast."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from incrowd.catalog.sentences import likely
from incrowd.errors import UsageError, needing
from incrowd.methods import METHODS


def method_commands() -> dict[str, tuple[str, str]]:
    """Return the commands that are made from declarations of methods."""
    return {name: (f"method:{name}", each.line) for name, each in METHODS.items() if each.line}


# Command -> its function, and its line in the list of commands.
COMMANDS = {
    "init": ("drafting:init", "Draft a survey from data or a questionnaire."),
    "check": ("drafting:check", "List what `randomize` would refuse in a file of answers."),
    "plan": ("planning:plan", "Find the messages and the smallest noise for a survey."),
    "randomize": ("randomizing:randomize", "Randomize and shuffle answers."),
    "estimate": ("estimating:estimate", "Estimate tables from reports, without bias."),
    "compare": ("estimating:compare", "Compare groups, with standard errors."),
    **method_commands(),
    "regress": ("regressing:regress", "Fit a logistic or linear regression."),
    "postprocess": (
        "estimating:postprocess",
        "Turn estimates into valid proportions, by a biased method.",
    ),
    "tally": ("estimating:tally", "Count reports into a small file for `estimate`."),
    "card": ("checking:card", "Write a summary of a plan for a review board."),
    "ledger": ("noting:ledger", "Record that a plan was carried out, and who took part."),
    "verify": ("checking:verify", "Recompute a plan's certificate."),
    "send": ("send:send", "Send your answers to a collection's shuffler, sealed."),
    "simulate": ("trying:simulate", "Test a survey by simulation on known answers."),
    "demo": ("trying:demo", "Run every step on real data and compare with the truth."),
    "shuffler": ("shuffler:app", "Receive sealed reports, mix them, and pass them on."),
    "first-mixer": (
        "first_mixer:app",
        "Receive uploads, and send the second mixer one batch.",
    ),
    "page": ("page:page", "Write a survey page where people answer in a browser."),
    "inviter": ("inviter:app", "Invite people to a collection with two mixers."),
    "second-mixer": (
        "second_mixer:app",
        "Open the first mixer's batch, and mix it again.",
    ),
    "invitations": ("shuffler:invitations", "Create invitations, on the shuffler's side."),
    "letters": ("letters:letters", "Write letters, a mail, and a reminder for a collection."),
    "collector": ("collector:app", "Create the collector's key; receive and open releases."),
    "host": ("host:host", "Run a service from its settings file, until stopped."),
    "acknowledge": (
        "confirming:acknowledge",
        "Confirm that the collector has received a file.",
    ),
    "confirm-clock": ("confirming:confirm_clock", "Confirm that a service's clock is right."),
    "open": ("open:open_sealed", "Open a release without a server."),
    "studio": ("studio:studio", "Open the studio."),
    "privacy": ("privacy:app", "Compute the privacy of noise in a crowd, by every analysis."),
}
# Command -> the extra that it needs if it needs one; all others need `collect`.
EXTRAS = {"studio": "studio"}


class CommandGroup(TyperGroup):
    """Commands with one name before theirs; an unknown one is an error like all others."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was typed. Raises UsageError if there is none of this name."""
        if self.get_command(ctx, args[0]) is None:
            similar = likely(args[0], self.commands)
            raise UsageError.of("command", "cli.unknown-command", value=args[0], similar=similar)
        return super().resolve_command(ctx, args)


class Later(TyperCommand):
    """The name and one-line help of a command that is not loaded yet."""

    def __init__(self, name: str) -> None:
        self.place, line = COMMANDS[name]
        super().__init__(name, help=line)

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **more: Any) -> Any:
        """Return the context of the command itself, which is loaded now."""
        return self.loaded().make_context(info_name, args, *rest, **more)

    def loaded(self) -> Any:
        """Load and return the command itself."""
        module, _, name = self.place.partition(":")
        target = getattr(importlib.import_module(f"incrowd.cli.{module}"), name)
        if not isinstance(target, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode=None)
            alone.command(self.name)(target)
            target = alone
        command: Any = typer.main.get_command(target)
        command.invoke = partial(_invoked, self.name or name, command.invoke)
        for each in getattr(command, "commands", {"": command}).values():
            each.parse_args = partial(_parsed, each, each.parse_args)
        return command


def _parsed(command: Any, parse: Callable[..., Any], context: Any, args: list[str]) -> Any:
    """Parse the arguments of a command.

    Raises UsageError for an option with one value that is given twice: the parser would keep the
    last value, and say nothing about the others.
    """
    if not context.resilient_parsing:
        _, _, order = command.make_parser(context).parse_args(args=list(args))
        for param, times in Counter(order).items():
            option, once = param.opts[0], not (param.multiple or getattr(param, "is_flag", False))
            if times > 1 and once and option.startswith("-"):
                raise UsageError.of(option, "cli.given-twice", times=times)
    return parse(context, args)


def _invoked(name: str, invoke: Callable[[Any], Any], context: Any) -> Any:
    """Run a command. Raises UsageError if it needs an extra that is not installed."""
    with needing(EXTRAS.get(name, "collect"), UsageError, name):
        return invoke(context)


class Commands(CommandGroup):
    """All commands, none of them loaded yet."""

    def __init__(self, *, commands: object = None, **attributes: Any) -> None:
        super().__init__(commands=[Later(name) for name in COMMANDS], **attributes)
