"""What a plan publishes, by enumeration: the largest hockey-stick divergence there is.

Written apart from the package, from the words of docs/questions.md. It reads a plan's JSON content
and nothing else: for every crowd of N - 1 others and every ordered pair of answers of one more
person, the exact law of all collections together. Collections are multisets of reports, one for
each message and round; given everybody's answers the messages are independent, and so are their
rounds but for what a device remembers.
"""

import math
from functools import cache, lru_cache, reduce
from itertools import combinations, combinations_with_replacement, product

import numpy as np

WHOLE = 2**32


def answers(question):
    """Every answer to a question, as the report of a device without noise."""
    kind, optional = question["type"], question.get("optional", False)
    if kind == "yesno" and not optional:
        return [(0,), (1,)]
    if kind == "text":  # whatever the hashes do: any bit in any block of any cohort
        return list(product(range(question["block"]), repeat=question["cohorts"]))
    options = {"yesno": 2, "number": len(question.get("edges", ()))}.get(kind)
    options = len(question["options"]) if options is None else options
    if kind == "multi":
        some = (s for m in range(question["at_most"] + 1) for s in combinations(range(options), m))
        records = [tuple(int(i in s) for i in range(options)) for s in some]
        return [(*r, 0) for r in records] + [(0,) * options + (1,)] if optional else records
    options += optional
    return [tuple(int(i == j) for i in range(options)) for j in range(options)]


def is_memoized(question):
    """Whether the device draws once what every round sends, or what that is made of."""
    device = question.get("randomizer") or {}
    return question.get("memoized", False) or device.get("memoized", False)


def bit_chances(question, noise):
    """P[a bit is sent as 1 | 0], P[a bit is sent as 1 | 1] of one stage, or of two."""
    device = question.get("randomizer") or {"kind": "planned"}
    kind = device["kind"]
    if kind == "planned":
        return [(noise, 1 - noise)]
    if kind == "bit flip":
        return [(device["noise"], 1 - device["noise"])]
    if kind == "warner":
        return [(1 - device["spinner"], device["spinner"])]
    if kind == "simmons":
        yes = device["unrelated"] * device.get("prevalence", 0.5)
        return [(yes, yes + 1 - device["unrelated"])]
    if kind == "bit":
        return [(device["one_if_zero"], device["one_if_one"])]
    assert kind == "rappor"
    first = (device["f"] / 2, 1 - device["f"] / 2)
    if "one_if_zero" not in device:
        return [first]
    return [first, (device["one_if_zero"], device["one_if_one"])]


def sent_bits(record, stage):
    """The law of a record's bits after one stage."""
    law = {}
    for bits in product((0, 1), repeat=len(record)):
        ones = [stage[bit] for bit in record]
        law[bits] = math.prod(c if b else 1 - c for b, c in zip(bits, ones, strict=True))
    return law


def one_report(question, record, noise):
    """The law of what one report says about a question."""
    device = question.get("randomizer") or {}
    if device.get("kind") == "k-ary":
        own, other = device["keep"], (1 - device["keep"]) / (len(record) - 1)
        return {place: own if bit else other for place, bit in enumerate(record)}
    if question["type"] == "text":
        law = {}
        for cohort, place in enumerate(record):
            block = tuple(int(place == i) for i in range(question["block"]))
            for bits, chance in sent_bits(block, bit_chances(question, noise)[0]).items():
                law[cohort, bits] = chance / question["cohorts"]
        return law
    return reduce(then, bit_chances(question, noise), {record: 1.0})


def then(law, stage):
    """The law after one more stage."""
    found = {}
    for record, chance in law.items():
        for bits, more in sent_bits(record, stage).items():
            found[bits] = found.get(bits, 0.0) + chance * more
    return found


def together(laws):
    """The law of independent things."""
    return {
        tuple(thing for thing, _ in chosen): math.prod(chance for _, chance in chosen)
        for chosen in product(*(law.items() for law in laws))
    }


def convolved(one, other):
    """The law of a sum of counts, each written as one number."""
    keys = np.add.outer(one[0], other[0]).ravel()
    found, place = np.unique(keys, return_inverse=True)
    return found, np.bincount(place, np.multiply.outer(one[1], other[1]).ravel())


def allows_several(question):
    return question["type"] == "multi" and question["at_most"] > 1


def cells_of(questions, answer):
    """The cells that an answer to some questions is in, each by what it says.

    One question with two answers has a cell for the second alone: how many gave the first follows
    from who took part.
    """
    pairs = list(zip(questions, answer, strict=True))
    others = tuple(record for question, record in pairs if not allows_several(question))
    chosen = next((record for question, record in pairs if allows_several(question)), None)
    if chosen is None:
        two = answers(questions[0]) if len(questions) == 1 else ()
        return [] if len(two) == 2 and others[0] == two[0] else [others]
    options = [(option, *others) for option, bit in enumerate(chosen) if bit]
    return options + [("any", *others)] * bool(others)


class Message:
    """One message of a plan: the law of its collection, given what everybody answered."""

    def __init__(self, plan, message, crowd):
        self.questions = [q for q in plan["survey"]["question"] if q["id"] in message["questions"]]
        self.ids = [q["id"] for q in self.questions]
        self.cells, self.copies = message["cells"], message["copies"]
        self.noise = (message["noise_numerator"] or 0) / WHOLE
        self.base = crowd * self.copies + 1
        self.rounds = plan["survey"].get("rounds", 1)
        self.law = lru_cache(maxsize=None)(self._law)
        self.person = lru_cache(maxsize=None)(self._person)
        every = product(*map(answers, self.questions))
        self.kinds = {kind: i for i, kind in enumerate(self._kinds(every))}

    def _kinds(self, every):
        if self.cells:
            return dict.fromkeys(c for answer in every for c in cells_of(self.questions, answer))
        return dict.fromkeys(report for answer in every for report in self._reports(answer))

    def _record(self, answer):
        """The bits of the cells, as the record of one question."""
        held = cells_of(self.questions, answer)
        return (tuple(int(cell in held) for cell in self.kinds),)

    def _reports(self, answer):
        if self.cells:
            law = sent_bits(self._record(answer)[0], (self.noise, 1 - self.noise))
            return {(bits,): likely for bits, likely in law.items()}
        pairs = zip(self.questions, answer, strict=True)
        return together([one_report(question, record, self.noise) for question, record in pairs])

    def size(self, crowd):
        """How many collections there can be."""
        once = math.comb(crowd * self.copies + len(self.kinds) - 1, len(self.kinds) - 1)
        return (self.of_a_round if self.cells else once) ** self.rounds

    @property
    def largest(self):
        """The largest count vectors of all rounds, written as a number."""
        return self.of_a_round**self.rounds

    @property
    def of_a_round(self):
        """The largest count vector of one round."""
        return self.base ** len(self.kinds)

    def _as_counts(self, law):
        keys = {}
        for report, chance in law.items():
            if self.cells:
                shown = [place for place, bit in enumerate(report[0]) if bit]
            else:
                shown = [self.kinds[report]]
            key = sum(self.base**place for place in shown)
            keys[key] = keys.get(key, 0.0) + chance
        return np.array(list(keys), dtype=np.int64), np.array(list(keys.values()))

    def _person(self, answer):
        """The law of what one person adds to the collections: all copies, all rounds."""
        memoized = list(map(is_memoized, self.questions))
        if not any(memoized):
            return self._repeated(self._reports(answer))
        assert all(memoized)
        stages = [bit_chances(question, self.noise) for question in self.questions]
        if self.cells:
            answer, stages = self._record(answer), [[(self.noise, 1 - self.noise)]]
        permanent = together([sent_bits(r, s[0]) for r, s in zip(answer, stages, strict=True)])
        found = {}
        for kept, chance in permanent.items():
            pairs = zip(kept, stages, strict=True)
            again = together([sent_bits(r, s[1]) if s[1:] else {r: 1.0} for r, s in pairs])
            for key, more in zip(*self._repeated(again), strict=True):
                found[int(key)] = found.get(int(key), 0.0) + chance * more
        return np.array(list(found), dtype=np.int64), np.array(list(found.values()))

    def _repeated(self, law):
        keys, chances = reduce(convolved, [self._as_counts(law)] * self.copies)
        rounds = [(keys * self.of_a_round**r, chances) for r in range(self.rounds)]
        return reduce(convolved, rounds)

    def _law(self, held):
        """The law of the collection when these answers are held, as (keys, chances)."""
        if len(held) == 1:
            keys, chances = self.person(held[0])
            return convolved((keys, chances), (np.zeros(1, np.int64), np.ones(1)))
        return convolved(self.law(held[:-1]), self.person(held[-1]))


class Published:
    """All that a plan publishes about a crowd of so many people."""

    def __init__(self, plan, crowd):
        self.plan, self.crowd = plan, crowd
        self.questions = plan["survey"]["question"]
        self.messages = [Message(plan, message, crowd) for message in plan["messages"]]
        self.records = list(product(*map(answers, self.questions)))

    @property
    def work(self):
        """About how many numbers have to be looked at; infinite if they cannot be written."""
        if any(message.largest >= 2**62 for message in self.messages):
            return math.inf
        crowds = math.comb(len(self.records) + self.crowd - 2, self.crowd - 1)
        return (
            crowds * len(self.records) ** 2 * math.prod(m.size(self.crowd) for m in self.messages)
        )

    def _of(self, message, records):
        places = [i for i, q in enumerate(self.questions) if q["id"] in message.ids]
        return tuple(sorted(tuple(record[i] for i in places) for record in records))

    def _laws(self, message, others):
        """Chances of every collection (columns), for every answer of one more person (rows)."""
        found = [message.law(self._of(message, (*others, record))) for record in self.records]
        every = np.unique(np.concatenate([keys for keys, _ in found]))
        chances = np.zeros((len(found), len(every)))
        for row, (keys, chance) in zip(chances, found, strict=True):
            row[np.searchsorted(every, keys)] = chance
        return chances

    def delta(self, epsilon):
        """The largest delta at epsilon over all crowds and ordered pairs of answers."""
        worst, factor = 0.0, math.exp(epsilon)
        for others in combinations_with_replacement(self.records, self.crowd - 1):
            laws = [self._laws(message, others) for message in self.messages]
            joint = reduce(lambda a, b: (a[:, :, None] * b[:, None]).reshape(len(a), -1), laws)
            for row in joint:
                excess = np.maximum(row - factor * joint, 0.0).sum(axis=1)
                worst = max(worst, float(excess.max()))
        return worst


@cache
def count_law(ones, people, q):
    """The law of how many of so many people send a cell that `ones` of them are in."""
    law = np.ones(1)
    for person in range(people):
        law = np.convolve(law, [q, 1 - q] if person < ones else [1 - q, q])
    return law
