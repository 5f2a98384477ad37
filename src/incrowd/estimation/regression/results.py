"""Coefficients with errors, or why there are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy

from incrowd import views
from incrowd.catalog.sentences import NumberText, text_list, translatable
from incrowd.estimation.intervals import LEVEL, POWER, detectable_size
from incrowd.estimation.ratios import Unbounded
from incrowd.estimation.regression.model import Model
from incrowd.estimation.tables import FIGURES
from incrowd.estimation.weighting.margins import weights_facts, weights_words
from incrowd.methods import Family, Penalty, RegressionMethod
from incrowd.number_text import between, times
from incrowd.plans import Guarantee, Plan
from incrowd.plans.plan import in_other_words
from incrowd.survey import Survey
from incrowd.survey.question import MERGED
from incrowd.views import Numbers, Sheet, Square, View, with_and

MOST = 700.0  # of which e^x is still a number


@dataclass(frozen=True)
class Coefficient:
    """One coefficient with its standard error and interval.

    In a logistic model on the scale of log odds, in a linear one in units of the outcome. low or
    high is infinite where the reports set no limit; then standard_error says nothing. p_value: of
    the hypothesis that the coefficient is zero, by the test that the interval belongs to; None if
    it cannot be computed. design_effect: the variance, divided by that with the same number of
    people without noise and weights if the model is right; None if it is not known.
    """

    term: str
    estimate: float
    standard_error: float
    low: float
    high: float
    p_value: float | None = None
    design_effect: float | None = None

    @property
    def bounded(self) -> bool:
        """Whether the interval has both ends."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def unbounded(self) -> Unbounded:
        """The sides on which the interval has no end, in the words of comparisons."""
        above, below = math.isinf(self.high), math.isinf(self.low)
        return "everywhere" if above and below else "above" if above else "below" if below else "no"


@dataclass(frozen=True)
class GroupSize:
    """The people who gave one answer to a predictor.

    people: their estimated number. effective: how many people, asked without noise, would give the
    mean of the outcome among them with the same standard error; None if it is not known.
    """

    term: str
    people: float
    effective: float | None


@dataclass(frozen=True)
class Odds:
    """An odds ratio with its interval; an end is 0 or infinite where there is no limit."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class ModelFit:
    """Coefficients, or the reason why there are none.

    covariance: the covariance of the coefficients. separated: the levels, with their questions, of
    a group that may have no one with the outcome, or no one without it, or so few that normal
    intervals do not hold. refusal: the chance that reports like these do not determine the
    coefficients, None if unknown; risk: mostly because of which people.
    """

    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    reason: str = ""
    separated: tuple[tuple[str, str], ...] = ()
    refusal: float | None = None
    risk: str = ""
    groups: tuple[GroupSize, ...] = ()

    @property
    def near(self) -> str:
        """The reason why existing coefficients cannot be relied on; "" if they can."""
        if not self.separated:
            return ""
        return translatable("estimation.near-separation", who=self.risk)


@dataclass(frozen=True)
class EvenForecast:
    """A forecast if answers whose shares are not stated are equally common.

    refusal: the chance that reports will not determine the coefficients. largest_error: the largest
    error of the standard errors of the coefficients except the intercept; None if there are none.
    """

    refusal: float
    largest_error: float | None


@dataclass(frozen=True)
class Regression(views.Result):
    """A model that was fitted to reports, or a forecast of one.

    Attributes
    ----------
    family : {"logistic", "linear"}
        The kind of model.
    outcome : str
        The variable that is explained; for a logistic model, the one whose log odds are.
    people : int
        The number of people.
    coefficients : tuple of Coefficient
        The intercept first.
    covariance : array, shape (coefficients, coefficients)
        Of the coefficients.
    method : {"table", "pairs", "likelihood"}
        The first two solve unbiased estimating equations.
    references : tuple of str
        The levels with which the others are compared.
    errors : str
        Whether errors are of noise and sampling or of the noise alone.
    guarantee : Guarantee
        What holds for the people in the reports.
    plan : Plan
        The plan of the reports, with merged answers.
    outcome_level : tuple of str
        The question of the outcome and its answer, "" for the whole question.
    terms : tuple
        For each coefficient, the questions and answers to which it belongs: none for the intercept,
        the question and "" for a slope.
    scores : tuple
        What each answer to the outcome counts in a linear model; empty for an amount, which is its
        own score.
    slopes : tuple
        For predictors with one slope, by id, the score of each answer.
    penalty : {"firth"} or None
        Of the likelihood. The intervals are then those of a score test, and may be infinite on one
        side or both.
    absent : tuple of str
        Levels of open questions without a coefficient, since no released person is known to have
        them.
    merged : float
        The share of the people who were released with others on another level.
    left_out : float
        The share of the people who are not part of the model: these, and those who did not answer.
    assumption : str
        What the errors assume; "" for nothing.
    reason : str
        Why there are no coefficients.
    expected : bool
        Whether this is a forecast, before anything is collected.
    shares : mapping
        Of a forecast: the stated shares of answers. Those to other questions are equally common or
        uneven, whichever is less favorable for each figure.
    refusal : float or None
        The chance that reports like these do not determine the coefficients of a model without a
        penalty.
    risk : str
        The people because of whom this mostly happens. If they are so few that normal intervals do
        not hold, the penalty is Firth's without being requested.
    ways_out : tuple of str
        The changes of the model with which these reports support it without a penalty; of a
        forecast, the changes that make a refusal rare.
    even : EvenForecast or None
        The forecast if all answers without stated shares are equally common; None if there are no
        such answers.
    enough : int or None
        The crowd that makes a refusal rare with the same noise, if it is not rare already.
    power : float
        Of a forecast: the probability with which an effect that is called detectable is detected.
    weighted_to : tuple of str
        The names of the known margins to which the model is weighted.
    error_ratio : float or None
        The standard errors divided by those without weights, in the mean square, if both exist.
    groups : tuple of GroupSize
        The number of people in each group that a model from a table compares.
    seed : int or None
        Of a simulation; None for real reports.

    Examples
    --------
    >>> import incrowd
    >>> plan = incrowd.plan(incrowd.Survey.load("examples/health.toml"))
    >>> reports = incrowd.randomize(plan, "examples/rand_hie.csv", simulation_seed=1)
    >>> model = incrowd.regress(plan, reports, "physical_limitation", on=["self_rated_health"])
    >>> [each.term for each in model.coefficients][:2]
    ['(intercept)', 'self_rated_health=good']
    >>> model.coefficients[1].low > 0
    True
    """

    family: Family
    outcome: str
    people: int
    coefficients: tuple[Coefficient, ...]
    covariance: np.ndarray
    method: RegressionMethod
    references: tuple[str, ...]
    errors: str
    guarantee: Guarantee
    plan: Plan
    outcome_level: tuple[str, str]
    terms: tuple[tuple[tuple[str, str], ...], ...]
    scores: tuple[tuple[str, float], ...] = ()
    slopes: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    penalty: Penalty | None = None
    absent: tuple[str, ...] = ()
    merged: float = 0.0
    left_out: float = 0.0
    assumption: str = ""
    reason: str = ""
    expected: bool = False
    shares: Mapping[str, Sequence[float]] = field(default_factory=dict)
    refusal: float | None = None
    risk: str = ""
    ways_out: tuple[str, ...] = ()
    even: EvenForecast | None = None
    enough: int | None = None
    power: float = POWER
    weighted_to: tuple[str, ...] = ()
    error_ratio: float | None = None
    groups: tuple[GroupSize, ...] = ()
    seed: int | None = None

    def __repr__(self) -> str:
        fit = f"{len(self.coefficients)} coefficients" if self.estimable else "not estimable"
        simulated = views.simulated(self.seed)
        return f"Regression({self.family}, {self.outcome}, {fit}, {self.people:,}{simulated})"

    @property
    def estimable(self) -> bool:
        """Whether there are coefficients."""
        return bool(self.coefficients)

    @property
    def interval_method(self) -> Literal["wald", "score"]:
        """The test whose intervals and p-values are given."""
        return "score" if self.penalty else "wald"

    @property
    def odds_ratios(self) -> tuple[Odds, ...]:
        """The odds divided by those at the reference, for a logistic model."""
        if self.family != "logistic":
            return ()
        ends = [(each.estimate, each.low, each.high) for each in self.coefficients]
        return tuple(Odds(*map(_exp, each)) for each in ends)

    layout: ClassVar[str] = "regression"

    @property
    def in_r(self) -> str:
        """Lines of R that test the coefficients, and combine them with those of other surveys."""
        return """
            b <- setNames(incrowd$sheets$coefficients$estimate, incrowd$sheets$coefficients$term)
            V <- incrowd$matrices$covariance
            cbind(estimate = b, error = sqrt(diag(V)), z = b / sqrt(diag(V)))
            # A Wald test that all coefficients but the intercept are zero:
            k <- length(b) - 1
            pchisq(drop(b[-1] %*% solve(V[-1, -1], b[-1])), k, lower.tail = FALSE)
            # Together with other surveys, with the package mixmeta:
            # mixmeta::mixmeta(rbind(b, b_other), list(V, V_other))
            """

    def facts(self) -> dict[str, Any]:
        """Return the coefficients with odds ratios, the covariance, and how they were estimated.

        JSON has no infinity: it is null, and `unbounded` names the sides without a limit.
        """
        coefficients = [
            asdict(each)
            | {"unbounded": each.unbounded}
            | ({} if each.bounded else {"standard_error": None})
            for each in self.coefficients
        ]
        for each, odds in zip(coefficients, self.odds_ratios, strict=False):
            each["odds_ratio"] = odds
        names = ("method", "errors", "assumption", "left_out", "merged", "absent")
        return {
            "family": self.family,
            "outcome": self.outcome,
            "people": self.people,
            "coefficients": coefficients,
            "covariance": self.covariance,
            "estimable": self.estimable,
            "reason": self.reason,
            "references": self.references,
            **{name: getattr(self, name) for name in names},
            "scores": dict(self.scores),
            "slopes": {id: dict(scores) for id, scores in self.slopes},
            "merged_answers": self._merged(),
            "penalty": self.penalty,
            "interval_method": self.interval_method,
            "groups": self.groups,
            "refusal": self.refusal,
            "risk": self.risk,
            "ways_out": self.ways_out,
            "expected": self.expected,
            **(self._expectation() if self.expected else {}),
            "guarantee": self.guarantee,
            **weights_facts(self.weighted_to, self.error_ratio),
        }

    def _expectation(self) -> dict[str, Any]:
        """Return the assumptions, how often reports will not support the model, and what would
        work."""
        return {
            "shares": self.shares,
            "refusal": self.refusal,
            "ways_out": self.ways_out,
            "if_even": self.even,
            "enough": self.enough,
            "power": self.power,
        }

    def expected_facts(self) -> dict[str, Any]:
        """Return a plan's forecast of a regression as JSON-ready data: expected errors and
        assumptions."""
        sizes = zip(self.coefficients, self.detectable(), strict=True)
        every = self.facts()
        names = ("outcome", "family", "people", "references", "method", "penalty", "estimable")
        coefficients = [
            {"term": each.term, "standard_error": each.standard_error}
            | ({} if size is None else {"detectable": size})
            for each, size in sizes
        ]
        reason = {} if self.estimable else {"reason": self.reason}
        more = {"coefficients": coefficients} | self._expectation() | reason
        return {name: every[name] for name in names} | more

    def _merged(self) -> dict[str, dict[str, list[str]]]:
        """Return the merged answers, by question and by the name they are merged under."""
        ids = dict.fromkeys(id for term in self.terms for id, _ in term)
        ids |= {self.outcome_level[0]: None}
        merged = {id: self.plan.survey.question(id).merged for id in ids}
        return {
            id: {name: list(answers) for name, answers in each}
            for id, each in merged.items()
            if each
        }

    def long_table(self) -> Sheet:
        """Return a row for each coefficient."""
        names = ("term", *FIGURES, "p_value", "design_effect")
        weighted = {"weighted_to": with_and(self.weighted_to)} if self.weighted_to else {}
        records = [
            {name: getattr(each, name) for name in names}
            | ({} if each.bounded else {"standard_error": None})
            | weighted
            for each in self.coefficients
        ]
        return Sheet.of_records("coefficients", records)

    def sheets(self) -> Sequence[Sheet]:
        """Return the coefficients, for a logistic model with odds ratios."""
        if not self.estimable:
            return ()
        sheet = self.long_table()
        if not self.odds_ratios:
            return (sheet,)
        pairs = zip(sheet.rows, self.odds_ratios, strict=True)
        rows = tuple((*row, odds.ratio, odds.low, odds.high) for row, odds in pairs)
        return (Sheet(sheet.name, (*sheet.headings, "odds_ratio", "odds_low", "odds_high"), rows),)

    def squares(self) -> Sequence[Square]:
        """Return the covariance of the coefficients."""
        terms = tuple(each.term for each in self.coefficients)
        return (Square("covariance", terms, self.covariance),) if self.estimable else ()

    def worded(self, survey: Survey) -> Self:
        """Return the same model with the wording of a survey."""
        return replace(self, plan=in_other_words(self.plan, survey))

    def view(self) -> View:
        """Return the coefficients, if the model is estimable, and notes."""
        numbers = Numbers(self.title, self.headings(), tuple(self.rows()), spaces=2)
        above = [self.title] if self.expected and not self.estimable else []
        above_all = tuple(self.first_lines())
        return View(
            title=self.title,
            warnings=above_all,
            tables=(numbers,) if self.estimable else (),
            notes=(*above, *(text for text in self.notes() if text not in above_all)),
        )

    def often_refused(self) -> bool:
        """Return whether a forecast is first of all that reports will not support the model."""
        return self.expected and (self.refusal or 0.0) > OFTEN

    def first_lines(self) -> Iterator[str]:
        """State above a forecast that reports will often not support the model."""
        if self.often_refused():
            yield from self._refusals()

    @property
    def title(self) -> str:
        """The title of the table of coefficients."""
        logistic, facts = (
            self.family == "logistic",
            {"outcome": self.outcome, "people": self.people},
        )
        if self.expected:
            code = "estimation.expected-log-odds" if logistic else "estimation.expected-linear"
            return translatable(code, **facts)
        return translatable("estimation.log-odds" if logistic else "estimation.linear", **facts)

    @property
    def way(self) -> str:
        """The method of estimation, in words."""
        return PENALTIES[self.penalty] if self.penalty else WAYS[self.method]

    def headings(self) -> tuple[str, ...]:
        """Return the headings of the table of coefficients."""
        if self.expected:
            return (TERM, ERROR, translatable("estimation.detectable", effect=EFFECT[self.family]))
        odds = (EFFECT["logistic"], INTERVAL) if self.family == "logistic" else ()
        return (TERM, ESTIMATE, ERROR, INTERVAL, *odds, "p")

    def rows(self) -> list[tuple[str, ...]]:
        """Return a row for each coefficient."""
        if self.expected:
            sizes = ("" if size is None else _short(size) for size in self.detectable())
            return [
                (coefficient.term, _short(coefficient.standard_error), size)
                for coefficient, size in zip(self.coefficients, sizes, strict=True)
            ]
        odds: list[tuple[str, ...]] = [
            (times(each.ratio), odds_between(each.low, each.high)) for each in self.odds_ratios
        ]
        return [
            (
                each.term,
                coefficient_text(each.estimate),
                coefficient_text(each.standard_error) if each.bounded else "",
                _interval(each.low, each.high, -math.inf, coefficient_text),
                *ratio,
                p_text(each.p_value),
            )
            for each, ratio in zip(
                self.coefficients, odds or [()] * len(self.coefficients), strict=True
            )
        ]

    def detectable(self) -> list[float | None]:
        """Return the smallest effect of each coefficient that is detected with the stated power.

        An effect is an odds ratio or a difference of the outcome; it is detected if its 95%
        interval excludes no effect. None for the intercept, which is compared with nothing.
        """
        errors = [each.standard_error for each in self.coefficients]
        reached = [detectable_size(self.power) * error for error in errors[1:]]
        odds = self.family == "logistic"
        return [None, *(math.exp(min(size, MOST)) if odds else size for size in reached)][
            : len(errors)
        ]

    def notes(self) -> list[str]:
        """Return the notes below the table at a terminal: comparisons first, the method last."""
        if not self.estimable:
            return self.table_notes()
        method = [] if self.expected else [self.way]
        compared = [translatable("estimation.compared-with", levels=[*self.references])]
        compared = compared if self.references else []
        return [*compared, *self.table_notes(), *self.people_notes(), *method]

    def table_notes(self) -> list[str]:
        """Return the notes below a table that names the reference answers itself."""
        if not self.estimable:
            refused = translatable("estimation.not-estimable", reason=self.reason)
            return [refused, *self._refusals(), *self._assumed()]
        texts: list[str] = [translatable("estimation.standard-errors", errors=self.errors)]
        texts += filter(None, [self.assumption])
        if not self.expected:
            texts.append(INTERVALS[self.interval_method])
        if any(is_open(each.low, each.high) for each in self.coefficients) and not self.expected:
            texts.append(OPEN)
        if self.weighted_to:
            texts.append(weights_words(self.weighted_to, self.error_ratio))
        if self.expected:
            some = (self.refusal or 0.0) > SELDOM
            code = "estimation.detected-in-supporting" if some else "estimation.detected-in-all"
            share = f"{100 * self.power:.3g}%"
            explained = translatable(code, effect=EFFECT[self.family], share=share)
            return [*self._refusals(), *texts, *self._scores(), *self._assumed(), explained]
        return [*self._instead(), *texts, *self._scores(), *self._left_out()]

    def _instead(self) -> Iterator[str]:
        """Explain a penalty that nobody requested, and list models that need none."""
        if not (self.penalty and self.risk):
            return
        yield translatable(
            "estimation.close-to-separation",
            who=self.risk,
            surveys=_of_surveys(self.refusal or 0.0),
            closer=CLOSER,
        )
        if self.ways_out:
            ways = text_list(self.ways_out, "estimation.or-else")
            yield translatable("estimation.works-without-penalty", ways=ways)

    def people_notes(self, names: Mapping[str, str] | None = None) -> Iterator[str]:
        """List the people in each group, and how many would be as precise without noise.

        names: those of groups to show, by the term.
        """
        if self.expected:
            return
        sizes = [
            translatable(
                "estimation.group-size",
                name=(names or {}).get(each.term, each.term),
                people=max(each.people, 0),
                effective=each.effective,
            )
            for each in self.groups
            if each.effective is not None
        ]
        effects = [
            each.design_effect for each in self.coefficients if each.design_effect is not None
        ]
        if sizes:
            weighted = bool(self.weighted_to)
            code = "estimation.weighted-groups" if weighted else "estimation.groups"
            yield translatable(code, groups=sizes)
        if effects:
            low, high = (_short(end(effects)) for end in (min, max))
            ends = low if low == high else between(low, high)
            yield translatable("estimation.design-effects", ends=ends)

    def _refusals(self) -> Iterator[str]:
        """State how often reports will not support the model, and what would work."""
        if not self.expected or self.refusal is None or self.refusal <= SELDOM:
            return
        surveys = _of_surveys(self.refusal)
        parts: list[str] = [translatable("estimation.not-supported", surveys=surveys)]
        if self.risk:
            parts[0] = translatable("estimation.not-supported-for", surveys=surveys, who=self.risk)
            parts.append(translatable("estimation.in-the-others", closer=CLOSER))
        if not self.penalty:
            parts.append(translatable("estimation.firth-instead"))
        yield text_list(parts)
        ways: list[str] = [*self.ways_out]
        if self.enough:
            ways.append(translatable("estimation.people-with-this-noise", people=self.enough))
        if ways:
            listed = text_list(ways, "estimation.or-else")
            yield translatable("estimation.would-work", ways=listed)

    def _scores(self) -> Iterator[str]:
        """List the scores of answers that are not numbers, and the answers that are merged."""
        for id, scored in self.slopes:
            yield translatable("estimation.slope-counts", question=id, scores=_scored(scored))
        for id in dict.fromkeys(id for term in self.terms for id, _ in term):
            for name, answers in self.plan.survey.question(id).merged:
                if name != MERGED.join(answers):
                    merged = {"name": f"{id}={name}", "answers": MERGED.join(answers)}
                    yield translatable("estimation.is-merged", **merged)
        if not self.scores:
            return
        question = self.plan.survey.question(self.outcome_level[0])
        scores = tuple(score for _, score in self.scores)
        middles = question.of_numbers and not question.rounded and scores == question.values
        code = "estimation.middles-count" if middles else "estimation.answers-count"
        yield translatable(code, question=question.id, scores=_scored(self.scores))

    def _left_out(self) -> Iterator[str]:
        """Name the levels and people that the model leaves out, with the reasons."""
        if self.absent:
            yield translatable("estimation.no-coefficient", levels=[*self.absent])
        conditional = any(each.asked_if is not None for each in self.plan.survey.questions)
        silent = "estimation.not-asked-or-silent" if conditional else "estimation.silent"
        reasons = {"estimation.released-together": self.merged, silent: self.left_out - self.merged}
        for code, share in reasons.items():
            if share >= SEEN:
                yield translatable(code, share=share)

    def _assumed(self) -> list[str]:
        """State what the expected errors assume."""
        if not self.expected:
            return []
        stated: list[str] = []
        if self.shares:
            stated.append(translatable("estimation.as-stated", questions=[*self.shares]))
        independent = translatable("estimation.independent")
        if self.even is None:
            return [text_list((*stated, independent))]
        which = "estimation.others-unfavorable" if self.shares else "estimation.unfavorable"
        advice = translatable("estimation.state-shares")
        return [
            text_list((*stated, translatable(which), independent, advice)),
            _if_even(self.even),
        ]


WAYS = {
    "table": translatable("estimation.by-table"),
    "pairs": translatable("estimation.by-pairs"),
    "likelihood": translatable("estimation.by-likelihood"),
}
PENALTIES: dict[Penalty, str] = {"firth": translatable("estimation.by-firth")}
OPEN = translatable("estimation.open-intervals")
EFFECT = {
    "logistic": translatable("estimation.odds-ratio"),
    "linear": translatable("estimation.difference"),
}
TERM, ERROR = translatable("estimation.term"), translatable("estimation.error-column")
ESTIMATE = translatable("estimation.column-estimate")
INTERVAL = translatable("estimation.column-interval")
CLOSER = translatable("estimation.closer-to-even")
SELDOM = 0.05  # share of surveys not supporting a model, up to which it is not mentioned
OFTEN = 0.2  # share of surveys not supporting a model, above which that is said first
SEEN = 0.0005  # the smallest share of people that rounds to a tenth of a percent
LEAST_P = 0.0005  # rounds to 0.001
INTERVALS = {
    "wald": translatable("estimation.wald-intervals"),
    "score": translatable("estimation.score-intervals"),
}


def _scored(scores: Iterable[tuple[str, float]]) -> list[str]:
    """Return answers with the numbers that they count, as texts."""
    return [
        translatable("estimation.score-of", answer=answer, score=score) for answer, score in scores
    ]


def _short(value: float) -> NumberText:
    return NumberText(f"{value:.3g}")


def p_text(p: float | None) -> str:
    """Return a p-value with three decimals, or "<0.001"; "" if there is none."""
    if p is None:
        return ""
    return NumberText("<0.001" if p < LEAST_P else f"{p:.3f}")


def coefficient_text(value: float) -> str:
    """Return a coefficient or its error with three decimals, or with one if it is large."""
    return NumberText(f"{value:.3f}" if abs(value) < 1000 else f"{value:,.1f}")


def odds_between(low: float, high: float) -> str:
    """Return an interval of odds ratios; its lower end may be 0 and its upper end infinite."""
    return _interval(low, high, 0.0, times)


def _interval(low: float, high: float, least: float, text: Callable[[float], str]) -> str:
    """Return "1.4 to 3.3"; "above 1.4", "below 3.3" or "anything" where an end is open."""
    if high == math.inf:
        anything = translatable("estimation.anything")
        return anything if low <= least else translatable("estimation.above", end=text(low))
    if low <= least:
        return translatable("estimation.below", end=text(high))
    return between(text(low), text(high))


def is_open(low: float, high: float) -> bool:
    """Return whether the interval of a coefficient lacks an end."""
    return math.isinf(low) or math.isinf(high)


def _of_surveys(chance: float) -> str:
    """Return how many surveys, in words; never all of them, as some others are described."""
    if chance >= 0.995:
        return translatable("estimation.nearly-all-surveys")
    return translatable("estimation.some-surveys", share=chance)


def _if_even(even: EvenForecast) -> str:
    """State the favorable case."""
    error = even.largest_error
    if error is None:
        return translatable("estimation.if-even-nothing", share=even.refusal)
    return translatable("estimation.if-even", error=error, share=even.refusal)


def _exp(value: float) -> float:
    return math.exp(value) if value < MOST or math.isinf(value) else math.exp(MOST)


def coefficients(
    names: list[str], beta: np.ndarray, covariance: np.ndarray, degrees: float = math.inf
) -> tuple[Coefficient, ...]:
    """Return coefficients with 95% intervals, and the p-values of Wald's test.

    degrees: of freedom of the t distribution, which is normal for infinitely many.
    """
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    ratios, normal = -np.abs(beta) / np.maximum(errors, 1e-300), math.isinf(degrees)
    level, special = (1 + LEVEL) / 2, scipy.special
    reach = float(special.ndtri(level) if normal else special.stdtrit(degrees, level)) * errors
    tails = special.ndtr(ratios) if normal else special.stdtr(degrees, ratios)
    columns = (beta, errors, beta - reach, beta + reach, 2 * tails)
    rows = np.column_stack(columns).tolist()
    return tuple(Coefficient(name, *row) for name, row in zip(names, rows, strict=True))


def of_fit(plan: Plan, model: Model, fit: ModelFit) -> Callable[..., Regression]:
    """Return a regression with the fields of its model and fit; the caller adds the others."""
    return partial(
        Regression,
        plan=plan,
        family=model.family,
        outcome=model.explained,
        outcome_level=model.outcome_level,
        references=model.references,
        terms=model.term_levels,
        scores=model.shown_scores,
        slopes=model.slopes,
        penalty=model.penalty,
        absent=model.absent,
        coefficients=fit.coefficients,
        covariance=fit.covariance,
        reason=fit.reason,
        refusal=fit.refusal,
        risk=fit.risk,
        groups=fit.groups,
    )
