"""What a share would be if some people did not follow the rules of the device.

Proof: docs/interviews-mathematics.md#people-who-do-not-follow-the-rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import NumberText, translatable
from incrowd.errors import UsageError
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.influence import half_width
from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.promise import InterviewPromise
from incrowd.interviews.rule_breakers import asked_directly, at_random, randomized
from incrowd.interviews.shares import design_effects, likelihood, profile_interval
from incrowd.number_text import between, percent, places_of
from incrowd.views import IntervalPlot, LabeledInterval, Line, Numbers, Sheet, View

AT_RANDOM, ALWAYS, TRUTH = "at-random", "always", "truth"
RULE_BREAKERS = (0.0, 0.05, 0.1, 0.15, 0.2)
MOST = 0.95  # people who may break the rules
_BEHAVIORS = {AT_RANDOM: "honesty.behavior-at-random", TRUTH: "honesty.behavior-truth"}
_LAST = ("estimation.column-interval", "honesty.column-range")
_FIGURES = ("breakers", "estimate", "low", "high", "least", "most")


def with_breakers(matrices: ItemMatrices, share: float, reports: np.ndarray) -> ItemMatrices:
    """Return the matrices if a share of people does something else.

    reports: the probabilities of the reports of these people, shape (groups, reported, true), or
    one that can be repeated to it.
    """
    others = np.broadcast_to(reports, matrices.base.shape)
    base = (1 - share) * matrices.base + share * others
    return ItemMatrices(base, (1 - share) * matrices.unknown, matrices.names)


@dataclass(frozen=True)
class BreakerShare:
    """The share of an answer, if some people do not follow the rules.

    behavior: what these people do: "at-random", "always", or "truth". report: what they always
    report; "" otherwise. breakers: their share. estimate, low, high: the share of the answer and
    its 95% interval, if these people give it as often as all others.
    """

    behavior: str
    report: str
    answer: str
    breakers: float
    estimate: float
    low: float
    high: float

    @property
    def least(self) -> float:
        """The share if none of these people would truthfully give the answer."""
        return (1 - self.breakers) * self.estimate

    @property
    def most(self) -> float:
        """The share if all of these people would truthfully give the answer."""
        return self.least + self.breakers


@dataclass(frozen=True, eq=False)
class SensitivityCurves(views.Result):
    """Shares of a question's answers as functions of how many people break the rules, and how.

    Attributes
    ----------
    question : str
        The question.
    shares : tuple of BreakerShare
        A share for each behavior, answer, and number of people who break the rules.
    labels : mapping of str to str
        What answers and reports are called.
    people : int
        The number of interviews that were used.
    left_out : int
        The number of interviews without a report.
    guarantee : InterviewPromise or None
        What the device promises the people who answered.

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> table = pyarrow.table({"smokes": ["yes"] * 30 + ["no"] * 70})
    >>> answers = incrowd.read_answers(survey, table)
    >>> curves = interviews.sensitivity(answers, "smokes", breakers=[0])
    >>> round(curves.shares[0].estimate, 3)
    0.2
    """

    question: str
    shares: tuple[BreakerShare, ...]
    labels: dict[str, str]
    people: int
    left_out: int
    guarantee: InterviewPromise | None = None
    layout: ClassVar[str] = "pictured"

    def __repr__(self) -> str:
        return f"SensitivityCurves({self.question}, people={self.people:,})"

    def facts(self) -> dict[str, Any]:
        """Return all shares."""
        records = self.long_table()
        rows = [dict(zip(records.headings, row, strict=True)) for row in records.rows]
        return {
            "question": self.question,
            "people": self.people,
            "left_out": self.left_out,
            "guarantee": self.guarantee,
            "shares": rows,
        }

    def long_table(self) -> Sheet:
        """Return a row for each share."""
        headings = ("behavior", "report", "answer", *_FIGURES)
        rows = tuple(tuple(getattr(each, name) for name in headings) for each in self.shares)
        return Sheet("sensitivity", headings, rows, _FIGURES)

    def view(self) -> View:
        """Return a table for each behavior."""
        digits = places_of((each.high - each.low) / 4 for each in self.shares)
        tables = tuple(
            Numbers(
                self._behavior(shares[0]),
                self._headings(),
                tuple(self._line(each, digits) for each in shares),
            )
            for shares in self._curves()
        )
        notes = [translatable("honesty.sensitivity-assumes")]
        if self.left_out:
            notes.append(translatable("honesty.left-out", left_out=self.left_out))
        sizes = {"question": self.question, "people": self.people}
        title = translatable("honesty.sensitivity-title", **sizes)
        return View(title=title, tables=tables, notes=tuple(notes))

    @property
    def several(self) -> bool:
        """Whether there are shares of several answers; of a yes/no question there is one."""
        return len({each.answer for each in self.shares}) > 1

    def _headings(self) -> Line:
        codes = ["honesty.column-breakers"]
        if self.several:
            codes += ["estimation.answer-column", "presentation.share-column"]
        return (*map(translatable, codes), *self._share_of(), *map(translatable, _LAST))

    def _share_of(self) -> Line:
        """Return the heading of the shares of a single answer."""
        if self.several:
            return ()
        answer = self.labels[self.shares[0].answer]
        return (translatable("honesty.column-share-of", answer=answer),)

    def _line(self, each: BreakerShare, digits: int) -> Line:
        return (
            NumberText(f"{100 * each.breakers:.3g}"),
            *([self.labels[each.answer]] if self.several else []),
            percent(each.estimate, digits),
            between(percent(each.low, digits), percent(each.high, digits)),
            between(percent(each.least, digits), percent(each.most, digits)),
        )

    def _behavior(self, each: BreakerShare) -> str:
        if each.behavior == ALWAYS:
            return translatable("honesty.behavior-always", report=self.labels[each.report])
        return translatable(_BEHAVIORS[each.behavior])

    def _label(self, each: BreakerShare) -> str:
        breakers, answer = NumberText(f"{100 * each.breakers:.3g}"), self.labels[each.answer]
        if self.several:
            return translatable("honesty.breakers-of-answer", breakers=breakers, answer=answer)
        return translatable("honesty.breakers-of", breakers=breakers)

    def _curves(self) -> Iterator[list[BreakerShare]]:
        for key in dict.fromkeys((each.behavior, each.report) for each in self.shares):
            yield [each for each in self.shares if (each.behavior, each.report) == key]

    def plots(self) -> Sequence[IntervalPlot]:
        """Return the shares of each behavior, by the number of people who break the rules."""
        groups = [
            (
                self._behavior(shares[0]),
                [
                    LabeledInterval(
                        self._label(each),
                        each.estimate,
                        each.low,
                        each.high,
                    )
                    for each in shares
                ],
            )
            for shares in self._curves()
        ]
        title = translatable("honesty.sensitivity-plot", question=self.question)
        return (IntervalPlot(title, translatable("presentation.share-column"), groups, (0.0, 1.0)),)


def sensitivity(
    answers: InterviewAnswers,
    question: str,
    *,
    breakers: Sequence[float] = RULE_BREAKERS,
) -> SensitivityCurves:
    """Estimate shares as they would be if some people did not follow the rules of the device.

    These people answer at random, always report the same, or ignore the device and tell the truth
    (if the reports are answers). They give each true answer as often as all others; `least` and
    `most` do not assume that.

    Parameters
    ----------
    answers : InterviewAnswers
        From `incrowd.read_answers` or `InterviewAnswers.load`.
    question : str
        The id of a question.
    breakers : sequence of float
        The shares of people who break the rules, from 0 to 0.95.

    Returns
    -------
    SensitivityCurves
        The shares by maximum likelihood, with profile-likelihood intervals. Of yes/no questions,
        those of "yes".

    Raises
    ------
    UsageError
        For an unknown question, or shares out of range.

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Habits",
    ...     "device": {"kind": "die"},
    ...     "question": [{
    ...         "id": "smokes",
    ...         "type": "yesno",
    ...         "design": {"kind": "forced", "yes": "1/6", "no": "1/6"},
    ...     }],
    ... })
    >>> table = pyarrow.table({"smokes": ["yes"] * 30 + ["no"] * 70})
    >>> answers = incrowd.read_answers(survey, table)
    >>> curves = interviews.sensitivity(answers, "smokes", breakers=[0.1])
    >>> {(each.behavior, each.report): round(each.estimate, 2) for each in curves.shares}
    {('at-random', ''): 0.17, ('always', 'no'): 0.25, ('always', 'yes'): 0.08, ('truth', ''): 0.21}
    """
    for each in breakers:
        if not 0 <= each <= MOST:
            raise UsageError.of("breakers", "honesty.breakers-range", value=each, most=MOST)
    if not len(breakers):
        raise UsageError.of("breakers", "honesty.no-breakers")
    item, survey = randomized(answers.item(question)), answers.survey
    design, directly = survey.item(question).design, asked_directly(item.matrices)
    groups = zip(design.reports, directly, strict=True)
    reports = {names for names, direct in groups if not direct}
    shares = [
        share
        for behavior in _behaviors(item.matrices, design.answers, reports)
        for part in sorted(set(breakers))
        for share in _estimated(answers, item, design.answers, behavior, part)
    ]
    used = int((item.reported != MISSING).sum())
    names = dict.fromkeys((*design.answers, *chain.from_iterable(reports)))
    return SensitivityCurves(
        question=question,
        shares=tuple(shares),
        labels={name: survey.label_of(question, name) for name in names},
        people=used,
        left_out=int((~directly[item.group]).sum()) - used,
        guarantee=answers.guarantee,
    )


def _behaviors(
    matrices: ItemMatrices, answers: tuple[str, ...], reports: set[tuple[str, ...]]
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield what people may do instead, with the probabilities of their reports."""
    yield AT_RANDOM, "", at_random(matrices)
    if len(reports) == 1:
        for place, report in enumerate(next(iter(reports))):
            yield ALWAYS, report, np.eye(matrices.reports)[:, [place]]
    if reports == {answers}:
        yield TRUTH, "", np.eye(matrices.answers)


def _estimated(
    answers: InterviewAnswers,
    item: ReportedItem,
    names: tuple[str, ...],
    behavior: tuple[str, str, np.ndarray],
    breakers: float,
) -> Iterator[BreakerShare]:
    """Yield the share of each answer, for one behavior of one share of people."""
    kind, report, others = behavior
    changed = with_breakers(item.matrices, breakers, others)
    given = [ReportedItem(item.reported, item.group, changed)]
    weights, clusters = answers.weights, answers.clusters
    fit = likelihood(given, weights, clusters)
    effects = design_effects(given, weights, clusters)
    half = half_width(fit.used, clusters)
    for place in range(1 if len(names) == 2 else 0, len(names)):
        low, high = profile_interval(fit, place, effect=effects[place], half=half)
        estimate = float(fit.parameters[place])
        yield BreakerShare(kind, report, names[place], breakers, estimate, low, high)
