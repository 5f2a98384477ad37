"""Amounts of people, rounded at random: once for each person, before all messages and copies."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import pyarrow as pa

from incrowd.encoding.outside import NEGATIVE, Outside
from incrowd.encoding.people import People
from incrowd.errors import IncrowdWarning
from incrowd.sampling.amounts import rounded_up
from incrowd.sampling.keystream import Keystream
from incrowd.survey import Survey, WithEdges, takes_numbers


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
