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


def method_commands() -> dict[str, tuple[str, str, str]]:
    """Return the commands that are made from declarations of methods."""
    return {
        name: ("Read", f"method:{name}", each.line) for name, each in METHODS.items() if each.line
    }


# Command -> its heading in the list of commands, its function, and its line in the list.
COMMANDS = {
    "new": ("Start", "starting:new", "Write a survey by answering four questions."),
    "example": ("Start", "starting:example", "Write an example: a survey, and answers to it."),
    "demo": ("Start", "trying:demo", "Run every step on real data and compare with the truth."),
    "studio": (
        "Start",
        "studio:studio",
        "Design a survey, run it, and read its results in a browser.",
    ),
    "init": ("Ask", "drafting:init", "Draft a survey from data or a questionnaire."),
    "check": ("Ask", "drafting:check", "Check whether answers fit a survey."),
    "plan": (
        "Ask",
        "planning:plan",
        "Find the smallest noise for a survey, and its precision.",
    ),
    "simulate": ("Ask", "trying:simulate", "Test a survey by simulation on known answers."),
    "card": ("Ask", "checking:card", "Write a summary of a plan for a review board."),
    "ledger": ("Ask", "noting:ledger", "Record that a plan was carried out, and who took part."),
    "randomize": ("Answer", "randomizing:randomize", "Randomize and shuffle answers."),
    "send": ("Answer", "send:send", "Send your answers to a collection's shuffler, sealed."),
    "page": ("Answer", "page:page", "Write a survey page where people answer in a browser."),
    "letters": (
        "Answer",
        "letters:letters",
        "Write letters, a mail, and a reminder for a collection.",
    ),
    "estimate": (
        "Read",
        "estimating:estimate",
        "Estimate tables from randomized answers, without bias.",
    ),
    "compare": ("Read", "estimating:compare", "Compare groups, with standard errors."),
    **method_commands(),
    "regress": ("Read", "regressing:regress", "Fit a logistic or linear regression."),
    "postprocess": (
        "Read",
        "estimating:postprocess",
        "Turn estimates into valid proportions, by a biased method.",
    ),
    "tally": ("Read", "estimating:tally", "Count reports into a small file for `estimate`."),
    "read": (
        "Interview",
        "interviewing:read",
        "Read interviews whose answers a die or cards randomized.",
    ),
    "interviews": (
        "Interview",
        "interviewing:app",
        "Prepare interviews, and estimate from their answers.",
    ),
    "verify": (
        "Check",
        "checking:verify",
        "Check that a plan keeps its guarantee, and reports fit it.",
    ),
    "privacy": (
        "Check",
        "privacy:app",
        "Compute the privacy of noise in a crowd, by every analysis.",
    ),
    "collector": (
        "Run a service",
        "collector:app",
        "Create the collector's key; receive and open releases.",
    ),
    "shuffler": (
        "Run a service",
        "shuffler:app",
        "Receive sealed reports, mix them, and pass them on.",
    ),
    "invitations": (
        "Run a service",
        "shuffler:invitations",
        "Create invitations, on the shuffler's side.",
    ),
    "inviter": ("Run a service", "inviter:app", "Invite people to a collection with two mixers."),
    "first-mixer": (
        "Run a service",
        "first_mixer:app",
        "Receive uploads, and send the second mixer one batch.",
    ),
    "second-mixer": (
        "Run a service",
        "second_mixer:app",
        "Open the first mixer's batch, and mix it again.",
    ),
    "host": ("Run a service", "host:host", "Run a service from its settings file, until stopped."),
    "open": ("Run a service", "open:open_sealed", "Open a release without a server."),
    "acknowledge": (
        "Run a service",
        "confirming:acknowledge",
        "Confirm that the collector has received a file.",
    ),
    "confirm-clock": (
        "Run a service",
        "confirming:confirm_clock",
        "Confirm that a service's clock is right.",
    ),
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
        _, self.place, line = COMMANDS[name]
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

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands below their headings, with one width of the first column."""
        width = max(map(len, COMMANDS))
        for heading in dict.fromkeys(heading for heading, _, _ in COMMANDS.values()):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), line)
                        for name, (of, _, line) in COMMANDS.items()
                        if of == heading
                    ]
                )
