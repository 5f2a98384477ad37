"""`incrowd read`, and `incrowd interviews`: answers that a device in the hand has randomized."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import incrowd
from incrowd.catalog.sentences import text_language
from incrowd.cli.console import print_json, printed_as_json, say, working
from incrowd.cli.later import CommandGroup
from incrowd.cli.options import (
    AsJson,
    EncodingOption,
    FormatOption,
    Language,
    Outputs,
    SheetOption,
    SurveyArgument,
    check_answers,
    check_example,
    check_outputs,
    choice,
    keep,
    make_folder,
    numbers,
    proportions,
    share,
    source,
)
from incrowd.cli.regressing import numbers_of_questions
from incrowd.errors import AnswersError, UsageError, quantity
from incrowd.files import checked_ending
from incrowd.methods import (
    ESTIMATION_METHODS,
    FAMILIES,
    HONESTY_MODELS,
    OUTCOME_ERRORS,
    OUTCOME_METHODS,
    EstimationMethod,
    Family,
    HonestyModel,
    OutcomeErrors,
    OutcomeMethod,
)

if TYPE_CHECKING:
    from incrowd.interviews.answers import InterviewAnswers
    from incrowd.views import Result

ENDING = ".parquet"
COVARIATES = ("binary", "normal")
app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Prepare interviews, and estimate from their answers.",
)

InterviewsFile = Annotated[
    Path, typer.Argument(metavar="INTERVIEWS", help="Answers, from `incrowd read`.")
]
HonestyOption = Annotated[
    HonestyModel,
    choice(
        "--model",
        HONESTY_MODELS,
        "What people may do: lies, cheaters, always-no, anchor, or extended.",
    ),
]

EstimatorOption = Annotated[
    EstimationMethod,
    choice("--method", ESTIMATION_METHODS, "moments: unbiased; likelihood: from 0% to 100%."),
]
Unweighted = Annotated[bool, typer.Option("--unweighted", help="Ignore the survey's weights.")]
ThresholdOption = Annotated[
    float | None,
    typer.Option("--threshold", help="Divide the numbers of --by: below it, and the others."),
]


def load_interviews(path: Path, language: str | None = None) -> InterviewAnswers:
    """Load the answers that an argument names. Raises as `InterviewAnswers.load`.

    language: of labels in results; None for that of the survey.
    """
    from incrowd.interviews.answers import InterviewAnswers  # slow to load

    with working("reading the interviews"):
        return InterviewAnswers.load(path).worded(language or "")


def show_result(
    result: Result, json: bool, outputs: list[Path] | None, language: str | None
) -> None:
    """Show a result, and write it to each of the named files."""
    from incrowd.cli import show
    from incrowd.presentation.write import save  # slow to load

    for output in outputs or []:
        wrote = save(result, output, language or "en")
        say(f"wrote {output}" if wrote else f"did not write {output}: there are no figures")
    show.result(result, json)


def read(
    survey: SurveyArgument,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Answers, one row for each interview; - reads standard input."
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Parquet file to write.")] = Path(
        "interviews.parquet"
    ),
    format: FormatOption = None,
    encoding: EncodingOption = None,
    sheet: SheetOption = None,
    json: AsJson = False,
) -> None:
    """Read interviews whose answers a die or cards randomized. Nothing is randomized again.

    The device may also be a spinner, a coin, or a birthday. Shows how many reports of each kind
    arrived, beside the shares that the design can produce, and all other columns. The file has the
    survey as well: `incrowd interviews` needs nothing else.

    \b
    Example:
      incrowd read survey.toml answers.xlsx -o interviews.parquet
    """
    from incrowd.interviews.arrivals import overview  # slow to load

    check_example("survey", survey)
    check_answers(data)
    checked_ending(output, (ENDING,))
    keep(output, survey, data)
    loaded = incrowd.InterviewSurvey.load(survey)
    with working("reading the answers"):
        answers = incrowd.read_answers(loaded, source(data, format, encoding, sheet))
    answers.save(output)
    show_result(overview(answers), json, None, None)
    say(f"wrote {output}: {quantity(answers.people, 'interviews')}")


def check_interviews(
    survey: Path,
    data: Path | None,
    id: str | None,
    format: str | None,
    encoding: str | None,
    sheet: str | None,
    json: bool,
) -> None:
    """Check a survey of interviews, and answers if there are any, without writing a file."""
    from incrowd.interviews.arrivals import overview  # slow to load

    if id is not None:
        raise UsageError.of("id", "cli.not-for-interviews", value=id)
    loaded = incrowd.InterviewSurvey.load(survey)
    if data is None:
        facts = {"accepted": True, "questions": [each.id for each in loaded.items]}
        if not printed_as_json(json, facts, None):
            say(f"{survey} is a survey of {quantity(len(loaded.items), 'questions')}")
        return
    check_answers(data)
    try:
        with working("reading the answers"):
            answers = incrowd.read_answers(loaded, source(data, format, encoding, sheet))
    except AnswersError as refused:
        refused.exit_code = 1  # it is the result of the check
        raise
    show_result(overview(answers), json, None, None)
    say(f"`incrowd read` would accept these answers: {quantity(answers.people, 'interviews')}")


@app.command()
def show(
    interviews: InterviewsFile,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Show how many reports of each kind arrived, and all other columns.

    A share that no true answers can produce, such as fewer "yes" than the die forces, is a
    warning: some people do not follow the rules.

    \b
    Example:
      incrowd interviews show interviews.parquet
    """
    from incrowd.interviews.arrivals import overview  # slow to load

    check_outputs(output or [], interviews)
    show_result(overview(load_interviews(interviews, language)), json, output, language)


@app.command()
def kit(
    survey: SurveyArgument,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder to write to; created if missing.")
    ],
    interviews: Annotated[
        int, typer.Option(help="Number of interviews: sheets, and rows of the spreadsheet.")
    ] = 100,
    interviewers: Annotated[int, typer.Option(help="Number of interviewers; each has a list.")] = 1,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Write everything that interviews with a device in the respondent's hand need.

    Instructions and a self-test for interviewers, cards for respondents that say what to do with
    the die, interview sheets, a demonstration for respondents, and a spreadsheet to type the
    answers into, which `incrowd read` reads; packs of cards, a spinner, and random lists of groups
    if the survey needs them. Pages print on A4 and Letter, also as PDF from a browser. Run it once:
    each run draws new random lists.

    \b
    Example:
      incrowd interviews kit survey.toml -o kit --interviews 300 --language de
    """
    from incrowd.files import write_bytes
    from incrowd.interviews.assignment import random_lists
    from incrowd.presentation.interview_kit import kit_files

    loaded = incrowd.InterviewSurvey.load(survey)
    lists = random_lists(interviews, loaded.groups, interviewers=interviewers)
    chosen = language or text_language(loaded.language)
    files = kit_files(loaded, lists, chosen)
    make_folder(output)
    for name in files:
        if (output / name).exists():
            raise UsageError.of("-o", "kits.exists", path=str(output / name))
    for name, content in files.items():
        write_bytes(output / name, content, mode=0o644)
    if json:
        print_json({"folder": str(output), "files": sorted(files), "language": chosen})
        return
    say(f"wrote {', '.join(sorted(files))} to {output}")


@app.command()
def regress(
    interviews: InterviewsFile,
    formula: Annotated[
        str,
        typer.Argument(
            metavar="FORMULA", help='The question and its predictors: "armed ~ age + age^2 + sex".'
        ),
    ],
    errors: Annotated[
        str | None,
        choice(
            "--errors",
            ("observed", "expected", "scores", "robust", "cluster"),
            "What standard errors come from; by default cluster or robust if the survey has "
            "clusters or weights, otherwise observed.",
        ),
    ] = None,
    intervals: Annotated[
        str, choice("--intervals", ("wald", "profile"), "Intervals: wald, or profile (slower).")
    ] = "wald",
    ordinal: Annotated[
        bool, typer.Option("--ordinal", help="The answers are ordered: proportional odds.")
    ] = False,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference", help="Reference of a column of names, as COLUMN=NAME; repeatable."
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            help="Predict the shares there as well, as sex=1,age=30 or age=mean; repeatable.",
        ),
    ] = None,
    lies: Annotated[
        bool,
        typer.Option("--lies", help="Some carriers do not say yes: the stochastic lie detector."),
    ] = False,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Ignore the survey's weights.")
    ] = False,
    intercepts: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Groups with random intercepts, such as villages."),
    ] = None,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Fit a logistic, multinomial or ordinal regression of a question on open columns.

    The device does not bias the coefficients. Terms: age, age^2, age/10, (age/10)^2, log(income),
    center(age), region, factor(code), I(age - 40), age:sex, age*sex.

    \b
    Example:
      incrowd interviews regress interviews.parquet "armed ~ age + age^2 + sex" --at sex=1,age=30
    """
    from incrowd.interviews.regression import regress as fit  # slow to load
    from incrowd.interviews.varying import regress_with_intercepts

    check_outputs(output or [], interviews)
    values = [_values("--at", text) for text in at or []]
    references = {name: v for text in reference or [] for name, v in _values("--reference", text)}
    if intercepts is not None:
        given = {"--errors": errors, "--ordinal": "--ordinal" if ordinal else None, "--at": at}
        given["--intervals"] = None if intervals == "wald" else intervals
        given["--lies"] = "--lies" if lies else None
        _check_alone(given)
    answers = load_interviews(interviews, language)
    with working("fitting the model"):
        if intercepts is not None:
            model: Result = regress_with_intercepts(
                answers, formula, intercepts, reference=references, weighted=not unweighted
            )
        else:
            model = fit(
                answers,
                formula,
                errors=errors,
                ordinal=ordinal,
                reference=references,
                at=[dict(each) for each in values],
                intervals=intervals,
                weighted=not unweighted,
                lies=lies,
            )
    show_result(model, json, output, language)


def _check_alone(given: Mapping[str, object]) -> None:
    """Raise UsageError for an option that a model with random intercepts does not have."""
    for option, value in given.items():
        if value is not None:
            raise UsageError.of(option, "interview_outcomes.not-with-intercepts", value=value)


@app.command()
def outcome(
    interviews: InterviewsFile,
    formula: Annotated[
        str, typer.Argument(metavar="FORMULA", help='Such as "civic ~ age + age^2 + armed".')
    ],
    family: Annotated[
        Family | None,
        choice("--family", FAMILIES, "logistic or linear; by default chosen by the outcome."),
    ] = None,
    item: Annotated[
        str | None,
        typer.Option(
            metavar="FORMULA",
            help='Model of the randomized question, such as "armed ~ age"; by default the same '
            "predictors.",
        ),
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(
            "--reference", help="Reference of a column of names, as COLUMN=NAME; repeatable."
        ),
    ] = None,
    intercepts: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Groups with random intercepts, such as villages."),
    ] = None,
    errors: Annotated[
        OutcomeErrors | None,
        choice(
            "--errors",
            OUTCOME_ERRORS,
            "observed, robust or cluster; by default chosen by weights and clusters.",
        ),
    ] = None,
    method: Annotated[
        OutcomeMethod,
        choice(
            "--method",
            OUTCOME_METHODS,
            "likelihood: its maximum; rr: the steps of R's package rr, to compare with "
            "published figures.",
        ),
    ] = "likelihood",
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Model an openly asked outcome by columns and by a randomized question.

    Nobody's true answer is known: the likelihood sums over the true answers. The randomized
    question may be in interactions, such as armed:female.

    \b
    Examples:
      incrowd interviews outcome interviews.parquet "civic ~ age + age^2 + female + armed"
      incrowd interviews outcome interviews.parquet "income ~ age + armed" --intercepts village
      incrowd interviews outcome interviews.parquet "civic ~ age + armed" --method rr

    The ending of -o chooses the format: .html, .csv, .json, .parquet, .xlsx, .docx, or .R.
    """
    from incrowd.interviews.outcome_models import regress_outcome  # slow to load

    check_outputs(output or [], interviews)
    references = {name: v for text in reference or [] for name, v in _values("--reference", text)}
    answers = load_interviews(interviews, language)
    with working("fitting the model"):
        result = regress_outcome(
            answers,
            formula,
            family=family,
            item=item,
            reference=references,
            intercepts=intercepts,
            errors=errors,
            method=method,
        )
    show_result(result, json, output, language)


@app.command()
def honesty(
    interviews: InterviewsFile,
    questions: Annotated[
        list[str],
        typer.Argument(metavar="QUESTION", help="A yes/no question; several for always-no."),
    ],
    model: HonestyOption,
    anchor: Annotated[
        str | None,
        typer.Option(help="For the model anchor: a question whose true answer the survey states."),
    ] = None,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Estimate how many people do not follow the rules, and the shares of all others.

    lies: people with the trait deny it. cheaters: some say "no" whatever the device says; both need
    two groups with different probabilities. always-no: some say "no" to each of several questions.
    anchor: some answer at random, as a question shows whose true answer is known. extended:
    everyone follows the rules, and two groups test that.

    \b
    Example:
      incrowd interviews honesty interviews.parquet evades --model cheaters
    """
    from incrowd.interviews.honesty_estimates import honesty as estimated  # slow to load

    check_outputs(output or [], interviews)
    answers = load_interviews(interviews, language)
    with working("fitting the model"):
        estimates = estimated(answers, questions, model=model, anchor=anchor)
    show_result(estimates, json, output, language)


@app.command()
def sensitivity(
    interviews: InterviewsFile,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A randomized question.")],
    breakers: Annotated[
        list[float] | None,
        typer.Option(help="Share of people who break the rules, such as 0.1; repeatable."),
    ] = None,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Show what shares would be if some people did not follow the rules of the device.

    They answer at random, always report the same, or ignore the device and tell the truth.

    \b
    Example:
      incrowd interviews sensitivity interviews.parquet armed -o sensitivity.html
    """
    from incrowd.interviews.sensitivity_curves import RULE_BREAKERS  # slow to load
    from incrowd.interviews.sensitivity_curves import sensitivity as curves_of

    check_outputs(output or [], interviews)
    answers = load_interviews(interviews, language)
    with working("fitting the model"):
        curves = curves_of(answers, question, breakers=breakers or RULE_BREAKERS)
    show_result(curves, json, output, language)


def _values(option: str, text: str) -> list[tuple[str, str]]:
    """Parse a text such as sex=1,age=30. Raises UsageError for anything else."""
    pairs = [each.partition("=") for each in text.split(",")]
    if not all(name.strip() and value.strip() for name, _, value in pairs):
        raise UsageError.of(option, "interview_models.not-values", value=text)
    return [(name.strip(), value.strip()) for name, _, value in pairs]


@app.command()
def estimate(
    interviews: InterviewsFile,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", metavar="QUESTION", help="A question; repeatable; default: all."),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="COLUMN", help="Shares for each of its values.")
    ] = None,
    threshold: ThresholdOption = None,
    method: EstimatorOption = "moments",
    unweighted: Unweighted = False,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Estimate the shares of the true answers, with standard errors.

    Weights and clusters that the survey names are used. With --by, shares are estimated for each
    value of an open column, or below a threshold and above.

    \b
    Examples:
      incrowd interviews estimate interviews.parquet -o shares.html
      incrowd interviews estimate interviews.parquet --of armed --by female
      incrowd interviews estimate interviews.parquet --by age --threshold 40
    """
    from incrowd.interviews import prevalence  # slow to load

    check_outputs(output or [], interviews)
    answers = load_interviews(interviews, language)
    result = prevalence(
        answers, of, by=by, threshold=threshold, method=method, weighted=not unweighted
    )
    show_result(result, json, output, language)


@app.command()
def table(
    interviews: InterviewsFile,
    names: Annotated[
        list[str], typer.Argument(metavar="QUESTION...", help="Questions or open columns.")
    ],
    method: EstimatorOption = "moments",
    unweighted: Unweighted = False,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Estimate the joint table of several questions, randomized or asked openly.

    Two questions are also tested for independence, and two with two answers each have an odds
    ratio.

    \b
    Examples:
      incrowd interviews table interviews.parquet armed bribe
      incrowd interviews table interviews.parquet armed female --method likelihood -o table.xlsx
    """
    from incrowd.interviews import table  # slow to load

    check_outputs(output or [], interviews)
    answers = load_interviews(interviews, language)
    result = table(answers, names, method=method, weighted=not unweighted)
    show_result(result, json, output, language)


@app.command()
def compare(
    interviews: InterviewsFile,
    of: Annotated[str, typer.Argument(metavar="QUESTION", help="A randomized question.")],
    by: Annotated[
        str, typer.Option("--by", metavar="COLUMN", help="The open column that divides people.")
    ],
    threshold: ThresholdOption = None,
    method: EstimatorOption = "moments",
    unweighted: Unweighted = False,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Compare the shares of the true answers between groups of people.

    Shows all differences with errors and adjusted p-values, and a test that all groups are equal.

    \b
    Examples:
      incrowd interviews compare interviews.parquet armed --by female
      incrowd interviews compare interviews.parquet armed --by age --threshold 40 -o groups.html
    """
    from incrowd.interviews import compare  # slow to load

    check_outputs(output or [], interviews)
    answers = load_interviews(interviews, language)
    result = compare(answers, of, by, threshold=threshold, method=method, weighted=not unweighted)
    show_result(result, json, output, language)


@app.command()
def correlate(
    interviews: InterviewsFile,
    names: Annotated[
        list[str], typer.Argument(metavar="QUESTION...", help="Questions or columns of numbers.")
    ],
    scores: Annotated[
        list[str] | None,
        typer.Option("--scores", help="What each answer counts, as QUESTION=0,1,2; repeatable."),
    ] = None,
    unweighted: Unweighted = False,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Estimate correlations of randomized questions with each other and with open numbers.

    They are those of the true answers: the noise of the device is removed.

    \b
    Example:
      incrowd interviews correlate interviews.parquet armed bribe age
    """
    from incrowd.interviews import correlate  # slow to load

    check_outputs(output or [], interviews)
    answers = load_interviews(interviews, language)
    numbers = numbers_of_questions(answers.survey.questions, "--scores", scores or [])
    result = correlate(answers, names, scores=numbers, weighted=not unweighted)
    show_result(result, json, output, language)


@app.command()
def power(
    survey: SurveyArgument,
    question: Annotated[
        list[str] | None, typer.Option(help="Question; repeatable; all by default.")
    ] = None,
    people: Annotated[
        str | None, typer.Option(help="Numbers of interviews, such as 500,1000.")
    ] = None,
    shares: Annotated[
        str | None, typer.Option("--share", help="Expected shares, such as 10%,20%.")
    ] = None,
    null: Annotated[
        str | None, typer.Option(help="Share to compare with, such as 5%; 0 by default.")
    ] = None,
    differences: Annotated[
        str | None,
        typer.Option("--difference", help="Differences of two groups of people, such as 5%,10%."),
    ] = None,
    odds_ratios: Annotated[
        str | None,
        typer.Option("--odds-ratio", help="Odds ratios of a logistic regression, such as 1.5,2."),
    ] = None,
    covariate: Annotated[
        str,
        choice("--covariate", COVARIATES, "Of odds ratios: two groups, or a normal number."),
    ] = "binary",
    part: Annotated[
        float | None, share("--part", "Share of people in the second group [50%].")
    ] = None,
    inflation: Annotated[
        float,
        typer.Option(help="Factor by which weights, clusters, or covariates raise variances."),
    ] = 1.0,
    at_random: Annotated[
        float | None, share("--at-random", "Share of people who answer at random, such as 10%.")
    ] = None,
    evasive: Annotated[
        float | None, share("--evasive", "Share who always give the safest answer, such as 10%.")
    ] = None,
    power: Annotated[float | None, share("--power", "Wanted power [80%].")] = None,
    level: Annotated[float | None, share("--level", "Level of the intervals [95%].")] = None,
    output: Outputs = None,
    language: Language = None,
    json: AsJson = False,
) -> None:
    """Show what a survey of interviews can detect, before anybody is interviewed.

    A table shows how many people are needed for each share, difference, or odds ratio, beside the
    same question asked openly. Pages and documents also have the power as curves.

    \b
    Examples:
      incrowd interviews power survey.toml --share 10%,20% --difference 10%
      incrowd interviews power survey.toml --share 20% --odds-ratio 2 --power 90% -o power.html
      incrowd interviews power survey.toml --difference 10% --at-random 10%
    """
    from incrowd.interviews.power_forecasts import power_curves  # slow to load

    check_outputs(output or [], survey)
    given = proportions("--null", null) if null != "0" else [0.0]
    forecasts = power_curves(
        incrowd.InterviewSurvey.load(survey),
        questions=question,
        people=[int(each) for each in numbers("--people", people) or ()] or None,
        shares=proportions("--share", shares),
        null=given[0] if given else None,
        differences=proportions("--difference", differences),
        odds_ratios=numbers("--odds-ratio", odds_ratios),
        covariate="normal" if covariate == "normal" else "binary",
        part=part or 0.5,
        inflation=inflation,
        at_random=at_random or 0.0,
        evasive=evasive or 0.0,
        power=power,
        level=level,
    )
    show_result(forecasts, json, output, language)
