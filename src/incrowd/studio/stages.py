"""The stage of a survey, from the files of its project alone, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.machine import system
from incrowd.collection.protocol.bundle import Bundle, as_time
from incrowd.errors import IncrowdError, Problem
from incrowd.reports.folder import ENDING
from incrowd.studio.evidence import bundle_of, plan_file
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.projects import Project
from incrowd.studio.publication import FOLDERS, Publication, load_publication
from incrowd.studio.rehearsal import FOLDER as REHEARSAL
from incrowd.studio.rehearsal import SUMMARY
from incrowd.survey import Survey

StageName = Literal[
    "broken",
    "empty",
    "draft",
    "certified",
    "scheduled",
    "collecting",
    "closed",
    "answered",
    "released",
    "designed",
    "read",
]
STAGES: Mapping[StageName, Phrase] = {
    "broken": phrase("Needs a correction"),
    "empty": phrase("No questions yet"),
    "draft": phrase("Draft"),
    "certified": phrase("Certified"),
    "scheduled": phrase("Published: opens on {date}"),
    "collecting": phrase("Collecting since {date}"),
    "closed": phrase("Closed since {date}"),
    "answered": phrase("Reports are here"),
    "released": phrase("Released on {date}"),
    "designed": phrase("Ready for interviews"),
    "read": phrase("Answers are here"),
}

CHANGING = ("*", "rehearsal/*", "collector/opened/*")  # whose time is that of a change


@dataclass(frozen=True)
class NextStep:
    """What to do next: the last part of its address, and the words of the link."""

    step: str
    label: Phrase


NEXT: Mapping[StageName, NextStep] = {
    "broken": NextStep("design", phrase("Correct it")),
    "empty": NextStep("design", phrase("Add questions")),
    "draft": NextStep("precision", phrase("Check precision and privacy")),
    "certified": NextStep("publish/rehearsal", phrase("Rehearse it")),
    "scheduled": NextStep("publish", phrase("See what is left to do")),
    "collecting": NextStep("watch", phrase("Watch the collection")),
    "closed": NextStep("watch", phrase("See whether the release has arrived")),
    "answered": NextStep("results", phrase("Read the results")),
    "released": NextStep("results", phrase("Read the results")),
    "designed": NextStep("kit", phrase("Print what the interviews need")),
    "read": NextStep("report", phrase("Read the results")),
}
REHEARSED = NextStep("publish", phrase("Publish it"))  # in the place of "certified"


@dataclass(frozen=True)
class SurveyStage:
    """How far a survey is.

    since: when it opens, was opened, or was released. closes: when the collection ends. rehearsed:
    when it was rehearsed last. invited: the number of invitations; 0 if there are none. problem:
    what has to be corrected.
    """

    name: StageName
    since: datetime | None = None
    closes: datetime | None = None
    rehearsed: datetime | None = None
    invited: int = 0
    problem: Problem | None = None

    @property
    def next(self) -> NextStep:
        """What to do next."""
        if self.name == "certified" and self.rehearsed:
            return REHEARSED
        return NEXT[self.name]


def stage_of(project: Project, survey: Survey, now: datetime | None = None) -> SurveyStage:
    """Return the stage of a survey that can be used. now: the time, if not that of this machine."""
    now = now or system()
    summary = project.path / REHEARSAL / SUMMARY
    rehearsed = time_of(summary) if summary.exists() else None
    try:
        publication, _ = load_publication(project)
        bundle = bundle_of(project, publication)
    except IncrowdError as error:
        return SurveyStage("broken", rehearsed=rehearsed, problem=error.problems[0])
    invited = publication.invitations

    def stage(name: StageName, since: datetime | None = None) -> SurveyStage:
        closes = as_time(bundle.closes) if bundle else None
        return SurveyStage(name, since, closes, rehearsed, invited)

    if bundle is not None:
        return _collection(project, publication, bundle, now, stage)
    if any((*project.path.glob(f"reports*{ENDING}"), *project.path.glob("tally*"))):
        return stage("answered")
    return stage("certified" if plan_file(project, survey).state == "current" else "draft")


def interview_stage_of(project: Project) -> SurveyStage:
    """Return the stage of a survey of interviews, also of one that cannot be used yet."""
    try:
        if "question" not in project.document().content:
            return SurveyStage("empty")
        project.interviews()
    except IncrowdError as error:
        return SurveyStage("broken", problem=error.problems[0])
    return SurveyStage("read" if project.has_answers else "designed")


def _collection(
    project: Project,
    publication: Publication,
    bundle: Bundle,
    now: datetime,
    stage: Callable[[StageName, datetime | None], SurveyStage],
) -> SurveyStage:
    """Return the stage of a survey that was published. stage: makes one."""
    releases: list[Path] = []
    if "collector" in publication.mine:
        opened = CollectorPlaces(project.path / FOLDERS["collector"]).opened_ones
        releases = [*opened.glob("release-*")]
    if releases:
        return stage("released", max(map(time_of, releases)))
    opens, closes = as_time(bundle.opens), as_time(bundle.closes)
    if now < opens:
        return stage("scheduled", opens)
    return stage("collecting", opens) if now < closes else stage("closed", closes)


def time_of(path: Path) -> datetime:
    """Return when a file was changed."""
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def last_change(project: Project) -> datetime:
    """Return when something was changed last: a file of the project, a rehearsal, or a release."""
    paths = (each for pattern in CHANGING for each in project.path.glob(pattern))
    times = (time_of(each) for each in paths if not each.name.startswith("."))
    return max(times, default=time_of(project.path))
