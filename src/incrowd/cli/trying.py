"""The commands that test surveys on known answers: `simulate` and `demo`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import incrowd
from incrowd.cli.console import progress, say, working
from incrowd.cli.options import (
    AnswersFile,
    AsJson,
    EncodingOption,
    FormatOption,
    OfThoseWhoAnswered,
    SheetOption,
    Simultaneous,
    SurveyArgument,
    Verbose,
    check_answers,
    load_survey,
    make_folder,
    source,
)
from incrowd.errors import UsageError, needing
from incrowd.files import write_text

if TYPE_CHECKING:
    import pyarrow as pa


DEVICES = 2000
FEW = 300  # people; fewer are a department, where the services add the noise
MINUTES = 10.0


def simulate(
    survey: SurveyArgument,
    answers: AnswersFile,
    trials: Annotated[int, typer.Option(help="Number of collections to simulate.")] = 1000,
    fixed_people: Annotated[
        bool, typer.Option(help="Keep the people fixed, to check the noise-only errors.")
    ] = False,
    simultaneous: Simultaneous = None,
    weight_to: Annotated[
        list[str] | None,
        typer.Option(help="Weight to the true shares of this question; repeatable."),
    ] = None,
    of_those_who_answered: OfThoseWhoAnswered = False,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    format: FormatOption = None,
    encoding: EncodingOption = None,
    sheet: SheetOption = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Test a survey by simulation on known answers. Shows bias, spread and coverage.

    Plans once; each trial draws `crowd` people from the answers with replacement, randomizes and
    estimates.

    \b
    Example:
      incrowd simulate health.toml rand_hie.csv --trials 200
    """
    from incrowd.cli import show

    check_answers(answers)
    loaded_survey = load_survey(survey)
    table = incrowd.load_answers(source(answers, format, encoding, sheet), loaded_survey)
    with progress("simulating", trials) as advance:
        result = incrowd.simulate(
            loaded_survey,
            table,
            trials=trials,
            fixed_people=fixed_people,
            simultaneous=simultaneous,
            weight_to=weight_to or [],
            of_those_who_answered=of_those_who_answered,
            seed=seed,
            progress=advance,
        )
    show.result(result, json, verbose)


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; created if missing.")
    ] = Path("demo"),
    live: Annotated[
        bool, typer.Option("--live", help="Send everything over HTTP on this machine.")
    ] = False,
    people: Annotated[
        int | None, typer.Option(help="With --live: number of devices; 2,000 by default.")
    ] = None,
    mixers: Annotated[
        int | None,
        typer.Option(help="With --live: 1 for a shuffler, 2 for two mixers and an inviter."),
    ] = None,
    join: Annotated[
        bool, typer.Option("--open", help="With --live: answer the survey page yourself.")
    ] = False,
    wait: Annotated[
        float | None,
        typer.Option(help="With --open: minutes to wait for your answers; 10 by default."),
    ] = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Run every step on real data and compare with the truth.

    With --live, a shuffler and a collector are started, and each person is a device that sends
    over HTTP; then the receipt, and what each party saw, are shown. Fewer than 300 people are a
    department with one question, where the services add the noise. With --mixers 2, an inviter
    and two mixers are started instead of the shuffler. With --open you can add your own answers
    in a browser and watch the collector's dashboard.

    \b
    Example:
      incrowd demo -o demo
      incrowd demo --live --people 500
      incrowd demo --live --people 60
      incrowd demo --live --mixers 2
      incrowd demo --live --open
    """
    from incrowd.cli import show
    from incrowd.drafts.examples import EXAMPLES

    _check_live(live, join, people, mixers, wait)
    many = DEVICES if people is None else people
    department = live and mixers != 2 and many < FEW
    survey = incrowd.Survey.load(EXAMPLES["department" if department else "health"].files[0])
    answers = incrowd.load_answers(EXAMPLES["health"].files[1], survey)
    if live:
        with needing("collect", UsageError, "--live"):
            from incrowd.cli import live as network
        seconds = 60 * (MINUTES if wait is None else wait) if join else None
        network.live(survey, answers, many, output, json, seconds, 2 if mixers == 2 else 1)
        return
    make_folder(output)
    with working("planning, randomizing, and estimating"):
        compared, plan = _whole_path(survey, answers, output)
    show.result(compared, json, verbose)
    if verbose:
        say(_precision(plan))
    say(f"wrote {output / 'plan.json'}, {output / 'reports'}, and {output / 'report.html'}")


def _whole_path(
    survey: incrowd.Survey, answers: pa.Table, output: Path
) -> tuple[incrowd.Estimates, incrowd.Plan]:
    """Plan, randomize, estimate and compare; write a file at each step."""
    plan = incrowd.plan(survey)
    write_text(output / "plan.json", plan.dumps())
    incrowd.save_reports(incrowd.randomize(plan, answers), output / "reports")
    estimates = incrowd.estimate(plan, incrowd.load_reports(output / "reports"))
    compared = dataclasses.replace(estimates, truth=incrowd.truth(plan, answers))
    incrowd.save_estimates(compared, output / "report.html")
    return compared, plan


def _precision(plan: incrowd.Plan) -> str:
    """Return a sentence on the precision of the wanted tables, and on that of one joint report."""
    joint = incrowd.plan(plan.survey.model_copy(update={"tables": "any"}))
    cells, report = (
        [table.effective_sample_size for table in incrowd.forecast(each)] for each in (plan, joint)
    )
    return (
        f"if all answers are equally common, every table is as precise as {min(cells):,.0f} of "
        f"{plan.survey.crowd:,} people asked without privacy; with one joint report, which gives "
        f"every possible table, as {min(report):,.0f} to {max(report):,.0f}"
    )


def _check_live(
    live: bool, join: bool, people: int | None, mixers: int | None, wait: float | None
) -> None:
    """Raise UsageError for an option that lacks the one it needs, and for an impossible time."""
    if join and not live:
        raise UsageError.of("--open", "cli.flag-needs-option", option="--live")
    for name, given, needed, there in (
        ("people", people, "--live", live),
        ("--mixers", mixers, "--live", live),
        ("--wait", wait, "--open", join),
    ):
        if given is not None and not there:
            raise UsageError.of(name, "cli.needs-option", value=given, option=needed)
    if mixers not in (None, 1, 2):
        raise UsageError.of("--mixers", "cli.mixers", value=mixers)
    if wait is not None and not 0 < wait <= 1440:
        raise UsageError.of("--wait", "cli.wait", value=wait)
