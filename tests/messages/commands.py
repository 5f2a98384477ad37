"""What the command line says by itself, of its options and of its files."""

import io
import sys
from types import SimpleNamespace
from unittest import mock

import typer

from incrowd.cli.console import usage_problem
from incrowd.errors import UsageError
from tests.messages import device, files, regressions, strata
from tests.messages.shared import (
    answers_file,
    asked,
    command,
    file,
    plan_file,
    reports_file,
    survey_file,
)
from tests.messages.workflow import less_noise

INTERVIEWS = """name = "x"
device = {kind = "die"}
question = [{id = "a", type = "yesno", design = {kind = "forced", yes = "1/6", no = "1/6"}}]
"""


def interviews(*names, options):
    """A command about a survey of interviews."""
    return lambda folder: command(*names, file(folder, "i.toml", INTERVIEWS), *options)


PRIVACY = ("--noise", "0.3", "--crowd", "100", "--epsilon", "1")


def plan(*options):
    return lambda folder: command("plan", survey_file(folder), *options)


def estimate(*options, kind="bits"):
    return lambda folder: command(
        "estimate", plan_file(folder, kind), reports_file(folder, kind), *options
    )


def compare(*options):
    return lambda folder: command("compare", plan_file(folder), reports_file(folder), *options)


def randomize(output, kind="bits"):
    return lambda folder: command(
        "randomize", plan_file(folder, kind), answers_file(folder), "-o", folder / output
    )


def privacy(*options):
    return lambda _: command("privacy", *options)


def ledger(*options):
    return lambda folder: command("ledger", file(folder, "l.json"), *options)


def new(*options):
    return lambda folder: command("new", *options, "--yes", "-o", folder / "new.toml")


def typed_in(text, *options):
    """What is typed after `new`, until the input ends."""

    def ended(folder):
        with mock.patch.object(sys, "stdin", io.StringIO(text)):
            command("new", *options, "-o", folder / "new.toml")

    return ended


def example_over_another(folder):
    command("example", "health", "-o", file(folder, "health.toml", "name = 'mine'").parent)


def demo_in(name):
    """The demonstration in a folder that is none, or cannot be made."""
    return lambda folder: command("demo", "-o", file(folder, "file").parent / name)


def broken_plan(folder):
    """Reports of a plan with less noise than it promises."""
    path = file(folder, "plan.json", less_noise().dumps())
    command("randomize", path, answers_file(folder), "-o", folder / "r.parquet")


def typed(*words):
    """What the parser of the command line refuses, as the command line says it."""

    def refused(_):
        try:
            command(*words)
        except typer.TyperException as error:
            raise UsageError(usage_problem(error)) from error

    return refused


def refused_without_a_reason(_):
    option = SimpleNamespace(get_error_hint=lambda *_: "'--noise'")
    raise UsageError(usage_problem(typer.BadParameter("should be another value", param=option)))


def strata_in_a_file(folder):
    path = file(folder, "plan.json", strata.plan().dumps())
    command("randomize", path, answers_file(folder), "-o", folder / "reports.parquet")


def of_another_plan(folder):
    command("estimate", file(folder, "plan.json", asked().dumps()), reports_file(folder))


def over_an_input(folder):
    path = survey_file(folder)
    command("plan", path, "-o", path)


def init(*options):
    return lambda folder: command("init", answers_file(folder), *options)


REGRESS = "interviews", "regress", "interviews.parquet", "smokes ~ 1"

CASES = {
    "intercepts with an option": lambda folder: command(
        "interviews", "regress", "i.parquet", "a ~ b", "--intercepts", "c", "--errors", "robust"
    ),
    "interviews with ids": lambda folder: command(
        "check", file(folder, "s.toml", INTERVIEWS), file(folder, "a.csv", "a\nyes\n"), "--id", "n"
    ),
    "new interviews: people": new("--device", "die", "--people", "100"),
    "new interviews: no question": new("--device", "die"),
    "a survey without answers": lambda folder: command("check", survey_file(folder)),
    "interviews regress: not values": lambda _: command(*REGRESS, "--at", "age"),
    "init: invited people without a share": init("--invited", "450"),
    "init: a share of nobody": init("--expected", "60%"),
    "init: one person": init("--invited", "1", "--expected", "60%"),
    "language of letters": lambda folder: command(
        "invitations", "3", "-o", folder / "codes.csv", "--language", "fr"
    ),
    "an unknown engine": estimate("--engine", "abacus"),
    "an unknown kind of intervals": estimate("--simultaneous", "magic"),
    "words without a file": estimate("--words", "oslo"),
    "words without a question": estimate("--words", "oslo", kind="text"),
    "a tally with another ending": lambda folder: command(
        "tally", plan_file(folder), reports_file(folder), "-o", folder / "tally.csv"
    ),
    "a card with another ending": lambda folder: command(
        "card", plan_file(folder), "-o", folder / "card.pdf"
    ),
    "an output over an input": over_an_input,
    "two outputs of a command that writes one": plan("-o", "a.json", "-o", "b.json"),
    "no answers": lambda folder: command(
        "randomize", plan_file(folder), folder / "none.csv", "-o", folder / "r.parquet"
    ),
    "a folder of answers": lambda folder: command(
        "randomize", plan_file(folder), folder, "-o", folder / "r.parquet"
    ),
    "no reports": lambda folder: command("estimate", plan_file(folder), folder / "none.parquet"),
    "a demonstration in a file": demo_in("file"),
    "a demonstration below a file": demo_in("file/demo"),
    "new: a survey over another": lambda folder: command("new", "-o", survey_file(folder)),
    "new: a ready survey with a question": new("--ready", "health", "--question", "A? b / c"),
    "new: a question without answers": new("--question", "Do you smoke"),
    "new: few people": new("--people", "30"),
    "new: an unknown strength": new("--protection", "total"),
    "new: an input that ends": typed_in(""),
    "new: an input that ends after a word in place of people": typed_in("A\nB? c / d\n\nmany\n"),
    "new: an input that ends after another strength": typed_in("A\nB? c / d\n\n\ntotal\n"),
    "example: an unknown one": lambda _: command("example", "wealth"),
    "example: over another file": example_over_another,
    "a survey of an example that is not here": lambda _: command("plan", "department.toml"),
    "answers of an example that are not here": lambda folder: command(
        "check", survey_file(folder), "rand_hie.csv"
    ),
    "a plan that does not hold": broken_plan,
    "a frontier without a file": plan("--frontier"),
    "a frontier in a CSV file": plan("--frontier", "-o", "plan.csv"),
    "an unknown thing to solve for": plan("--solve", "noise"),
    "nothing to solve for": plan("--solve", "crowd"),
    "an error and nothing to solve for": plan("--error", "0.01"),
    "a margin and nothing to solve for": plan("--margin", "2%"),
    "an error that is no share": plan("--solve", "crowd", "--error", "1x"),
    "a margin above one": plan("--solve", "crowd", "--margin", "150%"),
    "an error and a margin": plan("--solve", "crowd", "--error", "1%", "--margin", "2%"),
    "a ledger to solve for": lambda folder: command(
        "plan", survey_file(folder), "--solve", "crowd", "--error", "0.1", "--ledger", folder / "l"
    ),
    "an option that does not exist": typed("plan", "survey.toml", "--sovle", "crowd"),
    "an option without its value": typed("plan", "survey.toml", "--solve"),
    "an argument that is missing": typed("plan"),
    "an argument too many": typed("plan", "survey.toml", "another.toml"),
    "a command that does not exist": lambda _: command("estimat"),
    "an option that is no number": typed("plan", "survey.toml", "--reports-per-person", "x"),
    "reports of another plan": of_another_plan,
    "two questions that go together": compare("a", "b", "--positive"),
    "a reference of two shares": compare("a=yes", "b=yes", "--reference", "no"),
    "a share and a question": compare("a=yes", "b"),
    "a crosstab of two shares": compare("a=yes", "b=yes", "--crosstab"),
    "a crosstab with a reference": compare("a", "b", "--crosstab", "--reference", "no"),
    "a new ledger with a plan": ledger("plan.json", "--new"),
    "as planned without a plan": ledger("--as-planned"),
    "local only without a plan": ledger("--local-only"),
    "bits and a survey": lambda folder: command(
        "privacy", "delta", "--bits", "2", "--survey", survey_file(folder), *PRIVACY
    ),
    "neither bits nor a survey": privacy("delta", *PRIVACY),
    "a channel without its probabilities": privacy(
        *("delta", "--channel", "warner", "--bits", "1", "--crowd", "100", "--epsilon", "1")
    ),
    "a channel of answers without options": privacy(
        *("delta", "--channel", "k-ary", "--keep", "0.8", "--bits", "1", "--crowd", "100"),
        *("--epsilon", "1"),
    ),
    "an unknown channel": privacy("delta", "--channel", "laplace", "--bits", "1", *PRIVACY),
    "rounds beside those of a survey": lambda folder: command(
        "privacy", "delta", "--rounds", "2", "--survey", survey_file(folder), *PRIVACY
    ),
    "a matrix in no file": privacy("delta", "--channel", "matrix", "--matrix", "m.csv", *PRIVACY),
    "a hidden sample of a survey": lambda folder: command(
        *("privacy", "delta", "--taking-part", "0.3", "--survey", survey_file(folder)),
        *PRIVACY,
    ),
    "a hidden sample of cells": privacy(
        "noise", "--changed-bits", "2", "--taking-part", "0.3", "--delta", "1e-6", *PRIVACY[2:]
    ),
    "a hidden sample of two bits": privacy(
        "delta", "--bits", "2", "--taking-part", "0.3", *PRIVACY
    ),
    "a hidden sample with probability 2": privacy(
        "delta", "--bits", "1", "--taking-part", "2", *PRIVACY
    ),
    "the noise of a matrix": privacy(
        *("noise", "--channel", "matrix", "--matrix", "0.8,0.2;0.2,0.8", "--delta", "1e-6"),
        *PRIVACY[2:],
    ),
    "a matrix for another channel": privacy(
        *("delta", "--channel", "k-ary", "--matrix", "0.8,0.2;0.2,0.8", *PRIVACY[2:])
    ),
    "noise that is given and wanted": privacy("noise", "--bits", "2", "--delta", "1e-6", *PRIVACY),
    "65 bits": privacy("delta", "--bits", "65", *PRIVACY),
    "no crowd": privacy("delta", "--bits", "2", "--noise", "0.3", "--epsilon", "1"),
    "eta and delta": privacy(
        "noise", "--bits", "2", *PRIVACY[2:], "--eta", "0.1", "--delta", "0.1"
    ),
    "eta of two": privacy("noise", "--bits", "2", *PRIVACY[2:], "--eta", "2"),
    "a curve in a text file": privacy("curve", "--bits", "2", *PRIVACY, "-o", "curve.txt"),
    "a curve to epsilon 0": privacy("curve", "--bits", "2", *PRIVACY[:5], "0", "-o", "curve.csv"),
    "reports with another ending": randomize("reports.csv"),
    "reports of strata in a file": strata_in_a_file,
    "a value that is refused without a reason": refused_without_a_reason,
    "reports of many messages in a file": randomize("reports.parquet", "messages"),
    "a plan of interviews that is solved": interviews("plan", options=("--solve", "crowd")),
    "a power of many interviews": interviews("interviews", "power", options=("--people", "many")),
} | (device.COMMANDS | files.COMMANDS | regressions.COMMANDS)
