"""A rehearsal: the whole collection with invented people, on this machine, in a process of its own.

While it runs, its files are in the hidden folder of the project. The result is the folder
`rehearsal` of the project, which replaces that of the previous rehearsal.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from incrowd.catalog.sentences import LANGUAGES, translated
from incrowd.collection.collector.places import INVENTED
from incrowd.collection.collector.receipt import receipts_of
from incrowd.collection.parties import ALL_SENT, LOOK
from incrowd.collection.rehearsal import Rehearsed, Visit, crowd_of, rehearse, what_each_saw
from incrowd.collection.settings import CollectorSettings
from incrowd.encoding.records import EncodedAnswers
from incrowd.errors import UsageError
from incrowd.estimation.estimate import estimate
from incrowd.estimation.results import Estimates
from incrowd.files import PRIVATE_FOLDER, write_text
from incrowd.planner.plan import plan
from incrowd.plans import Plan
from incrowd.plans.strata import strata
from incrowd.presentation.write import save_estimates
from incrowd.reports.folder import stream_reports
from incrowd.reports.locking import locked
from incrowd.simulation import invented, truth
from incrowd.studio.evidence import plan_file
from incrowd.studio.projects import Project
from incrowd.studio.publication import introduction_of, needs_no_crowd
from incrowd.survey import Survey

FOLDER = "rehearsal"  # in the project
SUMMARY, ANSWERS, REPORT, ESTIMATES = (
    "summary.json",
    "answers.parquet",
    "report.html",
    "estimates.json",
)
MOST_PEOPLE = 2000
USUAL = 300  # people of each stratum
SEED = 1
PATIENCE = 20.0  # seconds until a rehearsal that was stopped has ended
PLANNING, SENDING, WAITING, OPENING, COUNTING = (
    "planning",
    "sending",
    "waiting",
    "opening",
    "counting",
)
GO_ON = "go-on"  # a file in the folder of a rehearsal: it does not wait for a person


@dataclass(frozen=True)
class Person:
    """The person at the studio, who answers the survey page of a rehearsal as one person more.

    progress: receives "waiting" and the link of the survey page. folder: the folder of the
    rehearsal.
    """

    progress: Callable[[str], None]
    folder: Path

    def arrive(self, visit: Visit) -> None:
        """Wait until the person has answered, or does not want to."""
        self.progress(f"{WAITING} {visit.page}")
        while not visit.came() and not (self.folder / GO_ON).exists():
            time.sleep(LOOK)
        self.progress(OPENING)

    def leave(self) -> None:
        """Return at once."""


def usual_people(survey: Survey) -> int:
    """Return how many people a rehearsal has unless another number is chosen: if services add all
    noise, as many as are expected."""
    each = survey.crowd if needs_no_crowd(survey) else USUAL
    return min(MOST_PEOPLE, each * max(1, len(strata(survey))))


def run(
    progress: Callable[[str], None],
    path: Path,
    people: int,
    mixers: Literal[1, 2],
    joining: bool = False,
    seed: int = SEED,
) -> str:
    """Rehearse; return the folder. Work of a job: it ends cleanly when it is stopped.

    progress: receives what happens, with numbers, such as "sending 212 300". path: the path of the
    project. joining: whether it waits for one person more, at the survey page: "waiting" and the
    link. Raises SurveyError for a survey with mistakes, UsageError for people that are too few or
    too many, PrivacyError if so few people cannot be promised the survey's guarantee, OSError if
    the disk is full.
    """
    project, begun = Project(path), time.monotonic()
    survey = project.survey()
    if people > MOST_PEOPLE:
        raise UsageError.of("people", "studio.most-people", people=people, most=MOST_PEOPLE)
    progress(PLANNING)
    answers = invented(survey, people, np.random.default_rng(seed))
    everyone = EncodedAnswers.of(survey, answers)
    with _workplace(project) as folder, _ending_cleanly(folder):
        planned, same = _plan(project, survey, _smallest_stratum(survey, everyone))
        write_text(folder / "plan.json", planned.dumps())
        pa.parquet.write_table(answers, folder / ANSWERS)
        rehearsed = rehearse(
            planned,
            EncodedAnswers.of(planned.survey, answers),
            folder,
            advance=_counter(progress, people),
            mixers=mixers,
            guest=Person(progress, folder) if joining else None,
            introduction=introduction_of(project),
        )
        progress(COUNTING)
        estimates = _estimates(planned, rehearsed, answers)
        save_estimates(estimates, folder / REPORT)
        save_estimates(estimates, folder / ESTIMATES)
        facts: dict[str, Any] = {"mixers": mixers, "seed": seed, "same_plan": same}
        facts |= {"seconds": round(time.monotonic() - begun, 1)}
        _summarize(folder, rehearsed, estimates, facts)
        return str(_published(project, folder))


def _smallest_stratum(survey: Survey, people: EncodedAnswers) -> int:
    """Return the people of the smallest stratum; all of them if no question is open."""
    names = strata(survey)
    if not names:
        return people.number
    return int(np.bincount(people.strata(survey), minlength=len(names)).min())


def _plan(project: Project, survey: Survey, people: int) -> tuple[Plan, bool]:
    """Return the plan for so many people, and whether it is that of the project.

    If services add all noise, the plan of the project serves any number of people.
    """
    present = plan_file(project, survey)
    current = present.plan if present.state == "current" else None
    alone = needs_no_crowd(survey, current)
    crowd = people if alone else crowd_of(people)
    if current is not None and (alone or survey.crowd == crowd):
        return current, True
    return plan(survey.model_copy(update={"crowd": crowd})), False


def _counter(progress: Callable[[str], None], people: int) -> Callable[[int], None]:
    """Return a function that reports how many have sent, from several threads."""
    lock, sent = threading.Lock(), 0

    def advance(number: int) -> None:
        nonlocal sent
        with lock:
            sent += number
            progress(f"{SENDING} {sent} {people}" if sent < people else OPENING)

    return advance


def _estimates(planned: Plan, rehearsed: Rehearsed, answers: pa.Table) -> Estimates:
    """Return the estimates from the opened releases, with the invented shares as the truth."""
    opened = rehearsed.opened
    for folder in opened:
        write_text(
            folder / INVENTED, "The people of these reports were invented for a rehearsal.\n"
        )
    reports = chain.from_iterable(map(stream_reports, opened))
    estimates = estimate(planned, reports, received=receipts_of(planned, opened))
    return replace(estimates, truth=truth(planned, answers))


def _summarize(
    folder: Path, rehearsed: Rehearsed, estimates: Estimates, facts: dict[str, Any]
) -> None:
    """Write what the page shows."""
    tables = [
        {
            "questions": list(item.names),
            "asked": item.table.provenance.of_asked,
            "level": item.table.error.level,
            "cells": [
                {
                    "answer": list(cell.answer),
                    "estimate": cell.estimate,
                    "low": cell.low,
                    "high": cell.high,
                    "truth": cell.truth,
                }
                for cell in item.cells
            ],
        }
        for item in estimates.complete(estimates.plan)
        if item.has_truth  # if nobody was asked, there is no share of those who were
    ]
    seen = [*what_each_saw(rehearsed)]
    facts |= {
        "people": rehearsed.crowd.people,
        "guests": rehearsed.guests,
        "crowd": rehearsed.bundle.plan.survey.crowd,
        "services": rehearsed.bundle.plan.by_services,
        "uploads_per_second": round(rehearsed.crowd.uploads_per_second),
        "seen": {
            language: [[translated(text, language) for text in line] for line in seen]
            for language in LANGUAGES
        },
        "tables": tables,
    }
    write_text(folder / SUMMARY, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


# Its folder: hidden until everything is there, and gone if it ends early.


def workplace(project: Project) -> Path:
    """Return the folder of a rehearsal while it runs."""
    return project.hidden / "rehearsing"


@contextmanager
def _workplace(project: Project) -> Iterator[Path]:
    """Yield a new folder, for one rehearsal of the project at a time."""
    folder = workplace(project)
    project.hidden.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    with locked(folder, patience=PATIENCE):
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
        folder.mkdir(mode=PRIVATE_FOLDER)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _published(project: Project, folder: Path) -> Path:
    """Keep what can be read again, and replace the previous rehearsal with it."""
    for service in ("shuffler", "inviter", "first-mixer", "second-mixer"):
        shutil.rmtree(folder / service, ignore_errors=True)
    token = CollectorSettings.file(folder / "collector")
    for file in (folder / ALL_SENT, folder / GO_ON, token):
        file.unlink(missing_ok=True)
    target, before = project.path / FOLDER, project.hidden / "rehearsed-before"
    shutil.rmtree(before, ignore_errors=True)
    if target.exists():
        target.rename(before)
    folder.rename(target)
    shutil.rmtree(before, ignore_errors=True)
    return target


@contextmanager
def _ending_cleanly(folder: Path) -> Iterator[None]:
    """End the services and remove the folder if this process is terminated.

    No exception is raised instead: it could come while a lock is held that threads wait for.
    """

    def stop(*_: object) -> None:
        for service in multiprocessing.active_children():
            service.kill()
            service.join()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(1)

    if threading.current_thread() is not threading.main_thread():  # it cannot get signals
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
