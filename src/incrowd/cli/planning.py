"""The command that decides what is sent: `plan`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

import incrowd
from incrowd.cli.console import say, working
from incrowd.cli.options import (
    AsJson,
    Output,
    SurveyArgument,
    Verbose,
    beside,
    choice,
    keep,
    load_survey,
    share,
)
from incrowd.cli.words import UNKNOWNS
from incrowd.errors import UsageError, needing
from incrowd.files import write_text

SOLVABLE = (*UNKNOWNS, "error")

ReportsPerPerson = Annotated[
    int | None,
    typer.Option(help="Maximum number of reports per person; the planner groups the questions."),
]
LedgerOption = Annotated[
    Path | None, typer.Option(help="What the same people were asked before, from `incrowd ledger`.")
]
Solve = Annotated[
    str | None,
    choice(
        "--solve",
        SOLVABLE,
        "Find the crowd, epsilon or delta that gives --error; or find the error.",
    ),
]
WantedError = Annotated[
    float | None, share("--error", "Target standard error of the tables, such as 1% or 0.01.")
]
MarginOption = Annotated[
    float | None,
    share("--margin", "Target margin of error instead: half of a 95% interval, such as 2%."),
]
WriteFrontier = Annotated[
    bool, typer.Option("--frontier", help="Write error against cost to -o PAGE.html and .csv.")
]
PowerOption = Annotated[
    float | None,
    share("--power", "Probability with which a detectable share or effect is detected [80%]."),
]
SideBySide = Annotated[bool, typer.Option(help="Compare with other ways to send the survey.")]


def plan(
    survey: SurveyArgument,
    output: Output = None,
    reports_per_person: ReportsPerPerson = None,
    ledger: LedgerOption = None,
    solve: Solve = None,
    error: WantedError = None,
    margin: MarginOption = None,
    frontier: WriteFrontier = False,
    side_by_side: SideBySide = True,
    power: PowerOption = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Find the smallest noise for a survey, and its precision.

    The plan meets the privacy guarantee of the survey. For interviews with a die, cards, or a
    birthday, it chooses the designs that are left open, and -o writes the survey with them.

    \b
    Examples:
      incrowd plan health.toml -o plan.json
      incrowd plan survey.toml --reports-per-person 5 -o plan.json
      incrowd plan survey.toml --solve crowd --margin 2%
      incrowd plan survey.toml --power 90% -v
      incrowd plan survey.toml --frontier -o frontier.html
      incrowd plan interviews.toml -o planned.toml
    """
    if output:
        keep(output, survey, *([ledger] if ledger else []))
    from incrowd.survey.surveys import is_of_interviews  # slow to load

    if is_of_interviews(survey):
        of_others = {
            "--reports-per-person": reports_per_person,
            "--ledger": ledger,
            "--solve": solve,
            "--error": error,
            "--frontier": frontier,
        }
        _plan_interviews(survey, output, of_others, margin, power, json)
        return
    from incrowd.accountant.analyses import plannable
    from incrowd.cli import show_plans
    from incrowd.estimation.intervals import POWER
    from incrowd.planner.alternatives import alternatives
    from incrowd.planner.frontier import frontier as curves_around
    from incrowd.planner.precision import plan_error
    from incrowd.planner.solving import with_budget
    from incrowd.plans.ledger import Ledger
    from incrowd.presentation.advice import people_lines

    targets = {"error": error, "margin": margin}
    target = {name: value for name, value in targets.items() if value is not None}
    _check_plan_options(output, solve, target, ledger, frontier)
    loaded_survey = load_survey(survey)
    privacy = loaded_survey.privacy
    promised = plannable(privacy.analysis).promised_delta(privacy.delta)
    if promised != privacy.delta and "delta" in privacy.model_fields_set:
        unused = f"the analysis {privacy.analysis} has delta = {promised:g}"
        say(f"privacy.delta = {privacy.delta:g} is not used: {unused}")
    if reports_per_person is not None:
        loaded_survey = with_budget(loaded_survey, reports_per_person)
    earlier = Ledger.load(ledger).asked if ledger else ()
    with working("searching for the smallest noise") as status:
        if solve and target:
            best = incrowd.solve(loaded_survey, solve, **target, progress=status.update)
        else:
            best = incrowd.plan(loaded_survey, earlier=earlier, progress=status.update)
        if frontier and output:
            from incrowd.presentation.charts import write_frontier  # drawing is slow to import

            curves = curves_around(best, status.update)
            write_frontier(best, plan_error(best), *curves, output)
        others = alternatives(best, earlier, status.update) if side_by_side else ()
    if output and not frontier:
        write_text(output, best.dumps())
    if output:
        say(f"wrote {output}")
    with beside(output):
        people = () if solve else tuple(people_lines(loaded_survey, best))
        show_plans.plan(best, others, solve, json, people, verbose, power or POWER)


def _check_plan_options(
    output: Path | None,
    solve: str | None,
    target: Mapping[str, float],
    ledger: Path | None,
    frontier: bool,
) -> None:
    """Raise UsageError for options that cannot be combined."""
    if len(target) > 1:
        raise UsageError.of("--margin", "cli.margin-and-error", value=target["margin"])
    if frontier and output is None:
        raise UsageError.of("-o", "cli.frontier-file")
    if frontier and output and output.suffix.lower() != ".html":
        raise UsageError.of("-o", "cli.frontier-ending", path=str(output))
    if solve and solve != "error" and not target:
        raise UsageError.of("--error", "cli.no-target", solve=solve)
    if target and not (solve and solve != "error"):
        ((name, wanted),) = target.items()
        raise UsageError.of(f"--{name}", "cli.needs-solve", value=wanted)
    if solve and ledger:
        raise UsageError.of("--ledger", "cli.ledger-and-solve", path=str(ledger))


def _plan_interviews(
    survey: Path,
    output: Path | None,
    unused: Mapping[str, object],
    margin: float | None,
    power: float | None,
    json: bool,
) -> None:
    """Choose the designs of a survey of interviews. Raises UsageError for options of others."""
    from incrowd.cli import show
    from incrowd.interviews.planning import ChosenDesigns, plan_interviews, read_open
    from incrowd.presentation.write import check_ending, save

    for name, value in unused.items():
        if value:
            raise UsageError.of(name, "cli.not-of-interviews", value=str(value))
    ending = check_ending(output, ".toml") if output else ""
    raw = read_open(survey)
    given = {"margin": margin, "power": power}
    aim = dict(raw.get("aim") or {}) | {name: each for name, each in given.items() if each}
    with working("comparing designs"):
        forecast = plan_interviews(raw | ({"aim": aim} if aim else {}))
    if output and ending == ".toml":
        with needing("studio", UsageError, "-o"):
            from incrowd.studio.document import SurveyDocument, apply

        text = SurveyDocument(survey.read_text("utf-8"))
        write_text(output, apply(text, ChosenDesigns(forecast.survey.content)).text)
    elif output:
        save(forecast, output)
    if output:
        say(f"wrote {output}")
    show.result(forecast, json)
