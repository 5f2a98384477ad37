"""Answers + Plan -> reports."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from incrowd.encoding.amounts import NEGATIVE, Outside
from incrowd.encoding.answers import Batches, load_answers, load_batches, texts
from incrowd.encoding.records import People, one_row_each, pack, set_cells
from incrowd.encoding.sources import Source, source_of
from incrowd.errors import AnswersError, IncrowdWarning, InWords, Problem
from incrowd.guarantees import analysis_of
from incrowd.plans import Message, Plan
from incrowd.plans.strata import Group, Names
from incrowd.reports.collection import Collection
from incrowd.reports.folder import save_reports
from incrowd.sampling.keystream import Keystream
from incrowd.sampling.permanent import DeviceKey, Memory, remembering
from incrowd.sampling.records import draw_cohorts, randomize_cells, randomize_records, repeat_cells
from incrowd.sampling.shuffle import Draw, permutation
from incrowd.sampling.strata import crowds, people_of, released, tell, tell_fewer
from incrowd.sampling.streaming import Progress, Written, batch_rows, header, in_two_passes, no_bar
from incrowd.survey import Survey, WithEdges, takes_numbers

# The rounding of amounts at random: who goes up. Proof: docs/mathematics.md#amounts.


HALF = np.uint64(32)  # bits of a word; the upper ones are compared


def rounded_up(numerators: np.ndarray, keystream: Keystream) -> np.ndarray:
    """1 with probability exactly numerator / 2^32, from 0 to 1 both included, else 0; int64."""
    drawn = keystream.words(len(numerators)) >> HALF
    return (drawn < numerators.astype(np.uint64)).astype(np.int64)


# Amounts of people, rounded at random: once for each person, before all messages and copies.


def rounded(people: People, keystream: Keystream) -> People:
    """The people with one edge in the place of each amount; whom nothing is asked of stay as is.

    All reports of a person are then of one record, as the guarantee and the errors count on.
    """
    found = {
        id: each if each.up is None else each.drawn(rounded_up(each.up, keystream))
        for id, each in people.encoded.items()
    }
    return people._replace(encoded=found)


def unrounded(people: People) -> bool:
    """Whether there are amounts that are not rounded yet."""
    return any(each.up is not None for each in people.encoded.values())


def people_of_file(survey: Survey, answers: pa.Table) -> People:
    """The encoded answers of a file, or a data frame; amounts beyond the edges are told."""
    people = People.of(survey, answers)
    tell_outside(survey, [outside(people)])
    return people


def outside(people: People) -> dict[str, Outside]:
    """How many amounts lie beyond the edges, by question."""
    return {id: each.outside for id, each in people.encoded.items()}


def tell_outside(survey: Survey, pieces: Sequence[Mapping[str, Outside]]) -> None:
    """Say by an IncrowdWarning how many amounts of all pieces of a file lie beyond the edges."""
    for question in survey.questions:
        if question.rounded and takes_numbers(question):
            found = reduce(Outside.and_of, (each[question.id] for each in pieces))
            for line in outside_lines(question, found):
                warnings.warn(f"{question.id}: {line}", IncrowdWarning, stacklevel=3)


def outside_lines(question: WithEdges, found: Outside) -> Iterator[str]:
    """What is said of amounts below the first edge, and of those above the last one."""
    first, last = (f"{edge:g}" for edge in (question.edges[0], question.edges[-1]))
    for number, where, edge, codes in (
        (found.below, f"below the first edge, {first}", first, found.codes & NEGATIVE),
        (found.above, f"above the last edge, {last}", last, found.codes - NEGATIVE),
    ):
        if number:
            said = f"{number:,} of {found.answers:,} answers lie {where}"
            listed = ", ".join(map(str, sorted(codes)))
            hint = f"; write missing = [{listed}] for what stands for no answer"
            yield f"{said}, and count as {edge}{hint if codes else ''}"


MOST_FILES = 400  # open at the same time


def randomize(
    plan: Plan,
    answers: Any,
    *,
    simulation_seed: int | None = None,
    id: str | None = None,
    device_key: DeviceKey | None = None,
) -> tuple[Collection, ...]:
    """Encode, randomize and shuffle the answers: one collection for each message of the plan.

    Where questions are open, one for each stratum and message: strata with fewer people than the
    survey's crowd are merged or left out, as its `small_strata` says, which is told by an
    IncrowdWarning.
    answers: a data frame (pandas, polars, duckdb, Arrow and others) or a file, as `load_answers`
    takes them, with a column for each question; other columns are ignored. id: the column that
    says whose row it is; rows of one person count once. Without it each row is taken as one
    person. device_key: the secret that permanent responses need; each id has its own part of it.
    Real reports take their randomness from the operating system; a `simulation_seed` makes them
    repeatable, therefore not private, and the collections say so.
    Fewer people than the crowd, and amounts outside of their edges, are told by an IncrowdWarning.
    Raises AnswersError if the answers do not fit the survey or no stratum is large enough,
    UsageError if a key is needed, and PlanFileError if the plan names an analysis that does not
    promise what the plan does.
    """
    analysis_of(plan)
    answers = load_answers(answers, plan.survey, id=id)
    if id is not None:
        answers = one_row_each(answers, plan.survey, id)
    people = people_of_file(plan.survey, answers)
    tell_fewer(plan, people.number)
    devices = texts(answers, id).to_pylist() if id is not None and plan.memoized else None
    memory = remembering(plan, people.number, devices, device_key)
    keystream = Keystream.of(simulation_seed)
    people = rounded(people, keystream)
    made = []
    persons = "rows" if id is None else "ids"
    for names, some, own in crowds(plan, people, memory):
        for number, message in enumerate(plan.messages):
            packed = randomize_message(plan, message, some, keystream, own)
            shuffled = packed[permutation(len(packed), keystream)]
            head = header(plan, number, some.number, keystream)
            made.append(replace(head, packed=shuffled, persons=persons, strata=names))
    return tuple(made)


def randomize_message(
    plan: Plan,
    message: Message,
    people: People,
    keystream: Keystream,
    memory: Memory | None = None,
    most: int | None = None,
) -> np.ndarray:
    """The packed reports of one message, all its copies, not yet shuffled.

    Returns uint8, shape (reports, ceil(bits of a report / 8)). memory: of the devices, for
    permanent responses; without it all stages are drawn afresh, as in a single round. most: how
    many reports of one person there is room for, which permanent responses keep to; others are for
    the caller to draw again. Amounts have to be rounded, once for all messages.
    """
    if message.cells:
        cells = set_cells(message.crossing.blocks, message.questions, people.encoded, people.number)
        if memory is not None and message.memoized:
            return repeat_cells(*cells, plan, message, memory, most)
        return randomize_cells(*cells, people.number, message, keystream)
    questions = message.questions
    if not any(question.hashed for question in questions):
        records = pack(questions, people.encoded, people.number)
        return randomize_records(records, plan, message, keystream, memory)
    copies = []
    for _ in range(message.copies):
        cohorts = draw_cohorts(message, people.number, keystream)
        records = pack(questions, people.encoded, people.number, cohorts)
        copies.append(randomize_records(records, plan, message, keystream, memory, copies=1))
    return np.concatenate(copies)


def randomize_files(
    plan: Plan,
    answers: str | Path | IO[bytes] | Source,
    output: str | Path,
    *,
    simulation_seed: int | None = None,
    id: str | None = None,
    device_key: DeviceKey | None = None,
    format: str | None = None,
    encoding: str | None = None,
    progress: Progress = no_bar,
) -> Written:
    """Encode, randomize and shuffle a file of answers of any size, in bounded memory.

    The collections have the law of `randomize`: each is one uniform permutation of all its
    reports. A file that is one batch gives the very bytes that `randomize` gives. On disk the
    reports stand once more while it works, in files without a name beside the output. Only `id`
    takes memory for the whole file: whether a row is the first of its id, and whether others of
    the same id agree with it, is known when all are there.

    answers, format, encoding: as for `load_answers`; CSV and Parquet files may be larger than
    memory, others and what comes from a pipe are held in it. output: as for `save_reports`;
    written wholly or not at all.
    progress: makes a progress bar from a label and a total. The rest, and what is raised, is as
    for `randomize`; wrong rows are counted over the whole file.
    """
    analysis_of(plan)
    source = source_of(answers, format, encoding)
    read = _batches(plan, source, id)
    first = list(islice(read.tables, 2))
    if len(first) > 1:
        groups, people = _counted(plan, source)
        beyond: list[dict[str, Outside]] = []
        written = in_two_passes(
            plan,
            chain(first, read.tables),
            _drawing(plan, device_key, groups, beyond),
            Path(output),
            keystream=Keystream.of(simulation_seed),
            size=read.size,
            unit=read.unit,
            bar=progress,
            people=people,
        )
        return _told(plan, written, beyond)
    table, _ = first[0]
    with progress("randomizing, rows", table.num_rows) as done:
        made = randomize(plan, table, simulation_seed=simulation_seed, id=id, device_key=device_key)
        done(table.num_rows)
    return _saved(made, output, table.num_rows, simulation_seed)


def _told(plan: Plan, written: Written, beyond: list[dict[str, Outside]]) -> Written:
    """What was written, after what is known of all its pieces was told."""
    tell_outside(plan.survey, beyond)
    tell_fewer(plan, written.rows)
    return written


def _saved(made: Sequence[Collection], output: str | Path, rows: int, seed: int | None) -> Written:
    whose = tuple(each.strata for each in made if each.strata)
    return Written(rows, save_reports(made, output), tuple(map(len, made)), seed, whose)


def _counted(
    plan: Plan, answers: Source
) -> tuple[dict[Names, Group] | None, dict[Names, int] | None]:
    """The releases of a file and how many people are in each: the open answers are read first.

    None where no question is open. Raises AnswersError as `crowds`, or if there are more
    collections than can be written side by side.
    """
    survey = plan.survey
    if not survey.open:
        return None, None
    asked, counts, before = survey.model_copy(update={"questions": survey.open}), Counter[int](), 0
    for table, _ in load_batches(answers, asked, batch_rows(plan)).tables:
        counts.update(People.of(asked, table, before).strata(asked).tolist())
        before += table.num_rows
    numbers = np.repeat(*(np.array(list(each)) for each in (counts, counts.values())))
    groups = released(survey, numbers)
    tell(survey, numbers, groups)
    if (files := len(groups) * len(plan.messages)) > MOST_FILES:
        allowed = f"at most {MOST_FILES:,} can be written side by side; use fewer strata"
        raise AnswersError.of("answers", InWords(f"make {files:,} collections"), allowed)
    return groups, {names: sum(counts[n] for n in group) for names, group in groups.items()}


def _batches(plan: Plan, answers: Source, id: str | None) -> Batches:
    """The answers in batches; with ids in one, however large."""
    if id is None:
        return load_batches(answers, plan.survey, batch_rows(plan))
    table = load_answers(answers, plan.survey, id=id)
    return Batches(table.num_rows, "rows", iter([(table, table.num_rows)]))


def _drawing(
    plan: Plan,
    key: DeviceKey | None,
    groups: dict[Names, Group] | None,
    beyond: list[dict[str, Outside]],
) -> Draw:
    """What makes the reports of each message, in every release, from a table of answers.

    beyond: takes up the amounts of each table that lie beyond the edges.
    """

    def draw(answers: pa.Table, before: int, keystream: Keystream) -> list[np.ndarray]:
        try:
            people = People.of(plan.survey, answers, before)
        except AnswersError as error:
            read = InWords(f"only rows 1 to {before + answers.num_rows:,} were checked")
            more = Problem("answers", read, "correct these, and the rest is checked")
            raise AnswersError(*error.problems, more) from None
        beyond.append(outside(people))
        memory = remembering(plan, people.number, None, key)
        people = rounded(people, keystream)
        return [
            randomize_message(plan, message, some, keystream, memory)
            for some in people_of(plan, people, groups)
            for message in plan.messages
        ]

    return draw
