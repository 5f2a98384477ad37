"""Examples of reports, with the odds of the answers that they could come from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from incrowd.accountant.channels.base import Channel
from incrowd.accountant.schema import Domain
from incrowd.catalog.sentences import Sentence, joined, sentence
from incrowd.encoding.bloom import places
from incrowd.number_text import factor
from incrowd.plans import CellsMessage, Plan
from incrowd.plans.plan import written_epsilon
from incrowd.survey import AnyQuestion, takes_words
from incrowd.survey.crossings import Block, cell_answers

BETWEEN = " / "  # between the answers of one piece
SHOWN_BITS = 24  # longer records are described by their set bits
WORD = "example"  # the answer to a text question


class Example(NamedTuple):
    """The part of a joint report that is about one question, or a piece from a message of cells.

    answers: one to each question. record: the bits of the answer, or the piece that contains it.
    report: what is sent instead. log_ratio: the logarithm of the ratio of the probabilities of this
    report given the most likely and the least likely answer; infinite for a piece to whose count
    the services add noise, since it is sent as it is.
    """

    questions: tuple[str, ...]
    answers: tuple[str, ...]
    record: str | Sentence
    report: str | Sentence
    log_ratio: float

    @property
    def odds(self) -> Sentence:
        """The ratio for people."""
        if self.log_ratio == math.inf:
            return sentence("cards.as-it-is")
        most = factor(self.log_ratio)
        if most is None:
            return sentence("cards.nearly-certain")
        return sentence("cards.to-one", odds=most)

    @property
    def facts(self) -> dict[str, Any]:
        """The example as JSON-ready data."""
        texts = {"record": str(self.record), "report": str(self.report)}
        return self._asdict() | texts | {"log_ratio": written_epsilon(self.log_ratio)}


def examples(plan: Plan) -> tuple[Example, ...]:
    """Return the first answer to each question, and what may be sent instead.

    There is an example for each message of cells and for each question of a joint report; of
    questions with the same kind of records and the same noise, only for the first one, in the first
    message that contains it. The flips are pseudorandom numbers from the plan's digest with the
    plan's probabilities: they are the same every time.
    """
    seen: set[object] = set()
    shown = []
    for message in plan.messages:
        if message.cells:
            shown.append(_pieces(plan, message))
            continue
        for question in message.questions:
            channel = message.channels[question.id]
            kind = question.domains, channel
            if not seen.intersection((question.id, kind)):
                shown.append(_example(plan, question, channel))
            seen |= {question.id, kind}
    return tuple(shown)


def _example(plan: Plan, question: AnyQuestion, channel: Channel) -> Example:
    if channel.of_answers:
        return _whole_answer(plan, question, channel)
    answer, record = _record(question)
    ones = channel.matrix[1][record]  # the probability that each bit is sent as 1
    report = (_draws(plan, question.id, len(record)) < ones).astype(int)
    ends = np.cumsum([domain.bits for domain in question.domains])
    parts = zip(question.domains, np.split(report, ends[:-1]), strict=True)  # are independent
    log_ratio = sum(largest_log_ratio(domain, channel.matrix, bits) for domain, bits in parts)
    return Example((question.id,), (answer,), _shown(record), _shown(report), log_ratio)


def largest_log_ratio(domain: Domain, matrix: np.ndarray, report: np.ndarray) -> float:
    """Return max over allowed records x, x' of ln P(report | x) - ln P(report | x').

    matrix: P(report r | answer x) of a bit, shape (2, 2). report: 0 or 1, shape (bits,). Setting
    bit i of a record multiplies P by C[r_i, 1] / C[r_i, 0]; among records with the same number of
    set bits, the most likely one has the bits with the largest of these factors, and the least
    likely one those with the smallest.
    """
    falling = -np.sort(-np.log(matrix[report, 1] / matrix[report, 0]))
    sizes = slice(domain.fewest, domain.most + 1)
    likeliest = np.append(0.0, falling.cumsum())[sizes].max()
    unlikeliest = np.append(0.0, falling[::-1].cumsum())[sizes].min()
    return float(likeliest - unlikeliest)


def _pieces(plan: Plan, message: CellsMessage) -> Example:
    """Return the piece with the first answers, and one that the noise invents now and then.

    A single bit has a piece for the second answer only; a parity is for exactly one of two. If the
    services add the noise, the device invents no pieces.
    """
    block = message.crossing.blocks[0]
    single, others = block.shape == (1,), message.record_bits - 1
    answers = tuple(cell_answers(plan.survey.question(id))[int(single)] for id in block.questions)
    piece = _either(plan, block) if message.parities else _piece(answers)
    report = piece
    if message.by_services:
        return Example(block.questions, answers, piece, report, math.inf)
    noise = message.flips
    if others:
        draw = _draws(plan, BETWEEN.join(message.ids), 1)[0]
        if message.parities:
            invented = _either(plan, message.crossing.blocks[1 + int(draw * others)])
        else:
            place = np.unravel_index(1 + int(draw * (block.size - 1)), block.shape)
            parts = zip(message.questions, place, strict=True)
            invented = _piece([cell_answers(question)[at] for question, at in parts])
        number = f"{others * noise.q:.2g}"
        report = sentence("cards.with-invented", piece=piece, number=number, invented=invented)
    return Example(block.questions, answers, piece, report, noise.epsilon)


def _piece(answers: Sequence[str]) -> Sentence:
    """Return the statement that a piece of cells makes."""
    return sentence("cards.this-answer", answer=BETWEEN.join(answers))


def _either(plan: Plan, block: Block) -> Sentence:
    """Return the statement that the parity of two questions makes."""
    given = [f"{id} {cell_answers(plan.survey.question(id))[1]}" for id in block.questions]
    return sentence("cards.either", answers=joined("shared.or", given))


def _whole_answer(plan: Plan, question: AnyQuestion, channel: Channel) -> Example:
    """Return an example of a channel that sends a whole answer: the same or another one."""
    likely = channel.matrix[:, 0].cumsum()
    sent = int(np.searchsorted(likely, _draws(plan, question.id, 1)[0], side="right"))
    row, answers = channel.matrix[sent], question.answers
    log_ratio = math.log(row.max() / row.min())
    return Example((question.id,), answers[:1], answers[0], answers[sent], log_ratio)


def _record(question: AnyQuestion) -> tuple[str, np.ndarray]:
    """Return the first answer, "no" of yes and no, and its bits."""
    record = np.zeros(sum(domain.bits for domain in question.domains), int)
    if takes_words(question):
        bits = places([WORD], np.zeros(1, int), question.id, question.hashes, question.block)[0]
        record[bits + question.block * np.arange(question.hashes)] = 1
        return WORD, record
    if question.bits > 1:
        record[0] = 1
    return question.answers[0], record


def _draws(plan: Plan, id: str, number: int) -> np.ndarray:
    """Return numbers in [0, 1), 32 bits of SHA-256 each: of the digest,
    the question and a count."""
    hashed = (hashlib.sha256(f"{plan.digest} {id} {i}".encode()).digest() for i in range(number))
    return np.array([int.from_bytes(digest[:4], "big") for digest in hashed]) / 2**32


def _shown(bits: np.ndarray) -> str | Sentence:
    """Return the bits; for a long record, the number of set bits."""
    if len(bits) <= SHOWN_BITS:
        return "".join(map(str, bits.tolist()))
    return sentence("cards.set-bits", bits=len(bits), number=int(bits.sum()))
