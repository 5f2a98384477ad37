"""What observers learn from collections as they were carried out: the exact law of what they see.

Nothing here asks the accountant. A person's records come from the real encoding of her answers; the
channels that they pass, the responses that a device repeats, and the reports that fit into an
upload are those of the real sampler. From these follows the law of what one person adds to the
collections, for all rounds together; the others' laws are added up for every crowd, and every two
answers of one person are compared, in both orders.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import combinations, combinations_with_replacement, product
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.accountant.channels.bit_flip import DENOMINATOR
from incrowd.encoding.bloom import places
from incrowd.encoding.records import EncodedAnswers, pack, set_cells
from incrowd.plans import Message, Plan
from incrowd.plans.ledger import permanent
from incrowd.plans.slots import Pools, fit, most_reports, shared
from incrowd.sampling.records import segments
from incrowd.survey import Survey, takes_words
from incrowd.survey.conditions import comparisons

Bits = tuple[int, ...]
Law = dict[tuple, float]  # of what one person sends
Counts = tuple[np.ndarray, np.ndarray]  # numbers, each for all counts together; their chances
Answer = tuple  # one for each of some questions

NOTHING: Counts = (np.zeros(1, np.int64), np.ones(1))
LARGEST = 1 << 56  # of a number for all counts that an array of integers holds
MOST_LAWS = 20_000  # laws of a crowd with one more person
MOST_COUNTS = 100_000  # different results of a law


class TooMany(Exception):
    """More than can be listed in reasonable time."""


class Round(NamedTuple):
    """A plan, carried out once.

    releases: the people in each release, by number, as often as they have rows in it; those who may
    collude are not among them. linked: whether the observer sees reports with their senders. slots:
    those of each pool of messages in an upload, if reports came over a network and did not always
    fit. pools: by default those of one shuffler.
    """

    plan: Plan
    releases: tuple[tuple[int, ...], ...]
    linked: bool = False
    slots: tuple[int, ...] | None = None
    pools: Pools | None = None

    def release(self, person: int) -> int | None:
        """The number of the release that the person is in."""
        return next((n for n, people in enumerate(self.releases) if person in people), None)


# --- one person ----------------------------------------------------------------------------------


def answers(question) -> list:
    """Every answer to a question, as a file has it; of amounts and words, enough to be all."""
    missing = [None] * question.optional
    if takes_words(question):
        return [*words(question), *missing]
    if question.rounded:
        low, high = question.edges[:2]
        return [*question.edges, (3 * low + high) / 4, *missing]
    if question.exclusive:
        return [*question.choices, *missing]
    some = (
        set
        for most in range(question.domain.most + 1)
        for set in combinations(question.choices, most)
    )
    return [list(each) for each in some] + missing


def words(question) -> list[str]:
    """Words for every way in which a word can set bits, whatever its cohort is."""
    cohorts, ways = 1 << question.cohort_bits, {}
    for number in range(100 * question.block ** (cohorts * question.hashes)):
        word = f"word {number}"
        hashed = places(
            [word] * cohorts, np.arange(cohorts), question.id, question.hashes, question.block
        )
        ways.setdefault(hashed.tobytes(), word)
        if len(ways) == question.block ** (cohorts * question.hashes):
            return list(ways.values())
    raise AssertionError("some bits are set by no word")


def deciding(survey: Survey, ids: Iterable[str]) -> set[str]:
    """Some questions, and all on whose answers it depends whether they are asked."""
    found, left = set(), [*ids]
    while left:
        found.add(id := left.pop())
        condition = survey.question(id).asked_if
        left += [each.question for each in (comparisons(condition) if condition else ())]
    return found


class Encoder:
    """The real records of every combination of answers to some questions of a survey.

    Answers to the questions that decide whether these are asked are combined with theirs. What is
    answered without being asked does not count, so that some combinations are the same.
    """

    def __init__(self, survey: Survey, ids: Sequence[str]) -> None:
        needed = deciding(survey, ids)
        self.ids = tuple(q.id for q in survey.questions if q.id in needed)
        every = list(product(*(answers(survey.question(id)) for id in self.ids)))
        rest = {q.id: answers(q)[0] for q in survey.questions if q.id not in needed}
        columns = {id: [each[i] for each in every] for i, id in enumerate(self.ids)}
        columns |= {id: [answer] * len(every) for id, answer in rest.items()}
        people = EncodedAnswers.of(survey, pa.table(columns))
        unlike = np.array([*{record_of(people, n): n for n in range(len(every))[::-1]}.values()])
        unlike.sort()
        self.every = [every[n] for n in unlike]
        self.people = people.take(unlike)

    def rounded(self, number: int) -> Iterator[tuple[float, EncodedAnswers]]:
        """The ways to round the amounts of a person, each with its chance."""
        person = self.people.take(np.array([number]))
        amounts = [id for id, each in person.encoded.items() if each.up is not None]
        for ups in product((0, 1), repeat=len(amounts)):
            chance, encoded = 1.0, dict(person.encoded)
            for id, up in zip(amounts, ups, strict=True):
                share = encoded[id].up[0] / DENOMINATOR
                chance *= share if up else 1 - share
                encoded[id] = encoded[id].drawn(np.array([up]))
            if chance:
                yield chance, person._replace(encoded=encoded)


def record_of(people: EncodedAnswers, number: int) -> tuple:
    """What is encoded of one person, to compare it with that of others."""
    encoded = people.take(np.array([number])).encoded.values()
    return tuple(
        part.tobytes() if isinstance(part, np.ndarray) and part.dtype != object else str(part)
        for each in encoded
        for part in (each.places, each.words, each.up)
    )


def records(message: Message, person: EncodedAnswers) -> Iterator[tuple[float, Bits]]:
    """The record of one person, for every cohort of her words."""
    if message.cells:
        record = np.zeros(message.record_bits, int)
        record[set_cells(message.crossing.blocks, message.questions, person.encoded, 1)[1]] = 1
        yield 1.0, tuple(record.tolist())
        return
    texts = [question for question in message.questions if takes_words(question)]
    ways = list(product(*(range(1 << question.cohort_bits) for question in texts)))
    for chosen in ways:
        cohorts = {q.id: np.array([number]) for q, number in zip(texts, chosen, strict=True)}
        packed = pack(message.questions, person.encoded, 1, cohorts)
        bits = np.unpackbits(packed, axis=1, count=message.bits, bitorder="little")[0]
        yield 1 / len(ways), tuple(bits.tolist())


def responded(law: Law, place: slice, channel) -> Law:
    """The law of bits after a channel for some of them."""
    chances = np.array(channel.numerators / channel.denominator, float)
    result: Law = {}
    for bits, chance in law.items():
        here = bits[place]
        if channel.of_answers:
            laws = [{_one(i, len(here)): p for i, p in enumerate(chances[:, here.index(1)])}]
            several = ((sent, p) for sent, p in laws[0].items())
        else:
            several = (
                (sent, math.prod(chances[o, i] for o, i in zip(sent, here, strict=True)))
                for sent in product((0, 1), repeat=len(here))
            )
        for sent, p in several:
            whole = bits[: place.start] + sent + bits[place.stop :]
            result[whole] = result.get(whole, 0.0) + chance * p
    return result


def _one(place: int, size: int) -> Bits:
    return tuple(int(place == i) for i in range(size))


def reports(message: Message, law: Law, *, fresh: bool = True) -> Law:
    """The law of one report, given that of the record; of cells, of the numbers that are sent."""
    if not message.cells:
        parts = segments(message, fresh)
        return reduce(lambda law, part: responded(law, *part), parts, law)
    if fresh and not message.by_services:
        law = responded(law, slice(0, message.record_bits), message.noise)
    return {tuple(i for i, bit in enumerate(bits) if bit): chance for bits, chance in law.items()}


def remembered(message: Message, law: Law, most: int | None) -> Law:
    """The law of what a device repeats, given that of the record."""
    if message.cells:
        drawn = responded(law, slice(0, message.record_bits), message.noise)
        fitting = {bits: p for bits, p in drawn.items() if most is None or sum(bits) <= most}
        whole = math.fsum(fitting.values())
        return {bits: p / whole for bits, p in fitting.items()}
    for question in message.questions:
        place = message.layout[question.id]
        law = responded(law, place, message.channels[question.id].permanent_stage)
    return law


def times(law: Law, number: int, message: Message) -> Law:
    """The law of several copies, as the sorted tuple of all reports."""
    if message.cells:
        return law
    result: Law = {(): 1.0}
    for _ in range(number):
        more: Law = {}
        for sent, chance in result.items():
            for report, p in law.items():
                key = tuple(sorted((*sent, report)))
                more[key] = more.get(key, 0.0) + chance * p
        result = more
    return result


# --- what depends on each other ------------------------------------------------------------------


class Part(NamedTuple):
    """One message in one round."""

    round: int
    message: int


class Unit:
    """Messages whose reports depend on each other: by their questions, the questions that decide
    whether these are asked, what devices remember, or what fits into an upload.

    Given everybody's answers, what is seen of it is independent of all other units; so are the
    answers, in the worst case. (Of a question whose responses devices remember, and one that
    depends on it and is answered anew, this is more than the worst case.)
    """

    def __init__(
        self,
        rounds: Sequence[Round],
        parts: Sequence[Part],
        target: int,
        release: int | None = None,
    ) -> None:
        """release: of noise that is drawn anew, which hides nobody elsewhere."""
        self.rounds, self.parts, self.target, self.alone = rounds, parts, target, release
        first = rounds[parts[0].round]
        ids = [
            question.id
            for question in first.plan.survey.questions
            if any(question.id in self.message(part).ids for part in parts)
        ]
        self.encoder = Encoder(first.plan.survey, ids)
        self.memoized = self.message(parts[0]).memoized
        self.places: dict[tuple, int] = {}
        self.rows = 1 if release is None else first.releases[release].count(target)
        seen = self.rows + self.others.total()
        most = max(self.message(part).copies for part in parts)
        reach = max(self.message(part).added.reach if part in self.noisy else 0 for part in parts)
        self.base = 1 + seen * most + 2 * reach

    def message(self, part: Part) -> Message:
        return self.rounds[part.round].plan.messages[part.message]

    @property
    def noisy(self) -> list[Part]:
        """The parts to whose counts noise is added, once, unless the observer can subtract it."""
        return [
            part
            for part in self.parts
            if self.message(part).by_services and not self.rounds[part.round].linked
        ]

    def noise(self) -> Counts:
        """The law of what is added to all counts, from 0 on."""
        law = NOTHING
        for part in self.noisy:
            added = self.message(part).added
            for cell in range(self.message(part).record_bits):
                item = (part, self.alone, cell)
                unit = self.base ** self.places.setdefault(item, len(self.places))
                kind = np.int64 if 2 * added.reach * unit < LARGEST else object
                numbers = np.arange(2 * added.reach + 1).astype(kind) * unit
                law = convolved(law, (numbers, added.chances))
        return law

    def where(self, person: int) -> tuple:
        """The releases that a person's reports are seen in; her own name, if they carry it."""
        numbers = sorted({part.round for part in self.parts})
        if self.alone is not None:
            return (self.alone,)
        places = ((self.rounds[n].release(person), self.rounds[n].linked) for n in numbers)
        return tuple(
            f"person {person}" if linked and release is not None else release
            for release, linked in places
        )

    @cached_property
    def others(self) -> Counter:
        """Where the reports are seen that hide hers, and of how many rows."""
        if self.alone is not None:
            first = self.rounds[self.parts[0].round]
            rows = 0 if first.linked else len(first.releases[self.alone]) - self.rows
            return Counter({(self.alone,): rows})
        people = {p for each in self.rounds for release in each.releases for p in release}
        return Counter(self.where(p) for p in people - {self.target})

    def person(self, answer: int, where: tuple) -> Counts:
        """The law of what one person adds to all counts."""
        law: Law = {}
        releases = dict(zip(sorted({part.round for part in self.parts}), where, strict=True))
        for chance, person in self.encoder.rounded(answer):
            drawn = self._memoized(person, releases) if self.memoized else self._fresh(person)
            for sent, p in drawn.items():
                law[sent] = law.get(sent, 0.0) + chance * p
        counted: dict[int, float] = {}
        for sent, chance in law.items():
            key = 0
            for part, reports in zip(self.parts, sent, strict=True):
                if releases[part.round] is None:
                    continue
                for report in reports:
                    item = (part, releases[part.round], report)
                    key += self.base ** self.places.setdefault(item, len(self.places))
            counted[key] = counted.get(key, 0.0) + chance
        kind = np.int64 if max(counted) < LARGEST else object
        return np.array(list(counted), kind), np.array(list(counted.values()))

    def _fresh(self, person: EncodedAnswers) -> Law:
        """The law of the reports of each part."""
        laws = []
        for part in self.parts:
            message = self.message(part)
            law: Law = {}
            for chance, record in records(message, person):
                for report, p in reports(message, {record: 1.0}).items():
                    law[report] = law.get(report, 0.0) + chance * p
            laws.append(times(law, message.copies, message))
        return self._fitting(_together(laws))

    def _fitting(self, law: Law) -> Law:
        """The law given that all reports fit: a device draws again until they do."""
        round = self.rounds[self.parts[0].round]
        if round.slots is None:
            return law
        messages = round.plan.messages
        fitting: Law = {}
        for sent, chance in law.items():
            numbers = [0] * len(messages)
            for part, reports in zip(self.parts, sent, strict=True):
                numbers[part.message] = len(reports)
            if fit(round.slots, numbers, round.pools or shared(messages)):
                fitting[sent] = chance
        whole = math.fsum(fitting.values())
        return {sent: chance / whole for sent, chance in fitting.items()}

    def _memoized(self, person: EncodedAnswers, releases: Mapping[int, object]) -> Law:
        """The law of the reports of each part, those of a series from the same responses."""
        series: dict[tuple, list[int]] = {}
        for place, part in enumerate(self.parts):
            names = permanent(self.rounds[part.round].plan.survey, self.message(part))
            series.setdefault(tuple(sorted(names)), []).append(place)
        laws = []
        for numbers in series.values():
            first = self.message(self.parts[numbers[0]])
            ((_, record),) = records(first, person)
            law: Law = {}
            for kept, chance in remembered(first, {record: 1.0}, self._most(numbers)).items():
                seen = []
                for place in numbers:
                    message = self.message(self.parts[place])
                    if releases[self.parts[place].round] is None:
                        seen.append({(): 1.0})
                        continue
                    again = reports(message, {kept: 1.0}, fresh=False)
                    seen.append(times(again, message.copies, message))
                for sent, p in _together(seen).items():
                    law[sent] = law.get(sent, 0.0) + chance * p
            laws.append(law)
        order = [place for numbers in series.values() for place in numbers]
        result: Law = {}
        for sent, chance in _together(laws).items():
            flat = dict(zip(order, (each for some in sent for each in some), strict=True))
            key = tuple(flat[place] for place in range(len(self.parts)))
            result[key] = result.get(key, 0.0) + chance
        return result

    def _most(self, numbers: Sequence[int]) -> int | None:
        part = self.parts[numbers[0]]
        round = self.rounds[part.round]
        if round.slots is None:
            return None
        return most_reports(round.plan.messages, round.slots, round.pools)[part.message]

    def laws(self, alike: bool = False) -> Iterator[np.ndarray]:
        """For every crowd of the others, the laws of what is seen: a row for each of her answers.

        alike: only crowds in which all others give the same answers.
        """
        every = range(len(self.encoder.every))
        own = self.where(self.target)
        person = {(a, own): self.person(a, own) for a in every}
        hers = [
            reduce(convolved, (person[a, own] for a in rows))
            for rows in combinations_with_replacement(every, self.rows)
        ]
        classes = self.others
        sizes = [math.comb(len(every) + number - 1, number) for number in classes.values()]
        if math.prod(sizes) * len(hers) > MOST_LAWS:
            raise TooMany
        for where in classes:
            person |= {(a, where): self.person(a, where) for a in every}
        noise = self.noise()
        for crowd in self._crowds(classes, alike):
            law = reduce(convolved, (person[each] for each in crowd), noise)
            rows = [convolved(law, each) for each in hers]
            keys = np.unique(np.concatenate([keys for keys, _ in rows]))
            table = np.zeros((len(rows), len(keys)))
            for row, (some, chances) in zip(table, rows, strict=True):
                row[np.searchsorted(keys, some)] = chances
            yield table

    def _crowds(self, classes: Mapping[tuple, int], alike: bool) -> Iterator[tuple]:
        every = range(len(self.encoder.every))
        if alike:
            for a in every:
                yield tuple((a, where) for where, number in classes.items() for _ in range(number))
            return
        each = [
            [tuple((a, where) for a in some) for some in combinations_with_replacement(every, n)]
            for where, n in classes.items()
        ]
        for chosen in product(*each):
            yield tuple(pair for some in chosen for pair in some)


def _together(laws: Sequence[Law]) -> Law:
    """The law of independent things, one after the other."""
    return {
        tuple(thing for thing, _ in chosen): math.prod(chance for _, chance in chosen)
        for chosen in product(*(law.items() for law in laws))
    }


def convolved(one: Counts, other: Counts) -> Counts:
    """The law of a sum of counts."""
    if len(one[0]) * len(other[0]) > MOST_COUNTS:
        raise TooMany
    sums, place = np.unique(np.add.outer(one[0], other[0]).ravel(), return_inverse=True)
    return sums, np.bincount(place, np.multiply.outer(one[1], other[1]).ravel())


def units(rounds: Sequence[Round], target: int) -> list[Unit]:
    """What a person's reports are seen in, as independent units."""
    result = []
    for number, each in enumerate(rounds):
        if each.release(target) is None:
            continue
        fresh = [
            Part(number, m) for m, message in enumerate(each.plan.messages) if not message.memoized
        ]
        sharing = [fresh] if each.slots and fresh else _sharing(rounds, fresh)
        mine = [n for n, release in enumerate(each.releases) if target in release]
        result += [Unit(rounds, parts, target, n) for parts in sharing for n in mine]
    remembered = [
        Part(number, m)
        for number, each in enumerate(rounds)
        for m, message in enumerate(each.plan.messages)
        if message.memoized
    ]
    return result + [Unit(rounds, parts, target) for parts in _sharing(rounds, remembered)]


def _sharing(rounds: Sequence[Round], parts: Sequence[Part]) -> list[list[Part]]:
    """The parts, those that share a question of one survey together, or one that decides."""
    groups: list[tuple[set, list[Part]]] = []
    for part in parts:
        plan = rounds[part.round].plan
        ids = deciding(plan.survey, plan.messages[part.message].ids)
        asked = {(plan.survey.name, id) for id in ids}
        together = [group for group in groups if group[0] & asked]
        groups = [group for group in groups if not group[0] & asked]
        names = asked.union(*(names for names, _ in together))
        groups.append((names, sorted([*(p for _, some in together for p in some), part])))
    return [some for _, some in groups]


# --- two answers ---------------------------------------------------------------------------------

SLOPES = np.exp(np.linspace(-4.0, 4.0, 33))  # where curves are compared
Pair = tuple[np.ndarray, np.ndarray]  # the law of what is seen under either answer


class Sight:
    """All that is seen of one person, for every crowd and every two of her answers."""

    def __init__(self, rounds: Sequence[Round], target: int = 0, *, alike: bool = False) -> None:
        whole = units(rounds, target)
        self.laws = list(whole[0].laws(alike)) if len(whole) == 1 else None
        self.pairs = None if len(whole) == 1 else _products([unit.laws(alike) for unit in whole])

    def delta(self, epsilon: float) -> float:
        """The largest hockey-stick divergence."""
        factor = math.exp(min(epsilon, 700.0))
        if self.pairs is not None:
            return max((excess(p, q, factor) for p, q in self.pairs), default=0.0)
        return max(
            float(np.maximum(row - factor * table, 0.0).sum(axis=1).max())
            for table in self.laws
            for row in table
        )


def excess(p: np.ndarray, q: np.ndarray, factor: float) -> float:
    return float(np.maximum(p - factor * q, 0.0).sum())


def _products(several: Sequence[Iterator[np.ndarray]]) -> list[Pair]:
    """All pairs of laws of independent units together."""
    found: list[Pair] = [(np.ones(1), np.ones(1))]
    for tables in several:
        largest = _largest(tables)
        if found and largest and len(found[0][0]) * len(largest[0][0]) > 100 * MOST_COUNTS:
            raise TooMany
        found = [
            merged(np.multiply.outer(p, r).ravel(), np.multiply.outer(q, s).ravel())
            for p, q in found
            for r, s in largest or [(np.ones(1), np.ones(1))]
        ]
    return found


def _largest(tables: Iterator[np.ndarray]) -> list[Pair]:
    """The pairs whose curve of delta is not below that of another one.

    Where one curve is above another at every slope, so are its products. Curves are compared at
    many slopes, not at all: at worst the result is too small, so that no promise is called wrong
    that is right.
    """
    curves: dict[bytes, tuple[np.ndarray, Pair]] = {}
    for table in tables:
        for row in table:
            above = np.maximum(row[None, None] - SLOPES[:, None, None] * table[None], 0.0).sum(2)
            for other, curve in zip(table, above.T, strict=True):
                if other is not row and np.abs(other - row).sum() > 0:
                    curves.setdefault(np.round(curve, 12).tobytes(), (curve, (row, other)))
    kept: list[tuple[np.ndarray, Pair]] = []
    for curve, pair in sorted(curves.values(), key=lambda each: -each[0].sum()):
        if not any((above >= curve - 1e-13).all() for above, _ in kept):
            kept.append((curve, pair))
    return [merged(*pair) for _, pair in kept]


def merged(p: np.ndarray, q: np.ndarray) -> Pair:
    """Results with the same ratio of chances made one, which keeps every delta."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.round(p / (p + q), 12)
    _, place = np.unique(ratios, return_inverse=True)
    return np.bincount(place, p), np.bincount(place, q)
