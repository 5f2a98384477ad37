"""Designs of randomized response: what a person does with a device, and how likely each report is.

A design is a list of steps for each true answer: with some probability, the person does something
that leads to a report. The matrix P[reported, true] is the sum over the steps, exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field, field_validator, model_validator

from incrowd.errors import Problem
from incrowd.interviews.items import ItemMatrices
from incrowd.interviews.probabilities import ExactProbability, log_up
from incrowd.survey.toml import Frozen, Mistake
from incrowd.survey.words import Wordings

Matrix = tuple[tuple[Fraction, ...], ...]  # rows: reports, columns: true answers
Chain = Sequence[dict[str, Any]]  # of keys with probabilities
Action = Literal["truth", "say", "opposite", "unrelated", "holds", "fails"]
YES_NO = 2  # answers of a question, no first
SAME, DIFFERENT = "same", "different"
NEITHER, AT_LEAST_ONE = "neither", "at least one"
AUTO = "auto"  # the kind of a design that `incrowd plan` chooses
MOST_REPEATS = 20
REPORT_TEXTS = {  # of reports that are not answers
    SAME: "devices.same",
    DIFFERENT: "devices.different",
    NEITHER: "devices.neither",
    AT_LEAST_ONE: "devices.at-least-one",
    "red": "devices.red",
    "black": "devices.black",
}


class DeviceStep(NamedTuple):
    """Something that a person does with some probability.

    action: "truth" (give the true answer), "say" (say `answer`), "opposite" (answer the opposite
    statement), "unrelated" (answer the unrelated question), "holds" or "fails" (the innocuous
    statement is true, or false).
    """

    probability: Fraction
    action: Action
    answer: str = ""


class ResponseDesign(Frozen):
    """A design of randomized response, for the interviews of one group.

    repeats: how often the person draws and answers, independently; the report is then how many of
    the answers were the second one. binary: whether it needs a yes/no question. redrawn: whether
    each repetition is a new draw. innocuous: whether it needs a statement or a question about the
    person that has nothing to do with the sensitive one. decided_by: the keys of its probabilities;
    without any of them, the design is still open. in_methods: the code of its name, with its
    source, in the methods section of a publication.
    """

    kind: str
    in_methods: ClassVar[str] = "devices.method-matrix"
    repeats: int = Field(default=1, ge=1, le=MOST_REPEATS, strict=True, exclude_if=(1).__eq__)
    binary: ClassVar[bool] = True
    redrawn: ClassVar[bool] = True
    innocuous: ClassVar[bool] = False
    decided_by: ClassVar[tuple[str, ...]] = ()

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Return what a person with this true answer does; the probabilities add up to 1."""
        raise NotImplementedError

    @classmethod
    def chains(cls, answers: Sequence[str], outcomes: int) -> Iterator[Chain]:
        """Yield all probabilities that a device realizes, as keys of a survey, in chains.

        In a chain, each design is the one before with more noise after it: its error is larger, and
        its epsilon is smaller. By default none: such a design is not chosen by a computer.
        """
        yield from ()

    @classmethod
    def by_share(cls, share: Fraction, answers: Sequence[str]) -> dict[str, Any]:
        """Return the keys of its probabilities by one share of a device's outcomes, as people
        choose it from a short list; none if one share does not decide them."""
        return {"p": share} if "p" in cls.model_fields else {}

    @classmethod
    def suits(cls, personal: bool) -> bool:
        """Return whether it is chosen where a survey leaves the design open. personal: whether the
        device is a fact about a person."""
        return False

    def drawn_reports(self, answers: Sequence[str]) -> tuple[str, ...]:
        """Return the reports of one draw: by default the answers themselves."""
        return tuple(answers)

    def reports(self, answers: Sequence[str]) -> tuple[str, ...]:
        """Return the names of all reports, in the order of the matrix."""
        if self.repeats > 1:
            return tuple(map(str, range(self.repeats + 1)))
        return self.drawn_reports(answers)

    @property
    def unknown(self) -> str:
        """The name of a probability that is not known, or ""."""
        return ""

    def matrix(self, answers: Sequence[str], unknown: Fraction = Fraction()) -> Matrix:
        """Return P[reported, true], exactly. unknown: the value of the unknown probability."""
        columns = [self._column(answers, true, unknown) for true in range(len(answers))]
        if self.repeats > 1:
            columns = [_counted(column, self.repeats) for column in columns]
        return tuple(zip(*columns, strict=True))

    def _column(self, answers: Sequence[str], true: int, unknown: Fraction) -> list[Fraction]:
        """Return the probabilities of the reports of one draw, given the true answer."""
        column = [Fraction()] * len(self.drawn_reports(answers))
        for step in self.steps(answers, true):
            for report, share in self.reported(step, answers, true, unknown):
                column[report] += step.probability * share
        return column

    def reported(
        self, step: DeviceStep, answers: Sequence[str], true: int, unknown: Fraction
    ) -> Iterator[tuple[int, Fraction]]:
        """Yield the reports to which a step leads, with their probabilities."""
        if step.action == "say":
            yield self.drawn_reports(answers).index(step.answer), Fraction(1)
        else:
            yield (1 - true if step.action == "opposite" else true), Fraction(1)

    def problems(self, answers: Sequence[str]) -> Iterator[Problem]:
        """Yield why the design does not fit a question with these answers."""
        if self.binary and len(answers) != YES_NO:
            yield Problem("kind", "interviews.needs-two-answers", value=self.kind, n=len(answers))
        elif self.repeats > 1 and not self.redrawn:
            yield Problem("repeats", "interviews.not-redrawn", value=self.repeats, kind=self.kind)
        elif self.repeats > 1 and len(self.drawn_reports(answers)) != YES_NO:
            yield Problem("repeats", "interviews.repeats-of-two", value=self.repeats)
        elif not any(self._informative(answers)):
            yield Problem("kind", "interviews.tells-nothing", value=self.kind)

    def _informative(self, answers: Sequence[str]) -> Iterator[bool]:
        """Yield for each value of the unknown probability whether reports depend on each answer."""
        for theta in (Fraction(), Fraction(1)) if self.unknown else (Fraction(),):
            matrix = np.array(self.matrix(answers, theta), float)
            yield bool(np.linalg.matrix_rank(matrix) == len(answers))


def _counted(column: Sequence[Fraction], repeats: int) -> list[Fraction]:
    """Return the law of how many of some independent draws are the second report."""
    no, yes = column
    return [comb(repeats, n) * yes**n * no ** (repeats - n) for n in range(repeats + 1)]


class DirectQuestion(ResponseDesign):
    """A question that is asked openly: the report is the answer."""

    kind: Literal["direct"] = "direct"
    in_methods: ClassVar[str] = "power.asked-openly"
    binary: ClassVar[bool] = False
    redrawn: ClassVar[bool] = False

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Tell the truth."""
        return (DeviceStep(Fraction(1), "truth"),)


class WarnerDesign(ResponseDesign):
    """Warner's device: with probability p the sensitive statement, otherwise its opposite.

    References: Warner (1965).
    """

    kind: Literal["warner"] = "warner"
    in_methods: ClassVar[str] = "devices.method-warner"
    decided_by: ClassVar[tuple[str, ...]] = ("p",)
    p: ExactProbability

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Confirm or deny one of two opposite statements."""
        return DeviceStep(self.p, "truth"), DeviceStep(1 - self.p, "opposite")

    @classmethod
    def chains(cls, answers: Sequence[str], outcomes: int) -> Iterator[Chain]:
        """Yield p above one half, from 1 downwards; below, the statements change places."""
        yield _falling_p(outcomes, outcomes // 2)

    @classmethod
    def suits(cls, personal: bool) -> bool:
        """Return whether a device decides which statement is meant."""
        return not personal


class ForcedResponse(ResponseDesign):
    """Forced response: some outcomes force an answer, the others ask for the true one.

    forced: the probability with which each answer is forced, by its name; 0 if it is left out. For
    yes/no questions they may be given as `yes` and `no`.

    References: Boruch (1971); Liu and Chow (1976) for several answers.
    """

    kind: Literal["forced"] = "forced"
    in_methods: ClassVar[str] = "devices.method-forced"
    decided_by: ClassVar[tuple[str, ...]] = ("forced", "no", "yes")
    forced: dict[str, ExactProbability] = Field(min_length=1)
    binary: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _of_yes_and_no(cls, raw: Any) -> Any:
        """Accept `yes` and `no` as keys of the design itself."""
        if not isinstance(raw, Mapping) or "forced" in raw:
            return raw
        named = {name: raw[name] for name in ("no", "yes") if name in raw}
        return {key: value for key, value in raw.items() if key not in named} | {"forced": named}

    @property
    def truth(self) -> Fraction:
        """The probability of the true answer."""
        return 1 - sum(self.forced.values(), Fraction())

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Say what the device says, or the truth."""
        first, *others = [
            DeviceStep(self.forced[answer], "say", answer)
            for answer in answers
            if self.forced.get(answer)
        ] or [DeviceStep(Fraction(), "truth")]
        return (first, DeviceStep(self.truth, "truth"), *others)

    @classmethod
    def chains(cls, answers: Sequence[str], outcomes: int) -> Iterator[Chain]:
        """Yield a chain for each probability of a forced last answer: the first is forced more and
        more. More than two answers are forced equally often, up to one outcome."""
        *others, last = answers
        if len(answers) == YES_NO:
            for forced in range(outcomes):
                yield [
                    _forced_keys({others[0]: n, last: forced}, outcomes)
                    for n in range(outcomes - forced)
                ]
            return
        for truth in range(outcomes - 1, 0, -1):
            each, more = divmod(outcomes - truth, len(answers))
            counts = {name: each + (place < more) for place, name in enumerate(answers)}
            yield [_forced_keys(counts, outcomes)]

    @classmethod
    def by_share(cls, share: Fraction, answers: Sequence[str]) -> dict[str, Any]:
        """Force all answers equally often."""
        return {"forced": dict.fromkeys(answers, share)}

    @classmethod
    def suits(cls, personal: bool) -> bool:
        """Return whether a device decides who is forced."""
        return not personal

    def problems(self, answers: Sequence[str]) -> Iterator[Problem]:
        """Yield unknown answers, and probabilities that leave nothing for the truth."""
        for name in self.forced:
            if name not in answers:
                yield Problem(("forced", name), "interviews.no-answer", value=name, answers=answers)
                return
        if self.truth <= 0:
            total = str(1 - self.truth)
            yield Problem("forced", "interviews.no-truth-left", value=total)
            return
        yield from super().problems(answers)


class UnrelatedQuestion(ResponseDesign):
    """With probability p the sensitive question, otherwise an unrelated one.

    prevalence: the known share of "yes" to the unrelated question. Without it the share is
    estimated, which needs two groups with different p; `expected` is then a guess, for planning.

    References: Greenberg, Abul-Ela, Simmons, and Horvitz (1969).
    """

    kind: Literal["unrelated"] = "unrelated"
    in_methods: ClassVar[str] = "devices.method-unrelated"
    decided_by: ClassVar[tuple[str, ...]] = ("p",)
    p: ExactProbability
    prevalence: ExactProbability | None = Field(
        default=None, exclude_if=lambda share: share is None
    )
    expected: ExactProbability | None = Field(default=None, exclude_if=lambda share: share is None)
    question: Wordings | None = Field(default=None, exclude_if=lambda words: words is None)
    redrawn: ClassVar[bool] = False
    innocuous: ClassVar[bool] = True

    @property
    def unknown(self) -> str:
        """The share of "yes" to the unrelated question, unless it is known."""
        return "unrelated" if self.prevalence is None else ""

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Answer one of two questions."""
        return DeviceStep(self.p, "truth"), DeviceStep(1 - self.p, "unrelated")

    @classmethod
    def chains(cls, answers: Sequence[str], outcomes: int) -> Iterator[Chain]:
        """Yield p from 1 downwards."""
        yield _falling_p(outcomes, 0)

    @classmethod
    def by_share(cls, share: Fraction, answers: Sequence[str]) -> dict[str, Any]:
        """Ask an unrelated question to which half of the people say yes."""
        return {"p": share, "prevalence": Fraction(1, 2)}

    def reported(
        self, step: DeviceStep, answers: Sequence[str], true: int, unknown: Fraction
    ) -> Iterator[tuple[int, Fraction]]:
        """Yield the answer to the question that the person is asked."""
        if step.action != "unrelated":
            yield from super().reported(step, answers, true, unknown)
            return
        yes = unknown if self.prevalence is None else self.prevalence
        yield 0, 1 - yes
        yield 1, yes


class _Statement(ResponseDesign):
    """A design in which a person reports about two statements together, one of them innocuous.

    p: the share of people for whom the innocuous statement holds, such as a birthday in January,
    February, or March. statement: its wording.
    """

    p: ExactProbability
    statement: Wordings | None = Field(default=None, exclude_if=lambda words: words is None)
    redrawn: ClassVar[bool] = False
    innocuous: ClassVar[bool] = True

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Compare the answer with the statement."""
        return DeviceStep(self.p, "holds"), DeviceStep(1 - self.p, "fails")


class Crosswise(_Statement):
    """The crosswise model: whether the answers to two statements are the same.

    References: Yu, Tian, and Tang (2008).
    """

    kind: Literal["crosswise"] = "crosswise"
    in_methods: ClassVar[str] = "devices.method-crosswise"
    decided_by: ClassVar[tuple[str, ...]] = ("p",)

    def drawn_reports(self, answers: Sequence[str]) -> tuple[str, ...]:
        """Return "different" (one of the statements holds) and "same" (both or neither)."""
        return DIFFERENT, SAME

    @classmethod
    def chains(cls, answers: Sequence[str], outcomes: int) -> Iterator[Chain]:
        """Yield p from 0 upwards: statements that hold for few people, such as three months."""
        middle = (outcomes - 1) // 2
        yield [{"p": Fraction(n, outcomes)} for n in range(middle + 1)]

    @classmethod
    def suits(cls, personal: bool) -> bool:
        """Return whether the device is a statement about a person."""
        return personal

    def reported(
        self, step: DeviceStep, answers: Sequence[str], true: int, unknown: Fraction
    ) -> Iterator[tuple[int, Fraction]]:
        """Compare the answer with the statement."""
        yield int((step.action == "holds") == bool(true)), Fraction(1)


class Triangular(_Statement):
    """The triangular model: whether at least one of two statements holds. "Neither" reveals "no".

    References: Yu, Tian, and Tang (2008).
    """

    kind: Literal["triangular"] = "triangular"
    in_methods: ClassVar[str] = "devices.method-triangular"
    decided_by: ClassVar[tuple[str, ...]] = ("p",)

    def drawn_reports(self, answers: Sequence[str]) -> tuple[str, ...]:
        """Return "neither" and "at least one"."""
        return NEITHER, AT_LEAST_ONE

    def reported(
        self, step: DeviceStep, answers: Sequence[str], true: int, unknown: Fraction
    ) -> Iterator[tuple[int, Fraction]]:
        """Say whether one of the answers is yes."""
        yield int(step.action == "holds" or bool(true)), Fraction(1)


class KukCards(ResponseDesign):
    """Kuk's cards: the person names the color of a card from one of two packs, by the true answer.

    yes, no: the shares of red cards in the pack for people who answer yes, or no.

    References: Kuk (1990).
    """

    kind: Literal["kuk"] = "kuk"
    in_methods: ClassVar[str] = "devices.method-kuk"
    decided_by: ClassVar[tuple[str, ...]] = ("yes", "no")
    yes: ExactProbability
    no: ExactProbability

    @classmethod
    def chains(cls, answers: Sequence[str], outcomes: int) -> Iterator[Chain]:
        """Yield a chain for each share of red cards in one pack; the other has fewer and fewer."""
        for no in range(outcomes):
            yield [
                {"yes": Fraction(yes, outcomes), "no": Fraction(no, outcomes)}
                for yes in range(outcomes, no, -1)
            ]

    @classmethod
    def by_share(cls, share: Fraction, answers: Sequence[str]) -> dict[str, Any]:
        """Let the packs mirror each other."""
        return {"yes": share, "no": 1 - share}

    def drawn_reports(self, answers: Sequence[str]) -> tuple[str, ...]:
        """Return the colors."""
        return "black", "red"

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Name the color of a card."""
        red = self.yes if true else self.no
        return DeviceStep(red, "say", "red"), DeviceStep(1 - red, "say", "black")


class MangatDesign(ResponseDesign):
    """Mangat's design: who would answer yes says so; all others use Warner's device. "No" is true.

    References: Mangat (1994).
    """

    kind: Literal["mangat"] = "mangat"
    in_methods: ClassVar[str] = "devices.method-mangat"
    decided_by: ClassVar[tuple[str, ...]] = ("p",)
    p: ExactProbability

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Tell the truth if it is yes; otherwise confirm or deny one of two statements."""
        if true:
            return (DeviceStep(Fraction(1), "truth"),)
        return DeviceStep(self.p, "truth"), DeviceStep(1 - self.p, "opposite")


class MatrixDesign(ResponseDesign):
    """Any design: the probability of each report for each true answer.

    columns: for each true answer, the probabilities of all reports, which add up to 1.
    report_names: of the reports; by default the answers.
    """

    kind: Literal["matrix"] = "matrix"
    columns: dict[str, tuple[ExactProbability, ...]] = Field(min_length=2)
    report_names: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    binary: ClassVar[bool] = False

    @field_validator("columns")
    @classmethod
    def _stochastic(
        cls, columns: dict[str, tuple[Fraction, ...]]
    ) -> dict[str, tuple[Fraction, ...]]:
        for name, column in columns.items():
            if sum(column) != 1:
                raise Mistake(name, "interviews.column-sum", value=str(sum(column)))
        return columns

    def drawn_reports(self, answers: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the reports."""
        return self.report_names or tuple(answers)

    def steps(self, answers: Sequence[str], true: int) -> tuple[DeviceStep, ...]:
        """Say what the device says."""
        shares = self.columns[answers[true]]
        named = zip(self.drawn_reports(answers), shares, strict=True)
        return tuple(DeviceStep(share, "say", report) for report, share in named if share)

    def problems(self, answers: Sequence[str]) -> Iterator[Problem]:
        """Yield columns that are missing, unknown, or not as long as the reports."""
        if set(self.columns) != set(answers):
            given = list(self.columns)
            yield Problem("columns", "interviews.other-columns", value=given, answers=answers)
            return
        for name, column in self.columns.items():
            if len(column) != len(self.drawn_reports(answers)):
                n = len(self.drawn_reports(answers))
                yield Problem(("columns", name), "interviews.column-length", value=len(column), n=n)
                return
        yield from super().problems(answers)


DESIGNS: dict[str, type[ResponseDesign]] = {
    "direct": DirectQuestion,
    "warner": WarnerDesign,
    "forced": ForcedResponse,
    "unrelated": UnrelatedQuestion,
    "crosswise": Crosswise,
    "triangular": Triangular,
    "kuk": KukCards,
    "mangat": MangatDesign,
    "matrix": MatrixDesign,
}


def _forced_keys(counts: Mapping[str, int], outcomes: int) -> dict[str, Any]:
    """Return the keys of a forced response, as people write them."""
    shares = {name: Fraction(n, outcomes) for name, n in counts.items()}
    return shares if set(counts) == {"no", "yes"} else {"forced": shares}


def _falling_p(outcomes: int, above: int) -> Chain:
    """Return the keys of p, from 1 to just above a number of outcomes."""
    return [{"p": Fraction(n, outcomes)} for n in range(outcomes, above, -1)]


def written_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a design as TOML and JSON have them: probabilities are text."""
    return {key: _written(value) for key, value in keys.items()}


def _written(value: Any) -> Any:
    if isinstance(value, Fraction):
        return str(value)
    return written_keys(value) if isinstance(value, Mapping) else value


def is_open(raw: Any) -> bool:
    """Return whether a table of a survey leaves the probabilities to `incrowd plan`."""
    kind = raw.get("kind") if isinstance(raw, Mapping) else None
    if not isinstance(kind, str) or kind not in DESIGNS:
        return kind == AUTO
    keys = DESIGNS[kind].decided_by
    return bool(keys) and not any(key in raw for key in keys)


def design_of(raw: Any) -> ResponseDesign:
    """Return the design in a table of a survey. Raises ValidationError or Mistake."""
    if isinstance(raw, ResponseDesign):
        return raw
    kind = raw.get("kind") if isinstance(raw, Mapping) else None
    if is_open(raw):
        raise Mistake("kind", "interviews.open-design", value=kind)
    if not isinstance(kind, str) or kind not in DESIGNS:
        if kind is None:
            raise Mistake("kind", "survey.no-type", types=list(DESIGNS))
        raise Mistake("kind", "interviews.unknown-design", value=kind, kinds=list(DESIGNS))
    return DESIGNS[kind].model_validate(raw)


# --- what a design reveals --------------------------------------------------------------------


@dataclass(frozen=True)
class ItemDesign:
    """The designs of one item, one for each group of interviews.

    answers: the true answers, in order.
    """

    answers: tuple[str, ...]
    designs: tuple[ResponseDesign, ...]

    @property
    def reports(self) -> tuple[tuple[str, ...], ...]:
        """The names of the reports in each group, in the order of the matrix."""
        return tuple(design.reports(self.answers) for design in self.designs)

    @property
    def unknown(self) -> str:
        """The name of the probability that is not known, or ""."""
        return next((design.unknown for design in self.designs if design.unknown), "")

    @property
    def matrices(self) -> ItemMatrices:
        """The probabilities of each report as arrays; 0 for reports that a group does not have."""
        base, one = self._arrays(Fraction()), self._arrays(Fraction(1))
        if not self.unknown:
            return ItemMatrices(base)
        return ItemMatrices(base, (one - base)[np.newaxis], (self.unknown,))

    def _arrays(self, theta: Fraction) -> np.ndarray:
        """Return the matrix of each group, shape (groups, reported, true)."""
        most = max(map(len, self.reports))
        arrays = np.zeros((len(self.designs), most, len(self.answers)))
        for array, design in zip(arrays, self.designs, strict=True):
            matrix = np.array(design.matrix(self.answers, theta), float)
            array[: len(matrix)] = matrix
        return arrays

    def problems(self) -> Iterator[Problem]:
        """Yield why a design does not fit the item, or the groups do not identify it."""
        problems = [
            Problem((group, *problem.path), problem.message)
            for group, design in enumerate(self.designs)
            for problem in design.problems(self.answers)
        ]
        yield from problems
        if self.unknown and not problems and not self._told_apart:
            yield Problem((0, "prevalence"), "interviews.needs-two-groups")

    @property
    def _told_apart(self) -> bool:
        """Whether the groups separate the share of an item from an unknown probability."""
        return len({design.matrix(self.answers) for design in self.designs}) > 1

    @property
    def exact(self) -> tuple[Matrix, ...]:
        """The matrix of each group in the worst case or, where a share is unknown but expected, as
        expected; for a share that is unknown, both extremes."""
        return tuple(
            design.matrix(self.answers, theta)
            for design in self.designs
            for theta in _thetas(design)
        )

    @property
    def evidence(self) -> tuple[Fraction | None, ...]:
        """For each true answer, the largest factor by which a report raises its odds against
        another answer; None if a report can prove that another one is impossible."""
        exact = self.exact
        return tuple(
            _largest(_raised(matrix, true) for matrix in exact) for true in range(len(self.answers))
        )

    @property
    def ratio(self) -> Fraction | None:
        """The largest of `evidence`: e^epsilon, exactly; None if a report can prove something."""
        return _largest(self.evidence)

    @property
    def epsilon(self) -> float:
        """The local epsilon of one interview, rounded up; inf if a report can prove something."""
        ratio = self.ratio
        return float("inf") if ratio is None else log_up(ratio)


def _thetas(design: ResponseDesign) -> tuple[Fraction, ...]:
    """Return the values of the unknown probability for which a design is judged."""
    if not design.unknown:
        return (Fraction(),)
    expected = getattr(design, "expected", None)
    return (Fraction(), Fraction(1)) if expected is None else (expected,)


def _largest(factors: Iterable[Fraction | None]) -> Fraction | None:
    """Return the largest factor; None stands for infinity."""
    bounds = list(factors)
    finite = [bound for bound in bounds if bound is not None]
    return max(finite) if len(finite) == len(bounds) else None


def _raised(matrix: Matrix, true: int) -> Fraction | None:
    """Return the largest factor by which a report raises the odds of an answer."""
    factors: list[Fraction | None] = [Fraction(1)]
    for row in matrix:
        for other, share in enumerate(row):
            if other != true and row[true]:
                factors.append(row[true] / share if share else None)
    return _largest(factors)


def design_text(design: ItemDesign) -> str:
    """Return a design in the words of a survey file, such as "forced, no 1/6, yes 1/6"."""
    each = (", ".join([one.kind, *parameter_texts(one)]) for one in design.designs)
    return "; ".join(dict.fromkeys(each))


def parameter_texts(design: ResponseDesign) -> tuple[str, ...]:
    """Return the probabilities of a design in the words of a survey file, such as "p 1/6"."""
    facts = design.model_dump(mode="json")
    keys = [key for key in design.decided_by if key in facts]
    values = [(key, facts[key]) for key in keys if not isinstance(facts[key], Mapping)]
    values += [
        pair for key in keys if isinstance(facts[key], Mapping) for pair in facts[key].items()
    ]
    if design.repeats > 1:
        values.append(("repeats", design.repeats))
    return tuple(f"{key} {value}" for key, value in values)
