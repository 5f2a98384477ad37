"""How many people do not follow the rules of a device, and what the others' answers are.

Proof: docs/interviews-mathematics.md#people-who-do-not-follow-the-rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from incrowd import views
from incrowd.catalog.sentences import likely, translatable
from incrowd.errors import UsageError
from incrowd.interviews.answers import InterviewAnswers
from incrowd.interviews.honesty_models import (
    ALWAYS_NO,
    CARRIERS,
    CHEATERS,
    HONEST_NO,
    HONEST_YES,
    HonestyFit,
    ModeledItem,
    always_no,
    anchored,
    cheaters,
    everyone_follows,
    lies,
)
from incrowd.interviews.items import MISSING, ReportedItem
from incrowd.interviews.promise import InterviewPromise
from incrowd.interviews.report_fit import FitTest
from incrowd.interviews.rule_breakers import ATTENTION, HONESTY, YES, asked_directly
from incrowd.methods import HonestyModel
from incrowd.number_text import between, percent, places_of
from incrowd.views import IntervalPlot, LabeledInterval, Line, Numbers, Sheet, Square, View

YES_NO = ("no", "yes")
FIT_LEVEL = 0.05  # below this, a model is said not to fit
MOST_QUESTIONS = 8  # 2^8 patterns of reports
_COLUMNS = ("presentation.share-column", "estimation.error-column", "estimation.column-interval")
_FIGURES = ("estimate", "standard_error", "low", "high")
_LABELS = {
    HONESTY: "honesty.honesty",
    HONEST_YES: "honesty.honest-yes",
    HONEST_NO: "honesty.honest-no",
    CHEATERS: "honesty.cheaters",
    ATTENTION: "honesty.attention",
    ALWAYS_NO: "honesty.always-no",
}
_TABLES = {
    "model": "honesty.table-model",
    "uncorrected": "honesty.table-uncorrected",
    "direct": "honesty.table-direct",
}


@dataclass(frozen=True)
class HonestyShare:
    """A share that a model estimates.

    name: what it is a share of, such as "carriers" or "cheaters". question: whose carriers they
    are; "" for a share of several questions. low, high: the 95% interval. standard_error: nan for
    an estimate at an end of its range.
    """

    name: str
    question: str
    estimate: float
    standard_error: float
    low: float
    high: float

    @property
    def label(self) -> str:
        """What it is a share of, for people."""
        if self.name == CARRIERS:
            return translatable("honesty.carriers", question=self.question)
        return translatable(_LABELS[self.name])

    @property
    def at_end(self) -> bool:
        """Whether the estimate is at an end of its range."""
        return math.isnan(self.standard_error)

    def line(self, digits: int) -> Line:
        """Return the share as people read it."""
        error = "-" if self.at_end else percent(self.standard_error, digits)
        ends = between(percent(self.low, digits), percent(self.high, digits))
        return self.label, percent(self.estimate, digits), error, ends


@dataclass(frozen=True, eq=False)
class HonestyEstimates(views.Result):
    """The shares of a model of people who do not follow the rules of a device.

    Attributes
    ----------
    questions : tuple of str
        The questions.
    model : str
        "lies", "cheaters", "always-no", "anchor", or "extended".
    shares : tuple of HonestyShare
        The shares of the model.
    uncorrected : tuple of HonestyShare
        The share of carriers of each question, if everyone follows the rules.
    direct : tuple of HonestyShare
        The share of "yes" among people who were asked directly, if there are such people.
    covariance : ndarray
        Of the shares of the model, shape (shares, shares).
    test : FitTest
        A test that the model fits.
    log_likelihood : float
        Its maximum.
    people : int
        The number of interviews that were used.
    left_out : int
        The number of interviews without a report that the model needs.
    anchor : str
        The question whose true answer is known; "" without one.
    guarantee : InterviewPromise or None
        What the device promises the people who answered.

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Taxes",
    ...     "device": {"kind": "spinner", "sectors": 100},
    ...     "columns": {"group": "card"},
    ...     "groups": {"codes": ["a", "b"]},
    ...     "question": [{
    ...         "id": "evades",
    ...         "type": "yesno",
    ...         "designs": [
    ...             {"kind": "forced", "yes": "1/4"}, {"kind": "forced", "yes": "3/4"}
    ...         ],
    ...     }],
    ... })
    >>> answers = incrowd.read_answers(survey, pyarrow.table({
    ...     "evades": ["yes"] * 33 + ["no"] * 67 + ["yes"] * 55 + ["no"] * 45,
    ...     "card": ["a"] * 100 + ["b"] * 100,
    ... }))
    >>> found = interviews.honesty(answers, "evades", model="cheaters")
    >>> {share.name: round(share.estimate, 3) for share in found.shares}
    {'honest-yes': 0.22, 'honest-no': 0.44, 'cheaters': 0.34}
    """

    questions: tuple[str, ...]
    model: str
    shares: tuple[HonestyShare, ...]
    uncorrected: tuple[HonestyShare, ...]
    direct: tuple[HonestyShare, ...]
    covariance: np.ndarray
    test: FitTest
    log_likelihood: float
    people: int
    left_out: int
    anchor: str = ""
    guarantee: InterviewPromise | None = None
    layout: ClassVar[str] = "pictured"

    def __repr__(self) -> str:
        names = ", ".join(self.questions)
        return f"HonestyEstimates({names}, model={self.model!r}, people={self.people:,})"

    def share(self, name: str) -> HonestyShare:
        """Return a share by its name.

        Parameters
        ----------
        name : str
            Such as "carriers" or "cheaters".

        Raises
        ------
        UsageError
            If the model has no such share.
        """
        names = [each.name for each in self.shares]
        if name not in names:
            raise UsageError.of(
                "name", "honesty.no-such-share", value=name, hint=likely(name, names), names=names
            )
        return self.shares[names.index(name)]

    def facts(self) -> dict[str, Any]:
        """Return all shares, their covariance, and the test of fit."""
        return {
            "questions": self.questions,
            "model": self.model,
            "anchor": self.anchor or None,
            "people": self.people,
            "left_out": self.left_out,
            "shares": self.shares,
            "uncorrected": self.uncorrected,
            "direct": self.direct,
            "covariance": self.covariance,
            "log_likelihood": self.log_likelihood,
            "guarantee": self.guarantee,
            "test": {
                "kind": self.test.kind,
                "statistic": self.test.statistic,
                "degrees": self.test.degrees,
                "p_value": self.test.p_value,
            },
        }

    def _kinds(self) -> dict[str, tuple[HonestyShare, ...]]:
        kinds = {"model": self.shares, "uncorrected": self.uncorrected, "direct": self.direct}
        return {kind: shares for kind, shares in kinds.items() if shares}

    def long_table(self) -> Sheet:
        """Return a row for each share."""
        rows = [
            (kind, each.name, each.question, *(getattr(each, name) for name in _FIGURES))
            for kind, shares in self._kinds().items()
            for each in shares
        ]
        return Sheet("shares", ("kind", "name", "question", *_FIGURES), tuple(rows), _FIGURES)

    def squares(self) -> Sequence[Square]:
        """Return the covariance of the shares of the model."""
        labels = tuple(
            f"{each.name} {each.question}" if len(self.questions) > 1 else each.name
            for each in self.shares
        )
        return (Square("covariance", labels, self.covariance),)

    @property
    def in_r(self) -> str:
        """Lines of R that use the figures."""
        return """
            V <- incrowd$matrices$covariance
            sqrt(diag(V))                             # standard errors
            """

    def view(self) -> View:
        """Return the shares of the model, beside those if everyone follows the rules."""
        names = ", ".join(self.questions)
        title = translatable("honesty.title", questions=names, people=self.people)
        errors = [share.standard_error for share in (*self.shares, *self.uncorrected)]
        digits = places_of(each for each in errors if math.isfinite(each))
        tables = [
            Numbers(
                translatable(_TABLES[kind]),
                tuple(map(translatable, ("honesty.column-of", *_COLUMNS))),
                tuple(share.line(digits) for share in shares),
            )
            for kind, shares in self._kinds().items()
        ]
        return View(title=title, tables=tuple(tables), notes=tuple(self._notes()))

    def _notes(self) -> Iterator[str]:
        yield translatable(MODELS[self.model].assumes)
        if self.model == "cheaters":
            yes, cheating = (self.share(name).estimate for name in (HONEST_YES, CHEATERS))
            digits = places_of([self.share(HONEST_YES).standard_error])
            low, high = percent(yes, digits), percent(yes + cheating, digits)
            yield translatable("honesty.range-of-carriers", range=between(low, high))
        if self.test.degrees:
            fits = "honesty.fits" if self.test.p_value >= FIT_LEVEL else "honesty.does-not-fit"
            yield translatable(
                fits,
                statistic=f"{self.test.statistic:.2f}",
                degrees=self.test.degrees,
                p=_p_text(self.test.p_value),
            )
        else:
            yield translatable("honesty.no-test")
        at_end = [share.label for share in self.shares if share.at_end]
        if at_end:
            yield translatable("honesty.at-end", shares=at_end)
        if self.left_out:
            yield translatable("honesty.left-out", left_out=self.left_out)

    def plots(self) -> Sequence[IntervalPlot]:
        """Return all shares with their intervals."""
        groups = [
            (
                translatable(_TABLES[kind]),
                [
                    LabeledInterval(each.label, each.estimate, each.low, each.high)
                    for each in shares
                ],
            )
            for kind, shares in self._kinds().items()
        ]
        title, across = translatable("honesty.plot"), translatable("presentation.share-column")
        return (IntervalPlot(title, across, groups, (0.0, 1.0)),)


def _p_text(value: float) -> str:
    """Return a p-value with the sign before it."""
    return f"= {value:.4f}" if value >= 0.00005 else "< 0.0001"


def honesty(
    answers: InterviewAnswers,
    questions: str | Sequence[str],
    *,
    model: HonestyModel,
    anchor: str | None = None,
) -> HonestyEstimates:
    """Estimate shares if some people do not follow the rules of the device.

    Parameters
    ----------
    answers : InterviewAnswers
        From `incrowd.read_answers` or `InterviewAnswers.load`.
    questions : str or sequence of str
        A yes/no question; several of them for the model "always-no".
    model : {"lies", "cheaters", "always-no", "anchor", "extended"}
        "lies": carriers say "yes" with one probability, whatever the device says; all others follow
        it. "cheaters": some people say "no" whatever the device says. "always-no": some people say
        "no" to all of the questions. "anchor": some people answer at random, and a question whose
        true answer is known shows how many. "extended": everyone follows the rules, with a test of
        that.
    anchor : str, optional
        For the model "anchor", a question with the key `truth`.

    Returns
    -------
    HonestyEstimates
        The shares by maximum likelihood, with errors that include weights and clusters, and
        profile-likelihood intervals; those of "always-no" are symmetric.

    Raises
    ------
    UsageError
        If the model does not fit the question, or the interviews cannot determine its shares.

    References
    ----------
    Moshagen, Musch, and Erdfelder (2012), Behavior Research Methods 44 ("lies"). Clark and
    Desharnais (1998), Psychological Methods 3 ("cheaters"). Cruyff, van den Hout, van der Heijden,
    and Böckenholt (2007), Sociological Methods & Research 36 ("always-no"). Atsusaka and Stevenson
    (2023), Political Analysis 31 ("anchor"). Heck, Hoffmann, and Moshagen (2018), Behavior Research
    Methods 50 ("extended").

    Examples
    --------
    >>> import incrowd, pyarrow
    >>> from incrowd import interviews
    >>> survey = incrowd.InterviewSurvey.of({
    ...     "name": "Walking",
    ...     "device": {"kind": "birthday"},
    ...     "columns": {"group": "half"},
    ...     "groups": {"codes": ["1", "2"]},
    ...     "question": [{
    ...         "id": "jaywalks",
    ...         "type": "yesno",
    ...         "designs": [
    ...             {"kind": "crosswise", "p": "0.25", "statement": "born in spring"},
    ...             {"kind": "crosswise", "p": "0.75", "statement": "not born in spring"},
    ...         ],
    ...     }],
    ... })
    >>> answers = incrowd.read_answers(survey, pyarrow.table({
    ...     "jaywalks": ["same"] * 65 + ["different"] * 35 + ["same"] * 40 + ["different"] * 60,
    ...     "half": ["1"] * 100 + ["2"] * 100,
    ... }))
    >>> found = interviews.honesty(answers, "jaywalks", model="extended")
    >>> found.test.degrees
    1
    """
    ids = (questions,) if isinstance(questions, str) else tuple(questions)
    chosen = _chosen(model)
    _check_number(model, chosen, ids)
    if (anchor is None) == chosen.anchored:
        code = "honesty.anchor-missing" if chosen.anchored else "honesty.anchor-unused"
        raise UsageError.of("anchor", code, value=anchor, model=model)
    for id in ids:
        _check_question(answers, id, model, chosen)
    items = [answers.item(id) for id in ids]
    weights, clusters = answers.weights, answers.clusters
    if chosen.anchored and anchor is not None:
        truth = _truth(answers, anchor)
        modeled = anchored(items[0], answers.item(anchor), truth, weights, clusters)
        fit = _fitted(modeled, chosen, model)
    elif chosen.make is None:
        fit = always_no(items, weights, clusters)
    else:
        fit = _fitted(chosen.make(items[0], weights, clusters), chosen, model)
    followed = [everyone_follows(each, weights, clusters).fit() for each in items]
    uncorrected = zip(followed, ids, strict=True)
    return HonestyEstimates(
        questions=ids,
        model=model,
        shares=tuple(_shares(fit, ids)),
        uncorrected=tuple(_share(each, 0, CARRIERS, id) for each, id in uncorrected),
        direct=tuple(_directly(items, ids, weights, clusters)),
        covariance=fit.covariance,
        test=fit.test,
        log_likelihood=fit.log_likelihood,
        people=int(fit.used.sum()),
        left_out=_left_out(items, fit),
        anchor=anchor or "",
        guarantee=answers.guarantee,
    )


class _Model(NamedTuple):
    """What a model needs.

    assumes: the code of its assumption. make: the model of one item; None for others. needs: the
    code of what interviews need that do not determine its shares, if there are such interviews.
    answers_as_reports: whether reports must be yes and no. anchored: whether it needs an anchor.
    """

    assumes: str
    make: Callable[[ReportedItem, Any, Any], ModeledItem] | None = None
    needs: str = ""
    answers_as_reports: bool = True
    anchored: bool = False


MODELS: Mapping[str, _Model] = {
    "lies": _Model("honesty.assumes-lies", lies, "honesty.needs-lies"),
    "cheaters": _Model("honesty.assumes-cheaters", cheaters, "honesty.needs-cheaters"),
    "always-no": _Model("honesty.assumes-always-no"),
    "anchor": _Model(
        "honesty.assumes-anchor",
        needs="honesty.needs-anchor",
        answers_as_reports=False,
        anchored=True,
    ),
    "extended": _Model("honesty.assumes-extended", everyone_follows, answers_as_reports=False),
}


def _chosen(model: str) -> _Model:
    if model not in MODELS:
        names = list(MODELS)
        raise UsageError.of(
            "model", "honesty.no-such-model", value=model, hint=likely(model, names), models=names
        )
    return MODELS[model]


def _check_number(model: str, chosen: _Model, ids: Sequence[str]) -> None:
    """Raise UsageError for too many or too few questions."""
    several = chosen.make is None and not chosen.anchored
    if len(set(ids)) != len(ids) or (len(ids) < 2 if several else len(ids) != 1):
        code = "honesty.several-questions" if several else "honesty.one-question"
        raise UsageError.of("questions", code, value=", ".join(ids), model=model)
    if several and len(ids) > MOST_QUESTIONS:
        value = len(ids)
        raise UsageError.of("questions", "honesty.many-questions", value=value, most=MOST_QUESTIONS)


def _check_question(answers: InterviewAnswers, id: str, model: str, chosen: _Model) -> None:
    """Raise UsageError if a model cannot be used for a question."""
    design = answers.survey.item(id).design
    reports = {names for names in design.reports}
    fits = not chosen.answers_as_reports or reports == {YES_NO}
    if design.answers != YES_NO or not fits or any(len(names) != len(YES_NO) for names in reports):
        code = "honesty.reports-yes-no" if chosen.answers_as_reports else "honesty.two-reports"
        raise UsageError.of("questions", code, value=id, model=model)
    if design.unknown and (chosen.make is None or chosen.anchored):
        raise UsageError.of("questions", "honesty.unknown-prevalence", value=id, model=model)


def _truth(answers: InterviewAnswers, anchor: str) -> int:
    """Return everybody's true answer to an anchor."""
    item = answers.survey.item(anchor)
    if item.truth is None:
        raise UsageError.of("anchor", "honesty.no-truth", value=anchor)
    if item.design.unknown:
        raise UsageError.of("anchor", "honesty.unknown-prevalence", value=anchor, model="anchor")
    return int(item.design.answers.index(item.truth))


def _fitted(modeled: ModeledItem, chosen: _Model, model: str) -> HonestyFit:
    if chosen.needs and not modeled.identified:
        raise UsageError.of("model", chosen.needs, value=model)
    return modeled.fit()


def _share(fit: HonestyFit, place: int, name: str, question: str) -> HonestyShare:
    low, high = map(float, fit.intervals[place])
    error = float(fit.standard_errors[place])
    return HonestyShare(name, question, float(fit.values[place]), error, low, high)


def _shares(fit: HonestyFit, ids: Sequence[str]) -> Iterator[HonestyShare]:
    """Yield the shares of a model."""
    for place, name in enumerate(fit.names):
        if fit.names[0] == ALWAYS_NO and place:
            yield _share(fit, place, CARRIERS, ids[place - 1])
        else:
            yield _share(fit, place, name, ids[0] if len(ids) == 1 else "")


def _directly(
    items: Sequence[ReportedItem],
    ids: Sequence[str],
    weights: np.ndarray | None,
    clusters: np.ndarray | None,
) -> Iterator[HonestyShare]:
    """Yield the share of "yes" among people who were asked directly, question by question."""
    for item, id in zip(items, ids, strict=True):
        asked = asked_directly(item.matrices)[item.group]
        reported = np.where(asked, item.reported, MISSING)
        if len(set(reported.tolist()) - {MISSING}) == len(YES_NO):
            only = ReportedItem(reported, item.group, item.matrices)
            shares = ModeledItem(only, {CARRIERS: YES}, weights, clusters, len(reported))
            yield _share(shares.fit(), 0, CARRIERS, id)


def _left_out(items: Sequence[ReportedItem], fit: HonestyFit) -> int:
    """Return the number of interviews that were not asked directly, and are not used."""
    directly = [asked_directly(item.matrices)[item.group] for item in items]
    return int((~np.any(directly, axis=0) & ~fit.used).sum())
