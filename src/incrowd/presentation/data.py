"""Estimates as plain data: JSON for programs, one long table for spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from incrowd.accountant.channels.base import Channel
from incrowd.guarantees.parties import against
from incrowd.plans import Guarantee, Message
from incrowd.presentation.amounts import amount_facts, amounts_of
from incrowd.presentation.receipts import marked, marked_table, receipt_facts, releases_facts
from incrowd.presentation.sentences import Organizations, against_sentence, guarantee_sentence
from incrowd.presentation.shown import (
    Cell,
    Shown,
    WordRow,
    as_read,
    changes,
    complete,
    of_stratum,
    word_rows,
)
from incrowd.survey import Randomizer, Survey

if TYPE_CHECKING:
    import pyarrow as pa

    from incrowd.estimation.results import Estimates, StratumEstimates
    from incrowd.estimation.words import WordEstimates

JOINT = " | "
EVERYBODY = "all"  # the name of all strata together


def as_json(estimates: Estimates) -> dict[str, Any]:
    """The estimates as JSON-ready data.

    estimate, standard_error, low, high and truth are raw proportions of the people: neither
    clipped nor projected. noise is the flip probability of a bit. If there is one message, noise
    and copies are repeated outside of `messages`. truth is present only if it is available.
    """
    messages = [
        message_facts(message)
        | {"reports": came.accepted, "rejected": came.rejected, "people": came.people}
        for message, came in zip(estimates.plan.messages, estimates.arrived, strict=True)
    ]
    facts = {
        "reports": estimates.reports,
        "rejected": estimates.rejected,
        "crowd": estimates.crowd,
        "persons": estimates.persons,
        "plan": estimates.plan.digest,
        **of_the_only(messages, "noise", "copies"),
        "messages": messages,
        "guarantee": guarantee_facts(estimates.guarantee),
        "tables": [
            _table_json(estimates, estimates.plan.survey, number, item)
            for number, item in enumerate(complete(estimates))
        ],
        "words": [_words_json(id, words) for id, words in estimates.words.items()],
        **not_made_facts(estimates),
    }
    if estimates.strata:
        facts["people"] = estimates.people
        facts["strata"] = [_stratum_json(estimates, stratum) for stratum in estimates.strata]
        facts["not_released"] = list(estimates.left_out)
    if estimates.releases:
        facts["releases"] = releases_facts(estimates.releases)
    if estimates.received:
        facts["receipts"] = list(map(receipt_facts, estimates.received))
    return marked(facts, estimates.seed)


def of_the_only(messages: Sequence[Mapping[str, Any]], *names: str) -> dict[str, Any]:
    """Facts to repeat outside of `messages` if there is only one message."""
    return {name: messages[0][name] for name in names} if len(messages) == 1 else {}


def guarantee_facts(
    guarantee: Guarantee, organizations: Organizations | None = None
) -> dict[str, Any]:
    """A guarantee as JSON-ready data, with its sentence and the limit that holds against each
    party.

    promise_holds: whether it is the plan's own; if not, `reduced_by` has the reasons. against:
    afterwards; against_if_planned: with two mixers, if parties deviated from the protocol from the
    start. organizations: that run the services, if the bundle is known.
    """
    afterwards, planned = (
        {party: limit._asdict() for party, limit in limits.items()} for limits in against(guarantee)
    )
    facts = guarantee.model_dump(mode="json") | {
        "promise_holds": not guarantee.reduced_by,
        "reduced_by": list(guarantee.reduced_by),
        "sentence": guarantee_sentence(guarantee),
        "against": afterwards,
    }
    if planned:
        facts["against_if_planned"] = planned
    if organizations:
        facts["organizations"] = dict(organizations)
        facts["who_could_cheat"] = against_sentence(guarantee, organizations)
    return facts


def message_facts(message: Message) -> dict[str, Any]:
    """A message as JSON-ready data."""
    noise, channels = message.noise, message.channels
    return {
        "questions": list(message.ids),
        "bits": message.bits,
        "noise": None if noise is None else noise.q,
        "noise_numerator": message.noise_numerator,
        "copies": message.copies,
        "cells": message.cells,
        "parities": message.parities,
        "randomizers": {
            question.id: _device_facts(question.randomizer, channels[question.id])
            for question in message.questions
            if question.randomizer
        },
    }


def _device_facts(randomizer: Randomizer, channel: Channel) -> dict[str, Any]:
    """A randomizer with the local epsilon of one report and, if responses are permanent, of all.

    The epsilons are of one bit, or of the answer if a channel sends whole answers.
    """
    facts = randomizer.model_dump() | {"epsilon_of_one_report": channel.epsilon}
    every = channel.permanent_epsilon
    return facts if every is None else facts | {"epsilon_of_all_reports": every}


def _stratum_json(estimates: Estimates, stratum: StratumEstimates) -> dict[str, Any]:
    """A stratum, or several released as one; shares are proportions of its people."""
    survey, tables = estimates.plan.survey, enumerate(of_stratum(estimates, stratum))
    return {
        "strata": list(stratum.names),
        "people": stratum.people,
        "tables": [_table_json(stratum, survey, n, item) for n, item in tables],
        "words": [_words_json(id, words) for id, words in stratum.words.items()],
        **not_made_facts(stratum),
    }


def not_made_facts(estimates: Estimates | StratumEstimates) -> dict[str, Any]:
    """Tables that could not be weighted, with the reasons; empty if all could be."""
    missing = [{"questions": list(t.questions), "reason": t.reason} for t in estimates.not_made]
    return {"not_made": missing} if missing else {}


def _table_json(
    estimates: Estimates | StratumEstimates, survey: Survey, number: int, item: Shown
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "questions": list(item.table.questions),
        "errors": item.table.errors,
        "level": item.table.level,
        "people": int(item.table.people),
        "as_good_as": item.table.effective_sample_size,
        "influence_of_a_malicious_sender": item.table.influence,
        "cells": [_cell_json(cell) for cell in item.cells],
        **changes(item.table),
    }
    if item.table.error_ratio is not None:
        facts["error_ratio"] = item.table.error_ratio
    read = as_read(item, survey).table
    if read.questions != item.table.questions:
        facts["text"] = list(read.questions)
    if read.answers != item.table.answers:
        facts["labels"] = list(map(list, read.answers))
    facts |= amount_facts(amounts_of(item.table.questions, estimates.amounts))
    intervals = estimates.simultaneous[number] if estimates.simultaneous else None
    if intervals is not None:
        facts["simultaneous"] = {
            "method": intervals.method,
            "multiplier": intervals.multiplier,
            "low": intervals.low.ravel().tolist(),
            "high": intervals.high.ravel().tolist(),
        }
    if item.table.covariance is not None:
        facts["covariance"] = item.table.covariance.tolist()
    return facts


def _words_json(id: str, words: WordEstimates) -> dict[str, Any]:
    return {
        "question": id,
        "family_error": words.family_error,
        "others": words.others,
        "others_error": words.others_error,
        "errors": words.errors,
        "share_statement": words.share_statement,
        "words": [row._asdict() for row in word_rows(words)],
        **changes(words),
    }


def _cell_json(cell: Cell) -> dict[str, Any]:
    values = {**cell._asdict(), "answer": list(cell.answer)}
    return {name: value for name, value in values.items() if value is not None}


def as_table(estimates: Estimates) -> pa.Table:
    """The estimates as one long Arrow table, a row for each cell of each table.

    Columns: questions and answer (the ids and the answers, joined by " | "), estimate,
    standard_error, low, high (proportions of the people), below_zero, truth if available,
    weighted_to and shares_of (those who answered) if requested, and simulation, a warning, if the
    reports are simulated. With open questions the first column is stratum: "all" for all released
    strata together, then each stratum, with proportions of its people.
    Everything else (crowd, guarantee, seed, plan) is JSON in the schema's metadata under "incrowd";
    Parquet keeps it, CSV cannot.
    """
    import pyarrow as pa  # slow to load, and a plan needs none

    rows = list(_rows(complete(estimates), estimates.words))
    if estimates.strata:
        rows = [{"stratum": EVERYBODY} | row for row in rows]
    for stratum in estimates.strata:
        stratum_rows = _rows(of_stratum(estimates, stratum), stratum.words)
        rows += [{"stratum": stratum.name} | row for row in stratum_rows]
    columns = {name: [row.get(name) for row in rows] for name in rows[0]} if rows else {}
    about = {
        name: value
        for name, value in as_json(estimates).items()
        if name not in ("tables", "words", "strata")
    }
    table = marked_table(pa.table(columns), estimates.seed)
    return table.replace_schema_metadata({"incrowd": json.dumps(about)})


def _rows(items: Iterable[Shown], words: Mapping[str, WordEstimates]) -> Iterator[dict[str, Any]]:
    for item in items:
        for cell in item.cells:
            row = _row(JOINT.join(item.table.questions), JOINT.join(cell.answer), cell)
            yield row | ({} if cell.truth is None else {"truth": cell.truth}) | changes(item.table)
    for id, estimates in words.items():
        yield from (_row(id, row.word, row) | changes(estimates) for row in word_rows(estimates))


def _row(questions: str, answer: str, row: Cell | WordRow) -> dict[str, Any]:
    figures = {name: getattr(row, name) for name in ("estimate", "standard_error", "low", "high")}
    return {"questions": questions, "answer": answer} | figures | {"below_zero": row.estimate < 0}
