"""The places of the reports of a project: files of `randomize` and `tally`, and opened releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from incrowd.collection.collector.places import RECEIPT
from incrowd.collection.collector.receipt import load_receipt
from incrowd.collection.folders import BUNDLE
from incrowd.errors import IncrowdError, Problem, UsageError, unreadable
from incrowd.files import write_bytes, write_text
from incrowd.plans import Plan
from incrowd.reports.collection import load_header
from incrowd.reports.folder import ENDING, report_files
from incrowd.reports.tally_files import ENDING as TALLY
from incrowd.reports.tally_files import load_tally
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.names import within
from incrowd.studio.projects import Project

REPORTS = phrase("Reports")
COUNTS = phrase("Counts of reports")
RELEASE = phrase("Opened release")
REHEARSAL = phrase("Rehearsal: invented people")
SIMULATION = phrase("Simulation with a known seed")
UNREAL = (REHEARSAL, SIMULATION)  # no real person's reports
MARGINS_ENDINGS = (".toml", ".csv")
MARGINS = "margins"  # with which the name of a file of margins begins
_DIGITS = 12  # of a digest in the name of a file


@dataclass(frozen=True)
class ReportSource:
    """One choice of reports.

    name: the path in the project, which commands take. kind: what it is. people: how many took
    part; None if it does not say. plan: the digest of its plan. problem: why it cannot be used.
    """

    name: str
    kind: Phrase
    changed: datetime
    people: int | None = None
    plan: str = ""
    problem: Problem | None = None

    @property
    def is_release(self) -> bool:
        """Whether it came over a network, with receipts."""
        return self.kind in (RELEASE, REHEARSAL)


def sources(project: Project) -> tuple[ReportSource, ...]:
    """Return all reports in the folder of a project, the last changed first."""
    every = (source(project, path) for path in _paths(project.path))
    return tuple(sorted(every, key=lambda each: (each.changed, each.name), reverse=True))


def _paths(folder: Path) -> Iterator[Path]:
    for path in folder.glob("reports*"):
        if path.suffix == ENDING or path.is_dir():
            yield path
    yield from folder.glob(f"tally*{TALLY}")
    for opened in (*folder.glob("collector/opened"), *folder.glob("rehearsal/**/opened")):
        releases = [each for each in opened.glob("release-*") if (each / RECEIPT).exists()]
        yield from releases if len(releases) == 1 else [opened] * bool(releases)


def source(project: Project, path: Path) -> ReportSource:
    """Return the report source at a path; an unreadable file is listed with its problem."""
    name = str(path.relative_to(project.path))
    try:
        changed = datetime.fromtimestamp(_changed(path))
        kind = REPORTS
        if path.suffix == TALLY:
            tally = load_tally(path)
            people = max((each.declared for each in tally.messages.values()), default=0)
            kind = COUNTS if tally.seed is None else SIMULATION
            return ReportSource(name, kind, changed, people or None, tally.plan)
        headers = [load_header(file) for file in report_files(path)]
        if any(header.release for header in headers):
            kind = REHEARSAL if name.startswith("rehearsal") else RELEASE
        elif any(header.seed is not None for header in headers):
            kind = SIMULATION
        releases = {each.release.id: each.release.people for each in headers if each.release}
        strata = {each.strata: each.people for each in headers if each.people is not None}
        participants = sum((releases or strata).values()) or None
        return ReportSource(name, kind, changed, participants, headers[0].plan)
    except IncrowdError as error:
        problem = within(error.problems[0], project.path)
    except OSError as error:
        reason = unreadable(error)
        problem = Problem("reports", "studio.reports-unreadable", name=name, reason=reason)
    return ReportSource(name, REPORTS, datetime.fromtimestamp(0), problem=problem)


def _changed(path: Path) -> float:
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return max(each.stat().st_mtime for each in files)


def fingerprint(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes if a file, or one in a folder, does: names, sizes and times."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    stats = [(str(each), each.stat()) for each in files if each.is_file()]
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    return sum(each for _, each, _ in fingerprint(path))


def plan_path(project: Project, source: ReportSource) -> Path:
    """Return the plan file of some reports: that of the project, if it is theirs or they name no
    other.

    If the survey was planned again later, it is the plan that was kept at that time; a release has
    its plan in its bundle, which is written into a file of its own. Raises UsageError if there is
    no plan.
    """
    path = project.plan_path
    if path.exists() and Plan.load(path).digest == source.plan:
        return path
    if source.plan and (earlier := _plan_file(project, source.plan)).exists():
        return earlier
    folder = project.path / source.name
    bundles = [folder, *sorted(folder.glob("release-*"))] if folder.is_dir() else [folder.parent]
    for each in bundles:
        if (each / RECEIPT).exists() and (each / BUNDLE).exists():
            return _written(project, load_receipt(each)[1].plan)
    if not path.exists():
        raise UsageError.of("plan", "studio.no-plan", name=path.name)
    return path  # of another plan: the estimate says which


def keep_plan(project: Project) -> None:
    """Keep the plan of the project before another replaces it: its reports can be read only with
    it. Raises IncrowdError if the disk is full."""
    try:
        plan = Plan.load(project.plan_path)
    except IncrowdError:
        return  # there is none, or nothing can be read with it
    _written(project, plan)


def _plan_file(project: Project, digest: str) -> Path:
    return project.hidden / "plans" / f"{digest[:_DIGITS]}.json"


def _written(project: Project, plan: Plan) -> Path:
    path, text = _plan_file(project, plan.digest), plan.dumps()
    if not path.exists() or path.read_bytes() != text.encode():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return path


def margins_files(project: Project) -> tuple[str, ...]:
    """Return the files of known margins in a project."""
    every = (each for ending in MARGINS_ENDINGS for each in project.path.glob(f"*{ending}"))
    return tuple(sorted(each.name for each in every if each.name.startswith(MARGINS)))


def add_file(project: Project, stem: str, ending: str, content: bytes) -> str:
    """Write an uploaded file under a new name, such as reports-2.parquet; return the name.

    The same content again gets no second file. Raises OSError if the disk is full.
    """
    number = 1
    while (path := project.path / f"{stem}{f'-{number}' * (number > 1)}{ending}").exists():
        if path.is_file() and path.read_bytes() == content:
            return path.name
        number += 1
    write_bytes(path, content, mode=0o644, overwrite=False)
    return path.name
