"""The commands that read reports: `tally`, `estimate`, `postprocess` and `compare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypedDict

import typer

import incrowd
from incrowd.cli.completion import question, question_is
from incrowd.cli.console import counting, say, working
from incrowd.cli.options import (
    AcceptSmaller,
    AsJson,
    EngineOption,
    Language,
    Margins,
    Master,
    MergeAnswers,
    NoiseOnly,
    OfThoseWhoAnswered,
    Outputs,
    PlanArgument,
    ReportsFiles,
    Simultaneous,
    TablesOption,
    Verbose,
    beside,
    certified,
    check_outputs,
    check_reports,
    choice,
    keep,
    saved,
)
from incrowd.errors import UsageError, naming
from incrowd.files import is_stream
from incrowd.methods import POSTPROCESSING_METHODS, THIS_MACHINE, PostprocessingMethod

if TYPE_CHECKING:
    from incrowd.estimation.compare import TwoWay
    from incrowd.estimation.compare_shares import ShareDifference
    from incrowd.estimation.crosstab import Crosstab
    from incrowd.estimation.receipts import Received
    from incrowd.reports.tally import TallyKind

WordsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="File of words to estimate, one per line, as QUESTION=FILE; repeatable.",
        autocompletion=question_is,
    ),
]
First = Annotated[
    str,
    typer.Argument(
        metavar="FIRST",
        help="Question that defines the groups; or a share, such as smokes=yes.",
        autocompletion=question,
    ),
]
Second = Annotated[
    str,
    typer.Argument(
        metavar="SECOND",
        help="Question to compare; or a share, such as sick=yes,sex=f.",
        autocompletion=question,
    ),
]
PairsOption = Annotated[
    bool,
    typer.Option(
        "--pairs", help="Also count pairs of bits, for weighting and joint errors of cells."
    ),
]
Covariance = Annotated[bool, typer.Option(help="Add the covariance of all cells to the JSON.")]


class _Adjustments(NamedTuple):
    """The adjustments of tables, by the parameters of the library."""

    margins: Mapping[str, Mapping[str, float]] | None
    of_those_who_answered: bool


def _id_lists(tables: list[str] | None) -> list[list[str]] | None:
    """Split tables written as a,b into lists of ids."""
    return [[id.strip() for id in ids.split(",")] for ids in tables] if tables else None


def count_paths(
    plan: incrowd.Plan,
    paths: list[Path],
    tables: Sequence[Sequence[str]] | None,
    kind: TallyKind = "singles",
    spark: str | None = None,
) -> incrowd.Tally:
    """Count reports in files and folders, and add tallies. spark: the master, to count on Spark."""
    from incrowd.estimation.estimate import count_on_spark
    from incrowd.reports.consistency import check_possible
    from incrowd.reports.tally_files import ENDING as TALLY_ENDING
    from incrowd.reports.tally_files import load_tally

    tallies = [(path, load_tally(path)) for path in paths if path.suffix == TALLY_ENDING]
    for path, tally in tallies:
        with naming(path):
            check_possible(plan, tally)
    reports = [path for path in paths if path.suffix != TALLY_ENDING]
    if spark and reports:
        say(f"counting on Spark: {spark}")
        counts = count_on_spark(plan, reports, tables=tables, kind=kind, master=spark)
        return sum((tally for _, tally in tallies), counts)
    for path in reports:
        with counting(path) as parts:
            tallies.append((path, incrowd.count(plan, parts, tables=tables, kind=kind)))
    return added(tallies)


def added(tallies: Sequence[tuple[Path, incrowd.Tally]]) -> incrowd.Tally:
    """Add tallies. Raises ReportsError, with the file, for a part that occurs twice."""
    (_, total), *others = tallies
    for path, tally in others:
        with naming(path):
            total = total + tally
    return total


def tally(
    plan: PlanArgument,
    reports: ReportsFiles,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write: .json.")],
    table: TablesOption = None,
    pairs: PairsOption = False,
    margins: Margins = None,
    of_those_who_answered: OfThoseWhoAnswered = False,
    json: AsJson = False,
) -> None:
    """Count reports into a small file for `estimate`. Several such files are added up.

    \b
    Example:
      incrowd tally plan.json part-1.parquet -o part-1.json
      incrowd estimate plan.json part-1.json part-2.json
      incrowd tally plan.json part-1.parquet --margins margins.toml -o part-1.json

    Give --margins and --of-those-who-answered here too if you will use them in `estimate`.
    """
    from incrowd.cli import show
    from incrowd.estimation.estimate import to_count
    from incrowd.guarantees.certified import analysis_of
    from incrowd.reports.tally_files import ENDING as TALLY_ENDING
    from incrowd.reports.tally_files import save_tally

    keep(output, plan, *reports, *([margins] if margins else []))
    check_reports(*reports)
    if output.suffix != TALLY_ENDING and not is_stream(output):
        raise UsageError.of("-o", "cli.ending", path=str(output), endings=[TALLY_ENDING])
    loaded_plan = incrowd.Plan.load(plan)
    analysis_of(loaded_plan)
    adjustments = _Adjustments(
        incrowd.load_margins(margins) if margins else None, of_those_who_answered
    )
    wanted = to_count(loaded_plan, _id_lists(table), **adjustments._asdict())
    kind: TallyKind = "pairs" if pairs or any(adjustments) else "singles"
    counted = count_paths(loaded_plan, reports, wanted, kind)
    save_tally(counted, output)
    with beside(output):
        show.counted(counted, output, json)


def estimate(
    plan: PlanArgument,
    reports: ReportsFiles,
    table: TablesOption = None,
    merge: MergeAnswers = None,
    margins: Margins = None,
    of_those_who_answered: OfThoseWhoAnswered = False,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    words: WordsOption = None,
    simultaneous: Simultaneous = None,
    covariance: Covariance = False,
    engine: EngineOption = "here",
    master: Master = THIS_MACHINE,
    output: Outputs = None,
    language: Language = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Estimate tables from randomized answers, without bias.

    Adds standard errors and 95% intervals.

    \b
    Example:
      incrowd estimate plan.json reports.parquet -o report.html
      incrowd estimate plan.json reports.parquet --table smoker,health --margins margins.toml
      incrowd estimate plan.json reports.parquet --merge "health: fair + poor"

    The ending of -o chooses the format: .html, .csv, .json, .parquet, .xlsx, .docx, or .R (with the
    covariance of all cells).
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_beside
    from incrowd.estimation.estimate import to_count
    from incrowd.presentation.write import R_SCRIPT

    check_outputs(outputs := output or [], plan, *reports, *([margins] if margins else []))
    check_reports(*reports)
    covariance = covariance or any(each.suffix.lower() == R_SCRIPT for each in outputs)
    checked_plan = certified(plan, merge)
    adjustments = _Adjustments(
        incrowd.load_margins(margins) if margins else None, of_those_who_answered
    )
    ids_of_tables, joined = _id_lists(table), bool(covariance or simultaneous or any(adjustments))
    kind: TallyKind = "pairs" if joined else "singles"
    wanted = to_count(checked_plan, ids_of_tables, **adjustments._asdict())
    counts = count_paths(checked_plan, reports, wanted, kind, master if engine == "spark" else None)
    estimates = incrowd.estimate(
        checked_plan,
        counts,
        tables=ids_of_tables,
        **adjustments._asdict(),
        noise_only=noise_only,
        accept_smaller_crowd=accept_smaller_crowd,
        candidates=_candidates(checked_plan, words or []),
        simultaneous=simultaneous,
        covariance=covariance,
        received=receipts_beside(reports, checked_plan, counts.releases),
    )
    saved(estimates, outputs, checked_plan, language)
    with beside(*outputs):
        show.result(estimates, json, verbose)
    for item, at_once in zip_longest(estimates, estimates.simultaneous):
        if item.error.covariance is None if covariance else simultaneous and at_once is None:
            say(f"{item.questions[0]} comes from cells: no joint confidence region is available")


def _candidates(plan: incrowd.Plan, words: list[str]) -> dict[str, tuple[str, ...]]:
    """Read the words of each text question, given as QUESTION=FILE."""
    texts = plan.survey.texts
    candidates = {}
    for word in words:
        id, _, path = word.partition("=")
        if id not in texts or not path:
            if not texts:
                raise UsageError.of("--words", "cli.no-text-questions", value=word)
            raise UsageError.of("--words", "cli.words-of-no-question", value=word, ids=[*texts])
        candidates[id] = incrowd.load_words(path)
    for id in texts:
        if id not in candidates:
            say(f"{id} is a text question: give words to estimate with --words {id}=FILE")
    return candidates


def postprocess(
    plan: PlanArgument,
    reports: Annotated[
        list[Path], typer.Argument(metavar="REPORTS", help="Reports, from `incrowd randomize`.")
    ],
    table: TablesOption = None,
    method: Annotated[
        PostprocessingMethod,
        choice(
            "--method",
            POSTPROCESSING_METHODS,
            "simplex, likelihood or consistent; all are biased.",
        ),
    ] = "likelihood",
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0, help="Number of simulated collections to estimate the bias; 0 for none."
        ),
    ] = 0,
    merge: MergeAnswers = None,
    accept_smaller_crowd: AcceptSmaller = False,
    output: Outputs = None,
    language: Language = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Turn estimates into valid proportions, by a biased method.

    \b
    Example:
      incrowd postprocess plan.json reports.parquet --bootstrap 100

    The ending of -o chooses the format: .html, .csv, .json, .parquet, .xlsx, .docx or .R.
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in

    check_outputs(outputs := output or [], plan, *reports)
    check_reports(*reports)
    checked_plan = certified(plan, merge)
    ids_of_tables = _id_lists(table) or [list(ids) for ids in checked_plan.survey.wanted]
    received, releases = receipts_of(checked_plan, reports), releases_in(reports)
    with working("post-processing"), naming(*reports):
        shares = incrowd.postprocess(
            checked_plan,
            [part for path in reports for part in incrowd.load_reports(path)],
            tables=ids_of_tables,
            method=method,
            bootstrap=bootstrap,
            accept_smaller_crowd=accept_smaller_crowd,
            received=received,
        )
    saved(shares, outputs, checked_plan, language)
    with beside(*outputs):
        show.result(shares, json, verbose)
    show.receipts(received, releases)


def compare(
    plan: PlanArgument,
    reports: Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports.")],
    first: First,
    second: Second,
    reference: Annotated[
        str | None, typer.Option(help="Reference group; the first by default.")
    ] = None,
    merge: MergeAnswers = None,
    positive: Annotated[
        bool,
        typer.Option(
            "--positive", help="Assume that the two shares are not negatively associated."
        ),
    ] = False,
    margins: Margins = None,
    of_those_who_answered: OfThoseWhoAnswered = True,
    crosstab: Annotated[
        bool,
        typer.Option(
            "--crosstab", help="Show counts and percentages of each row and column instead."
        ),
    ] = False,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    output: Outputs = None,
    language: Language = None,
    verbose: Verbose = False,
    json: AsJson = False,
) -> None:
    """Compare groups, with standard errors.

    Shows a test of independence, Cramer's V, shares, differences and odds ratios. For two shares
    it shows their difference, even if they are not from one table. All figures describe the people
    who answered; with --of-all-people, "no answer" counts as an answer.

    \b
    Example:
      incrowd compare plan.json reports.parquet smoker health --reference no
      incrowd compare plan.json reports.parquet smoker health --margins margins.toml
      incrowd compare plan.json reports.parquet smoker=yes drinker=yes
      incrowd compare plan.json reports.parquet smoker health --crosstab -o crosstab.xlsx

    The ending of -o chooses the format: .html, .csv, .json, .parquet, .xlsx, .docx or .R.
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in
    from incrowd.estimation.crosstab import crosstab as crossed

    check_outputs(outputs := output or [], plan, reports, *([margins] if margins else []))
    check_reports(reports)
    checked_plan = certified(plan, merge)
    received, releases = receipts_of(checked_plan, [reports]), releases_in([reports])
    common: _Common = {
        "of_those_who_answered": of_those_who_answered,
        "noise_only": noise_only,
        "accept_smaller_crowd": accept_smaller_crowd,
        "received": received,
    }
    shares = _shares(first, second, reference, margins, positive)
    _check_crosstab(crosstab, reference, bool(shares))
    result: TwoWay | ShareDifference | Crosstab
    with counting(reports) as parts:
        weights = incrowd.load_margins(margins) if margins else None
        if shares:
            result = incrowd.compare_shares(
                checked_plan, parts, *shares, positive=positive, **common
            )
        elif crosstab:
            result = crossed(checked_plan, parts, first, second, margins=weights, **common)
        else:
            result = incrowd.compare(
                checked_plan, parts, first, second, reference=reference, margins=weights, **common
            )
    saved(result, outputs, checked_plan, language)
    with beside(*outputs):
        show.result(result, json, verbose)
    show.receipts(received, releases)


def _check_crosstab(crosstab: bool, reference: str | None, shares: bool) -> None:
    """Raise UsageError for options that do not go together with a crosstab."""
    if crosstab and shares:
        raise UsageError.of("--crosstab", "cli.crosstab-of-shares", value=crosstab)
    if crosstab and reference is not None:
        raise UsageError.of("--reference", "cli.crosstab-reference", value=reference)


class _Common(TypedDict):
    """The arguments of all comparisons."""

    of_those_who_answered: bool
    noise_only: bool
    accept_smaller_crowd: bool
    received: Sequence[Received]


def _shares(
    first: str, second: str, reference: str | None, margins: Path | None, positive: bool
) -> tuple[dict[str, str], dict[str, str]] | None:
    """Parse two shares, as QUESTION=ANSWER,QUESTION=ANSWER; return None for two questions.

    Raises UsageError for options that do not go together.
    """
    if "=" not in first + second:
        if positive:
            raise UsageError.of("--positive", "cli.needs-shares", value=positive)
        return None
    for option, value in (("--reference", reference), ("--margins", margins)):
        if value is not None:
            raise UsageError.of(option, "cli.needs-questions", value=str(value))
    shares = []
    for name, text in (("FIRST", first), ("SECOND", second)):
        pairs = [part.partition("=") for part in text.split(",")]
        if not all(id and answer for id, _, answer in pairs):
            raise UsageError.of(name, "cli.not-a-share", value=text)
        shares.append({id.strip(): answer.strip() for id, _, answer in pairs})
    return shares[0], shares[1]
