"""The statistical methods: one declaration each, and the names of their variants.

The command line, the studio, and the public names of the package follow from `METHODS`. Nothing is
loaded here but the declarations, so that options are shown without the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

Family = Literal["logistic", "linear"]
Penalty = Literal["firth"]
RegressionMethod = Literal["table", "pairs", "likelihood"]
PostprocessingMethod = Literal["simplex", "likelihood", "consistent"]
EstimationMethod = Literal["moments", "likelihood"]
SimultaneousMethod = Literal["max-t", "bonferroni"]
OutcomeErrors = Literal["observed", "robust", "cluster"]
OutcomeMethod = Literal["likelihood", "rr"]
HonestyModel = Literal["lies", "cheaters", "always-no", "anchor", "extended"]

THIS_MACHINE = "local[*]"  # for Spark: all cores

FAMILIES: tuple[Family, ...] = get_args(Family)
PENALTIES: tuple[Penalty, ...] = get_args(Penalty)
REGRESSION_METHODS: tuple[RegressionMethod, ...] = get_args(RegressionMethod)
ESTIMATION_METHODS: tuple[EstimationMethod, ...] = get_args(EstimationMethod)
POSTPROCESSING_METHODS: tuple[PostprocessingMethod, ...] = get_args(PostprocessingMethod)
SIMULTANEOUS_METHODS: tuple[SimultaneousMethod, ...] = get_args(SimultaneousMethod)
OUTCOME_ERRORS: tuple[OutcomeErrors, ...] = get_args(OutcomeErrors)
OUTCOME_METHODS: tuple[OutcomeMethod, ...] = get_args(OutcomeMethod)
HONESTY_MODELS: tuple[HonestyModel, ...] = get_args(HonestyModel)

OptionKind = Literal["question", "questions", "word", "figure", "line", "flag", "scores"]
Label = Mapping[str, str]  # language -> text


@dataclass(frozen=True)
class MethodOption:
    """An option of a method, with its value on the command line and in a form of the studio.

    name: the name of the argument of the function. kind: a question; a list of them, as a,b; a
    word, one of `choices`; a figure (a number); a line of text; a flag; or scores, the numbers of
    answers, as QUESTION=1,2,5, on the command line only. help: for the command. label: for the
    form. command: the option of the command, if it has another name. required: whether the method
    needs it.
    """

    name: str
    kind: OptionKind
    help: str
    label: Label
    choices: tuple[str, ...] = ()
    command: str = ""
    required: bool = False

    @property
    def flag(self) -> str:
        """The option of the command."""
        return f"--{(self.command or self.name).replace('_', '-')}"


@dataclass(frozen=True)
class Method:
    """A statistical method: a function(plan, reports, ...) that returns a `views.Result`.

    name: the name of the function. module: where it is, below `incrowd`. label: the heading of its
    results in the studio, and view: their address. public: whether the function is a public name.
    results: the public classes of its results, as "module:name". options: those that the method has
    alone. Of the shared ones (see `incrowd.estimation.options`), every method can merge answers and
    accept a smaller crowd; errors: it has `noise_only`; weighted: it has `margins`; answered: the
    default of `of_those_who_answered`, None if it has no such option. tallies: it also reads counts
    of reports. for_script: options that its R script needs.

    line, help: in the list of commands, and of the command, which is made from this declaration.
    command: the words of a command that is written by hand, after `incrowd`, for methods without a
    `line`. arguments: the options of that command for the arguments of the function that are not
    named; "" for a place of its own.
    """

    name: str
    module: str
    label: Label
    view: str = ""
    public: bool = True
    results: tuple[str, ...] = ()
    options: tuple[MethodOption, ...] = ()
    errors: bool = True
    weighted: bool = False
    answered: bool | None = None
    tallies: bool = False
    for_script: tuple[tuple[str, Any], ...] = ()
    line: str = ""
    help: str = ""
    command: tuple[str, ...] = ()
    arguments: str = ""

    @property
    def address(self) -> str:
        """The view of the studio that shows it."""
        return self.view or self.name

    @property
    def whose(self) -> str:
        """The flag for people other than those of the default; "" if there is no choice."""
        if self.answered is None:
            return ""
        return "of_all_people" if self.answered else "of_those_who_answered"

    @property
    def names(self) -> dict[str, str]:
        """The public names, and their modules."""
        results = [place.split(":") for place in self.results]
        function = {self.name: self.module} if self.public else {}
        return function | {name: module for module, name in results}

    def words(self, arguments: Sequence[str]) -> list[str]:
        """Return the words of the command, with the arguments that are not named."""
        return [self.arguments] * bool(self.arguments and arguments) + [*arguments]

    def load(self) -> Callable[..., Any]:
        """Load and return the function."""
        return getattr(import_module(f"incrowd.{self.module}"), self.name)  # type: ignore[no-any-return]


_ALL = (
    Method(
        "estimate",
        "estimation.estimate",
        {"en": "Tables", "de": "Tabellen"},
        view="tables",
        results=("estimation.results:Estimates", "estimation.tables:TableEstimate"),
        weighted=True,
        answered=False,
        tallies=True,
        for_script=(("covariance", True),),
    ),
    Method(
        "crosstab",
        "estimation.crosstab",
        {"en": "Crosstab", "de": "Kreuztabelle"},
        public=False,
        weighted=True,
        answered=True,
        command=("compare", "--crosstab"),
    ),
    Method(
        "compare",
        "estimation.compare",
        {"en": "Compare groups", "de": "Gruppen vergleichen"},
        results=("estimation.compare:TwoWay",),
        weighted=True,
        answered=True,
    ),
    Method(
        "correlate",
        "estimation.correlate",
        {"en": "Correlations", "de": "Korrelationen"},
        results=("estimation.correlate:Correlations",),
        options=(
            MethodOption(
                "questions",
                "questions",
                "Questions, such as a,b,c; by default all yes/no and number questions.",
                {"en": "Questions", "de": "Fragen"},
                command="among",
            ),
            MethodOption(
                "scores",
                "scores",
                "Values of the answers, as QUESTION=1,2,5; repeatable.",
                {"en": "Values of the answers", "de": "Werte der Antworten"},
            ),
        ),
        line="Correlate all pairs of questions, with standard errors.",
        help="""For two yes/no questions this is phi.

\b
Example:
  incrowd correlate plan.json reports.parquet
  incrowd correlate plan.json reports.parquet --among smoker,visits,health --scores health=1,2,3
""",
    ),
    Method(
        "regress",
        "estimation.regression.regress",
        {"en": "Regression", "de": "Regression"},
        results=("estimation.regression.results:Regression",),
        weighted=True,
        arguments="--outcome",
    ),
    Method(
        "postprocess",
        "estimation.postprocess",
        {"en": "Adjusted shares", "de": "Angepasste Anteile"},
        view="proportions",
        results=("estimation.postprocess:Postprocessed",),
        errors=False,
    ),
)
METHODS: dict[str, Method] = {method.name: method for method in _ALL}
