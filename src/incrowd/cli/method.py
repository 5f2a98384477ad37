"""The commands of statistical methods that are made from their declarations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import incrowd
from incrowd.cli.completion import question, question_is, questions
from incrowd.cli.console import all_parts, working
from incrowd.cli.options import (
    AcceptSmaller,
    AsJson,
    Language,
    Margins,
    MergeAnswers,
    NoiseOnly,
    OfThoseWhoAnswered,
    Outputs,
    PlanArgument,
    ReportsFiles,
    Verbose,
    beside,
    certified,
    check_outputs,
    check_reports,
    choice,
    saved,
)
from incrowd.cli.regressing import numbers_of_questions
from incrowd.cli.words import TABLE_SEPARATOR
from incrowd.errors import naming
from incrowd.methods import METHODS, Method, MethodOption, OptionKind

ENDINGS = "The ending of -o chooses the format: .html, .csv, .json, .parquet, .xlsx, .docx or .R."


def __getattr__(name: str) -> Callable[..., None]:
    """Return the command of a method (PEP 562)."""
    if name not in METHODS:
        raise AttributeError(name)
    return command_of(METHODS[name])


def command_of(method: Method) -> Callable[..., None]:
    """Return a function with typed arguments, from which typer makes the command of a method."""

    def run(plan: Path, reports: list[Path], **typed: Any) -> None:
        _run(method, plan, reports, **typed)

    shared: dict[str, tuple[Any, Any]] = {"merge": (MergeAnswers, None)}
    shared |= {"margins": (Margins, None)} if method.weighted else {}
    if method.answered is not None:
        shared["of_those_who_answered"] = OfThoseWhoAnswered, method.answered
    shared |= {"noise_only": (NoiseOnly, False)} if method.errors else {}
    shared["accept_smaller_crowd"] = AcceptSmaller, False
    shared |= {"output": (Outputs, None), "language": (Language, None)}
    shared |= {"verbose": (Verbose, False), "json": (AsJson, False)}
    required: dict[str, tuple[Any, Any]] = {
        "plan": (PlanArgument, inspect.Parameter.empty),
        "reports": (ReportsFiles, inspect.Parameter.empty),
    }
    declared = {each.name: _parameter(each) for each in method.options}
    typed = required | declared | shared
    keyword = inspect.Parameter.KEYWORD_ONLY
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, keyword, default=default, annotation=annotation)
            for name, (annotation, default) in typed.items()
        ]
    )
    run.__annotations__ = {name: annotation for name, (annotation, _) in typed.items()}
    run.__name__ = method.name
    run.__doc__ = f"{method.line} {inspect.cleandoc(method.help)}\n\n{ENDINGS}\n"
    return run


def _parameter(option: MethodOption) -> tuple[Any, Any]:
    """Return the type of an option for typer, and its default."""
    default = inspect.Parameter.empty if option.required else None
    if option.kind == "flag":
        return Annotated[bool, typer.Option(option.flag, help=option.help)], False
    if option.kind == "word":
        chosen = choice(option.flag, option.choices, option.help)
        return Annotated[str | None, chosen], default
    completion = _COMPLETION.get(option.kind)
    typed = typer.Option(option.flag, help=option.help, autocompletion=completion)
    if option.kind == "scores":
        return Annotated[list[str] | None, typed], default
    if option.kind == "figure":
        return Annotated[float | None, typed], default
    return Annotated[str | None, typed], default


_COMPLETION: Mapping[OptionKind, Callable[..., list[str]]] = {
    "question": question,
    "questions": questions,
    "scores": question_is,
}


def _value(plan: incrowd.Plan, option: MethodOption, typed: Any) -> Any:
    """Return the argument of the function for what was typed."""
    if option.kind == "questions":
        return [id.strip() for id in typed.split(TABLE_SEPARATOR)]
    if option.kind == "scores":
        return numbers_of_questions(plan.survey.questions, option.flag, typed)
    return typed


def _run(
    method: Method,
    plan: Path,
    reports: list[Path],
    merge: list[str] | None,
    output: list[Path] | None,
    language: str | None,
    verbose: bool,
    json: bool,
    margins: Path | None = None,
    **typed: Any,
) -> None:
    """Compute and show the result of a method."""
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in

    check_outputs(outputs := output or [], plan, *reports, *([margins] if margins else []))
    check_reports(*reports)
    checked_plan = certified(plan, merge)
    declared = {each.name: each for each in method.options}
    options = {
        name: _value(checked_plan, declared[name], value) if name in declared else value
        for name, value in typed.items()
        if value is not None
    }
    options |= {"margins": incrowd.load_margins(margins)} if margins else {}
    received, parts = receipts_of(checked_plan, reports), all_parts(reports)
    with working(method.label["en"].lower()), naming(*reports):
        result = method.load()(checked_plan, parts, received=received, **options)
    saved(result, outputs, checked_plan, language)
    with beside(*outputs):
        show.result(result, json, verbose)
    show.receipts(received, releases_in(reports))
