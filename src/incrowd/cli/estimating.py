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
from incrowd.cli.naming import naming
from incrowd.cli.options import (
    AcceptSmaller,
    AsJson,
    Engine,
    Margins,
    Master,
    MergeAnswers,
    NoiseOnly,
    OfThoseWhoAnswered,
    Output,
    PlanFile,
    ReportsFiles,
    Simultaneous,
    Tables,
    beside,
    certified,
    check_reports,
    choice,
    keep,
)
from incrowd.cli.words import POSTPROCESSING_METHODS, THIS_MACHINE, PostprocessingMethod
from incrowd.errors import UsageError
from incrowd.files import is_stream

if TYPE_CHECKING:
    from incrowd.estimation.results import Received
    from incrowd.reports.tally import Kind

Words = Annotated[
    list[str] | None,
    typer.Option(
        help="Words to look for, as QUESTION=FILE, one a line; may be repeated.",
        autocompletion=question_is,
    ),
]
First = Annotated[
    str,
    typer.Argument(
        metavar="FIRST",
        help="Question that makes the groups; or a share, as smokes=yes.",
        autocompletion=question,
    ),
]
Second = Annotated[
    str,
    typer.Argument(
        metavar="SECOND",
        help="Question that is compared; or a share, as sick=yes,sex=f.",
        autocompletion=question,
    ),
]
Pairs = Annotated[
    bool,
    typer.Option("--pairs", help="Count pairs of bits too: for weights, errors of cells together."),
]
Covariance = Annotated[bool, typer.Option(help="The covariance of all cells, in JSON.")]


class _Changed(NamedTuple):
    """What is made of tables, under the names of the library."""

    margins: Mapping[str, Mapping[str, float]] | None
    of_those_who_answered: bool


def _asked(tables: list[str] | None) -> list[list[str]] | None:
    """Tables as a,b into lists of ids."""
    return [[id.strip() for id in ids.split(",")] for ids in tables] if tables else None


def _loaded(made: incrowd.Plan, path: Path) -> incrowd.Tally:
    """A tally that is possible. Raises ReportsError for another."""
    from incrowd.reports.consistency import check_possible
    from incrowd.reports.tally_files import load_tally

    found = load_tally(path)
    with naming(path):
        check_possible(made, found)
    return found


def count_paths(
    made: incrowd.Plan,
    paths: list[Path],
    tables: Sequence[Sequence[str]] | None,
    kind: Kind = "singles",
    spark: str | None = None,
) -> incrowd.Tally:
    """The tally of reports in files and folders, and of tallies; spark: where it counts, if so."""
    from incrowd.estimation.estimate import count_on_spark
    from incrowd.reports.tally_files import ENDING as TALLY_ENDING

    tallies = [path for path in paths if path.suffix == TALLY_ENDING]
    found = [(path, _loaded(made, path)) for path in tallies]
    reports = [path for path in paths if path.suffix != TALLY_ENDING]
    if spark and reports:
        say(f"counting on Spark: {spark}")
        counted = count_on_spark(made, reports, tables=tables, kind=kind, master=spark)
        return sum((tally for _, tally in found), counted)
    for path in reports:
        with counting(path) as parts:
            found.append((path, incrowd.count(made, parts, tables=tables, kind=kind)))
    return added(found)


def added(found: Sequence[tuple[Path, incrowd.Tally]]) -> incrowd.Tally:
    """All tallies together. Raises ReportsError, by the file, for parts that come twice."""
    (_, total), *others = found
    for path, tally in others:
        with naming(path):
            total = total + tally
    return total


def tally(
    plan: PlanFile,
    reports: ReportsFiles,
    output: Annotated[Path, typer.Option("-o", "--output", help="File to write: .json.")],
    table: Tables = None,
    pairs: Pairs = False,
    margins: Margins = None,
    of_those_who_answered: OfThoseWhoAnswered = False,
    json: AsJson = False,
) -> None:
    """Count reports where they lie. Tallies are small, and `estimate` adds them up.

    \b
    Example:
      incrowd tally plan.json part-1.parquet -o part-1.json
      incrowd estimate plan.json part-1.json part-2.json
      incrowd tally plan.json part-1.parquet --margins margins.toml -o part-1.json

    With --margins and --of-those-who-answered it counts what `estimate` with them needs.
    """
    from incrowd.cli import show
    from incrowd.estimation.estimate import to_count
    from incrowd.guarantees import analysis_of
    from incrowd.reports.tally_files import ENDING as TALLY_ENDING
    from incrowd.reports.tally_files import save_tally

    keep(output, plan, *reports, *([margins] if margins else []))
    check_reports(*reports)
    if output.suffix != TALLY_ENDING and not is_stream(output):
        raise UsageError.of("-o", str(output), f"should end in {TALLY_ENDING}")
    made = incrowd.Plan.load(plan)
    analysis_of(made)
    changed = _Changed(incrowd.load_margins(margins) if margins else None, of_those_who_answered)
    wanted = to_count(made, _asked(table), **changed._asdict())
    kind: Kind = "pairs" if pairs or any(changed) else "singles"
    counted = count_paths(made, reports, wanted, kind)
    save_tally(counted, output)
    with beside(output):
        show.counted(counted, output, json)


def estimate(
    plan: PlanFile,
    reports: ReportsFiles,
    table: Tables = None,
    merge: MergeAnswers = None,
    margins: Margins = None,
    of_those_who_answered: OfThoseWhoAnswered = False,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    words: Words = None,
    simultaneous: Simultaneous = None,
    covariance: Covariance = False,
    engine: Engine = "here",
    master: Master = THIS_MACHINE,
    output: Output = None,
    json: AsJson = False,
) -> None:
    """Estimate tables from reports, without bias. Standard errors and 95% intervals stand beside.

    \b
    Example:
      incrowd estimate plan.json reports.parquet -o report.html
      incrowd estimate plan.json reports.parquet --table smoker,health --margins margins.toml
      incrowd estimate plan.json reports.parquet --merge "health: fair + poor"

    The ending of -o says what is written: .html, .csv, .json or .parquet.
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_beside
    from incrowd.estimation.estimate import to_count
    from incrowd.presentation.write import check_ending

    if output:
        check_ending(output)
        keep(output, plan, *reports, *([margins] if margins else []))
    check_reports(*reports)
    made = certified(plan, merge)
    changed = _Changed(incrowd.load_margins(margins) if margins else None, of_those_who_answered)
    asked, joined = _asked(table), bool(covariance or simultaneous or any(changed))
    kind: Kind = "pairs" if joined else "singles"
    wanted = to_count(made, asked, **changed._asdict())
    counted = count_paths(made, reports, wanted, kind, master if engine == "spark" else None)
    estimates = incrowd.estimate(
        made,
        counted,
        tables=asked,
        **changed._asdict(),
        noise_only=noise_only,
        accept_smaller_crowd=accept_smaller_crowd,
        candidates=_candidates(made, words or []),
        simultaneous=simultaneous,
        covariance=covariance,
        received=receipts_beside(reports, made, counted.releases),
    )
    if output:
        incrowd.save_estimates(estimates, output)
        say(f"wrote {output}")
    with beside(output):
        show.estimates(estimates, json)
    for item, at_once in zip_longest(estimates, estimates.simultaneous):
        if item.covariance is None if covariance else simultaneous and at_once is None:
            say(f"{item.questions[0]} comes from cells: no joint confidence region is available")


def _candidates(made: incrowd.Plan, words: list[str]) -> dict[str, tuple[str, ...]]:
    """QUESTION=FILE into the words of each text question."""
    texts = made.survey.texts
    found = {}
    for word in words:
        id, _, path = word.partition("=")
        if id not in texts or not path:
            known = ", ".join(texts) or "none"
            allowed = f"should be QUESTION=FILE; the text questions are {known}"
            raise UsageError.of("--words", word, allowed)
        found[id] = incrowd.load_words(path)
    for id in texts:
        if id not in found:
            say(f"{id}: a text question; name words to look for with --words {id}=FILE")
    return found


def postprocess(
    plan: PlanFile,
    reports: ReportsFiles,
    table: Tables = None,
    method: Annotated[
        PostprocessingMethod,
        choice(
            "--method",
            POSTPROCESSING_METHODS,
            "simplex, likelihood or consistent; all of them are biased.",
        ),
    ] = "likelihood",
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Simulated collections that tell the bias; 0 for none.")
    ] = 0,
    merge: MergeAnswers = None,
    accept_smaller_crowd: AcceptSmaller = False,
    json: AsJson = False,
) -> None:
    """Shares that look like proportions, by a named, biased method.

    \b
    Example:
      incrowd postprocess plan.json reports.parquet --bootstrap 100
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in
    from incrowd.presentation import postprocessed

    check_reports(*reports)
    made = certified(plan, merge)
    asked = _asked(table) or [list(ids) for ids in made.survey.wanted]
    received, releases = receipts_of(made, reports), releases_in(reports)
    with working("post-processing"), naming(*reports):
        found = incrowd.postprocess(
            made,
            [part for path in reports for part in incrowd.load_reports(path)],
            tables=asked,
            method=method,
            bootstrap=bootstrap,
            accept_smaller_crowd=accept_smaller_crowd,
            received=received,
        )
    show.result(postprocessed.view(found, made.survey), json)
    show.receipts(received, releases)


def compare(
    plan: PlanFile,
    reports: Annotated[Path, typer.Argument(metavar="REPORTS", help="Reports.")],
    first: First,
    second: Second,
    reference: Annotated[
        str | None, typer.Option(help="Group that each other one is compared with; else the first.")
    ] = None,
    merge: MergeAnswers = None,
    positive: Annotated[
        bool,
        typer.Option("--positive", help="State that the two shares are not negatively associated."),
    ] = False,
    margins: Margins = None,
    noise_only: NoiseOnly = False,
    accept_smaller_crowd: AcceptSmaller = False,
    json: AsJson = False,
) -> None:
    """Compare groups, with errors. Independence, Cramer's V, shares, differences, odds ratios.

    Of two shares, their difference, whether or not they are of one table.

    \b
    Example:
      incrowd compare plan.json reports.parquet smoker health --reference no
      incrowd compare plan.json reports.parquet smoker health --margins margins.toml
      incrowd compare plan.json reports.parquet smoker=yes drinker=yes
    """
    from incrowd.cli import show
    from incrowd.collection.collector.receipt import receipts_of, releases_in
    from incrowd.presentation import comparisons

    check_reports(reports)
    made = certified(plan, merge)
    received, releases = receipts_of(made, [reports]), releases_in([reports])
    common: _Common = {
        "noise_only": noise_only,
        "accept_smaller_crowd": accept_smaller_crowd,
        "received": received,
    }
    shares = _shares(first, second, reference, margins, positive)
    with counting(reports) as parts:
        if shares:
            apart = incrowd.compare_shares(made, parts, *shares, positive=positive, **common)
            show.result(comparisons.share_view(apart), json)
        else:
            known = incrowd.load_margins(margins) if margins else None
            found = incrowd.compare(
                made, parts, first, second, reference=reference, margins=known, **common
            )
            show.result(comparisons.view(found), json)
    show.receipts(received, releases)


class _Common(TypedDict):
    """What all comparisons take."""

    noise_only: bool
    accept_smaller_crowd: bool
    received: Sequence[Received]


def _shares(
    first: str, second: str, reference: str | None, margins: Path | None, positive: bool
) -> tuple[dict[str, str], dict[str, str]] | None:
    """The answers of two shares, as QUESTION=ANSWER and perhaps more behind commas; None if these
    are two questions. Raises UsageError for what does not go together."""
    if "=" not in first + second:
        if positive:
            allowed = "it goes with two shares, as smokes=yes; leave it out"
            raise UsageError.of("--positive", positive, allowed)
        return None
    for option, given in (("--reference", reference), ("--margins", margins)):
        if given is not None:
            allowed = "it goes with two questions, not with two shares; leave it out"
            raise UsageError.of(option, str(given), allowed)
    found = []
    for name, text in (("FIRST", first), ("SECOND", second)):
        pairs = [part.partition("=") for part in text.split(",")]
        if not all(id and answer for id, _, answer in pairs):
            allowed = "should be a share as the other one is, as smokes=yes or smokes=yes,sex=f"
            raise UsageError.of(name, text, allowed)
        found.append({id.strip(): answer.strip() for id, _, answer in pairs})
    return found[0], found[1]
