"""All calls of the table, and what they say."""

import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from incrowd.cli.console import as_option, problems_as_typed
from tests.messages import (
    answers,
    channels,
    collector,
    commands,
    device,
    estimates,
    exchange,
    files,
    honesty,
    interview_models,
    interview_outcomes,
    interview_power,
    interviews,
    invitations,
    inviter,
    margins,
    mixers,
    page,
    plans,
    precision,
    proofs,
    publishing,
    regressions,
    results,
    sampling,
    second_mixer,
    shuffler,
    strata,
    studio_design,
    studio_frame,
    studio_interviews,
    studio_start,
    surveys,
    tallies,
    tokens,
    wire,
    workflow,
)
from tests.messages.recorder import Said, hear, problems

TABLES = (
    *(surveys, answers, plans, channels, sampling, tallies, estimates, workflow, commands, wire),
    *(collector, device, shuffler, invitations, inviter, second_mixer, tokens, mixers),
    *(files, margins, page, precision, publishing, regressions, results, strata),
    *(
        studio_design,
        studio_frame,
        studio_interviews,
        studio_start,
        proofs,
        exchange,
        interviews,
        interview_models,
        interview_outcomes,
        interview_power,
        honesty,
    ),
)


@cache
def heard() -> tuple[Said, ...]:
    """What every call says, in a folder of its own."""
    return tuple(_heard())


def _heard() -> Iterator[Said]:
    for table in TABLES:
        room = table.__name__.rpartition(".")[-1]
        for name, call in table.CASES.items():
            with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield hear(f"{room}: {name}", call, Path(folder))


def lines() -> Iterator[str]:
    """Every message as the library says it, as the command line does where that differs, and in
    German."""
    for said in heard():
        yield f"\n[{said.name}] {type(said.error).__name__}"
        found = problems(said.error)
        typed = problems_as_typed(said.error) if found else ()
        for problem, as_typed in zip(found, typed, strict=True):
            yield f"    {problem}"
            if (line := as_typed.text(option=as_option)) != str(problem):
                yield f"    (typed) {line}"
            if (german := problem.text("de")) != str(problem):
                yield f"    (de) {german}"
