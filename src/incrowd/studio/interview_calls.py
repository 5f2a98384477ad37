"""One analysis of interviews, as a person chose it: the call, a command, and lines of Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

import incrowd.interviews
from incrowd.catalog.sentences import ENGLISH
from incrowd.errors import UsageError
from incrowd.interviews.answers import InterviewAnswers
from incrowd.studio.language import Phrase, phrase
from incrowd.studio.projects import INTERVIEWS

InputKind = Literal[
    "question",
    "questions",
    "column",
    "columns",
    "both",
    "word",
    "figure",
    "formula",
    "open formula",
]
MODEL = ("outcome", "on", "formula")  # of a formula: chosen, or typed as a whole
_PLAIN = re.compile(r"[^\W\d]\w*")  # a column that needs no backticks in a formula


class AnalysisInput(NamedTuple):
    """An input of an analysis. name: of the argument of the function. kind: a question, or several;
    an open column, or several; both of them; a word, one of `words`; a number; or a formula, of a
    question on open columns, or of an open column on both.
    required: whether there is no analysis without it; such inputs have no option of the command,
    except for a column."""

    name: str
    kind: InputKind
    label: Phrase
    words: tuple[tuple[str, Phrase], ...] = ()
    required: bool = False

    @property
    def has_option(self) -> bool:
        """Whether it is an option of the command."""
        return not self.required or self.kind in ("column", "word")


class InterviewAnalysis(NamedTuple):
    """An analysis of interviews. function: in `incrowd.interviews`. label: a heading. about: what
    it shows."""

    function: str
    label: Phrase
    about: Phrase
    inputs: tuple[AnalysisInput, ...]


METHOD = AnalysisInput(
    "method",
    "word",
    phrase("Estimator"),
    (
        ("moments", phrase("unbiased; shares can be below 0 or above 100%")),
        ("likelihood", phrase("maximum likelihood; shares are possible")),
    ),
)
THRESHOLD = AnalysisInput("threshold", "figure", phrase("Divide numbers at"))
ERRORS = AnalysisInput(
    "errors",
    "word",
    phrase("Standard errors"),
    (
        ("observed", phrase("observed information")),
        ("expected", phrase("expected information")),
        ("robust", phrase("robust (sandwich)")),
        ("cluster", phrase("clustered")),
    ),
)

ERRORS_OF_OUTCOME = ERRORS._replace(
    words=tuple(pair for pair in ERRORS.words if pair[0] != "expected")
)

ANALYSES: Mapping[str, InterviewAnalysis] = {
    "estimate": InterviewAnalysis(
        "prevalence",
        phrase("Shares"),
        phrase("The shares of the true answers, with errors and intervals."),
        (
            AnalysisInput("of", "questions", phrase("Questions; without a choice, all of them")),
            AnalysisInput("by", "column", phrase("For each value of")),
            THRESHOLD,
            METHOD,
        ),
    ),
    "compare": InterviewAnalysis(
        "compare",
        phrase("Groups compared"),
        phrase("Differences between groups of people, and a test that there are none."),
        (
            AnalysisInput("of", "question", phrase("Question"), required=True),
            AnalysisInput("by", "column", phrase("Groups"), required=True),
            THRESHOLD,
            METHOD,
        ),
    ),
    "table": InterviewAnalysis(
        "table",
        phrase("Joint table"),
        phrase("Several questions together, or a question with an open column."),
        (
            AnalysisInput("names", "both", phrase("Two or more of these"), required=True),
            METHOD,
        ),
    ),
    "correlate": InterviewAnalysis(
        "correlate",
        phrase("Correlations"),
        phrase("Correlations of the true answers with each other, and with open numbers."),
        (AnalysisInput("names", "both", phrase("Two or more of these"), required=True),),
    ),
    "regress": InterviewAnalysis(
        "regress",
        phrase("Regression"),
        phrase("How a true answer depends on open columns."),
        (AnalysisInput("formula", "formula", phrase("Formula"), required=True), ERRORS),
    ),
    "honesty": InterviewAnalysis(
        "honesty",
        phrase("Honesty"),
        phrase("How many people do not follow the rules, and the shares without them."),
        (
            AnalysisInput("questions", "questions", phrase("Yes/no questions"), required=True),
            AnalysisInput(
                "model",
                "word",
                phrase("What people may do"),
                (
                    ("lies", phrase("people with the trait deny it (needs two groups)")),
                    ("cheaters", phrase("some always say no (needs two groups)")),
                    ("always-no", phrase("some say no to each of several questions")),
                    ("anchor", phrase("some answer at random (needs an anchor question)")),
                    ("extended", phrase("everyone follows the rules; two groups test it")),
                ),
                required=True,
            ),
            AnalysisInput("anchor", "question", phrase("Anchor question, whose answer is known")),
        ),
    ),
    "sensitivity": InterviewAnalysis(
        "sensitivity",
        phrase("Sensitivity"),
        phrase("What the shares would be if some people did not follow the rules."),
        (AnalysisInput("question", "question", phrase("Question"), required=True),),
    ),
    "outcome": InterviewAnalysis(
        "regress_outcome",
        phrase("Open outcome"),
        phrase("How something that was asked openly depends on a true answer and open columns."),
        (
            AnalysisInput("formula", "open formula", phrase("Formula"), required=True),
            ERRORS_OF_OUTCOME,
        ),
    ),
}
FORMULAS = ("formula", "open formula")
LISTS = ("questions", "columns", "both")


@dataclass(frozen=True)
class InterviewCall:
    """A call of the library: function(answers, name=value, ...). command: the name of the
    command."""

    command_name: str
    values: tuple[tuple[AnalysisInput, Any], ...]

    @property
    def function(self) -> str:
        """The name of the function."""
        return ANALYSES[self.command_name].function

    def result(self, answers: InterviewAnswers) -> Any:
        """Return the result. Raises IncrowdError as the command does."""
        function = getattr(incrowd.interviews, self.function)
        return function(answers, **{each.name: _plain(value) for each, value in self.values})

    def command(self, output: str, language: str) -> str:
        """Return the line that makes the same file. language: of its texts."""
        words = ["incrowd", "interviews", self.command_name, INTERVIEWS]
        for each, value in self.values:
            if not each.has_option:
                words += value if isinstance(value, tuple) else [str(value)]
        for each, value in self.values:
            for one in (value if isinstance(value, tuple) else (value,)) if each.has_option else ():
                words += [f"--{each.name}", f"{one:g}" if isinstance(one, float) else one]
        if language != ENGLISH:
            words += ["--language", language]
        return shlex.join([*words, "-o", output])

    def python(self) -> str:
        """Return lines of Python that make the same result."""
        arguments = "".join(f", {each.name}={_plain(value)!r}" for each, value in self.values)
        return "\n".join(
            (
                "from incrowd import interviews",
                "",
                f"answers = interviews.InterviewAnswers.load({INTERVIEWS!r})",
                f"result = interviews.{self.function}(answers{arguments})",
            )
        )


def _plain(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value


@dataclass(frozen=True)
class AnalysisChoice:
    """A person's choice, as in the address. Every text may be wrong. typed: by the names of the
    inputs; a formula may be typed, or chosen as an outcome and predictors."""

    view: str
    typed: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def analysis(self) -> InterviewAnalysis:
        """The chosen analysis."""
        return ANALYSES[self.view]

    def values(self, name: str) -> tuple[str, ...]:
        """Return what is chosen for an input."""
        return dict(self.typed).get(name, ())

    def value(self, name: str) -> str:
        """Return the one that is chosen for an input, or ""."""
        return next(iter(self.values(name)), "")

    @property
    def formula(self) -> str:
        """The formula, typed or chosen; "" if something has to be chosen first."""
        if typed := self.value("formula").strip():
            return typed
        outcome = self.value("outcome")
        predictors = [_quoted(each) for each in self.values("on") if each != outcome]
        return f"{_quoted(outcome)} ~ {' + '.join(predictors)}" if outcome and predictors else ""

    @property
    def call(self) -> InterviewCall | None:
        """The call, or None while something has to be chosen first. Raises UsageError for a text
        that is not a number."""
        values = [(each, self._argument(each)) for each in self.analysis.inputs]
        if any(each.required and value is None for each, value in values):
            return None
        return InterviewCall(self.view, tuple(pair for pair in values if pair[1] is not None))

    def _argument(self, each: AnalysisInput) -> Any:
        """Return the argument of the function; None if nothing is chosen."""
        if each.kind in FORMULAS:
            return self.formula or None
        chosen = self.values(each.name)
        if each.kind in LISTS:
            return chosen if len(chosen) > (each.kind == "both") else None
        if each.kind == "figure" and chosen:
            try:
                return float(chosen[0].replace(",", "."))
            except ValueError:
                code = "shared.not-a-number"
                raise UsageError.of(each.name, code, value=chosen[0]) from None
        return chosen[0] if chosen else None

    def query(self, **changes: Any) -> str:
        """Return the query of the address for this choice, with some changes."""
        changed = replace(self, **changes)
        return urlencode([("view", changed.view), *_flat(changed.typed)])


def _quoted(name: str) -> str:
    """Return a column as a formula names it."""
    return name if _PLAIN.fullmatch(name) else f"`{name}`"


def _flat(typed: tuple[tuple[str, tuple[str, ...]], ...]) -> Iterator[tuple[str, str]]:
    yield from ((name, value) for name, values in typed for value in values)


def analysis_of(query: QueryParams) -> AnalysisChoice:
    """Return the choice in the query of an address. Raises UsageError for an unknown view."""
    view = query.get("view") or next(iter(ANALYSES))
    if view not in ANALYSES:
        raise UsageError.of("view", "shared.use-one-of", value=view, choices=[*ANALYSES])
    names = [each.name for each in ANALYSES[view].inputs]
    names += [name for name in MODEL if "formula" in names and name not in names]
    typed = ((name, tuple(filter(None, query.getlist(name)))) for name in names)
    return AnalysisChoice(view, tuple(pair for pair in typed if pair[1]))
