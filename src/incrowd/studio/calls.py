"""One analysis, as a person chose it, and as it is written: a command, lines of Python, TOML."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams

from incrowd.catalog.sentences import ENGLISH
from incrowd.drafts.writing import quoted
from incrowd.errors import IncrowdError, UsageError
from incrowd.methods import METHODS, Method, MethodOption
from incrowd.reports.tally_files import ENDING as TALLY

FLAGS = ("of_those_who_answered", "of_all_people", "noise_only", "accept_smaller_crowd")
OPTION = "option."  # before the names of the options of a method's declaration, in the address
_TALLY = "from incrowd.reports.tally_files import load_tally"
_RECEIPTS = "from incrowd.collection.collector.receipt import receipts_of"
_MERGES = "from incrowd.survey.merging import parsed_merges"


def views() -> dict[str, Method]:
    """Return the methods by the views that show them."""
    return {method.address: method for method in METHODS.values()}


@dataclass(frozen=True)
class Call:
    """A call of the library: function(plan, reports, *questions, **options).

    The same names are the options of the command. margins: the name of a file, or "". merge: the
    answers that are treated as one, as the command takes them.
    """

    function: str
    questions: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    margins: str = ""
    merge: tuple[str, ...] = ()

    @property
    def method(self) -> Method:
        """Return the declaration of the method."""
        return METHODS[self.function]

    def command(self, plan: str, reports: str, output: str, language: str = ENGLISH) -> str:
        """Return the line that makes the same file. language: of its texts."""
        name, *more = self.method.command or (self.function,)
        words = ["incrowd", name, plan, reports, *self.method.words(self.questions), *more]
        flags = {each.name: each.flag for each in self.method.options}
        for name, value in self.options:
            words += _option(name, value, flags)
        if self.margins:
            words += ["--margins", self.margins]
        for text in self.merge:
            words += ["--merge", text]
        if language != ENGLISH:
            words += ["--language", language]
        return shlex.join([*words, "-o", output])

    def python(
        self, plan: str, reports: str, output: str, release: bool = False, language: str = ENGLISH
    ) -> str:
        """Return lines of Python that make the same result, and its file if the library writes it.

        release: whether the reports came over a network, with receipts. language: of the file.
        """
        arguments = ["plan", "reports", *map(repr, self.questions)]
        arguments += [f"{name}={_literal(value)}" for name, value in self.options]
        if self.margins:
            arguments.append(f"margins=incrowd.load_margins({self.margins!r})")
        if self.merge:
            arguments.append(f"merge=parsed_merges(plan.survey.questions, {list(self.merge)!r})")
        if release:
            arguments.append(f"received=receipts_of(plan, [{reports!r}])")
        load = "load_tally" if reports.endswith(TALLY) else "incrowd.load_reports"
        public, function = self.method.public, self.function
        lines = [
            "import incrowd",
            *([] if public else [f"from incrowd.{self.method.module} import {function}"]),
            *([_TALLY] if load == "load_tally" else []),
            *([_RECEIPTS] if release else []),
            *([_MERGES] if self.merge else []),
            "",
            f"plan = incrowd.Plan.load({plan!r})",
            f"reports = {load}({reports!r})",
            f"result = {'incrowd.' * public}{function}({', '.join(arguments)})",
        ]
        if self.function == "estimate":
            spoken = "" if language == ENGLISH else f", language={language!r}"
            lines.append(f"incrowd.save_estimates(result, {output!r}{spoken})")
        return "\n".join(lines)

    def toml(self) -> str:
        """Return lines of a survey file that ask for what this call needs."""
        options = dict(self.options)
        if self.function == "regress":
            lines = ["[[regression]]", f"outcome = {quoted(self.questions[0])}"]
            lines += [f"on = {_list(options['on'])}"] if "on" in options else []
            lines += [
                f"{name} = {quoted(options[name])}"
                for name in ("family", "penalty")
                if name in options
            ]
            return "\n".join(lines)
        ids = [*self.questions]
        for each in self.method.options:
            if each.name in options and each.kind in ("question", "questions"):
                value = options[each.name]
                ids += [value] if each.kind == "question" else value
        tables = options.get("tables") or ([ids] if ids else [])
        return "\n\n".join(f"[[table]]\nquestions = {_list(each)}" for each in tables)


def _option(name: str, value: Any, flags: Mapping[str, str]) -> list[str]:
    """Return an option of the library as one of the command. flags: options with other names."""
    if name == "tables":
        return [word for ids in value for word in ("--table", ",".join(ids))]
    if name == "reference" and not isinstance(value, str):
        return [word for pair in value for word in ("--reference", "=".join(pair))]
    option = flags.get(name, f"--{name.replace('_', '-')}")
    if value is True:
        return [option]
    if value is False:
        return ["--of-all-people"]
    return [option, ",".join(value) if isinstance(value, tuple) else str(value)]


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value)


def _list(ids: Any) -> str:
    return f"[{', '.join(map(quoted, ids))}]"


@dataclass(frozen=True)
class CallChoice:
    """A person's choice, as in the address. Every text may be wrong.

    source: the name of the reports. tables: each as ids with commas between them. others: another
    table, as typed. questions: the two of a crosstab or a comparison, or those to correlate.
    outcome, on, formula, family, penalty: those of a regression; if a formula is typed, only it
    counts. method: the method of proportions. merge: answers to merge, one line for each group.
    flags: those that are set. typed: the values of the options of a method that has no form of its
    own, by name.
    """

    view: str = "tables"
    source: str = ""
    tables: tuple[str, ...] = ()
    others: str = ""
    first: str = ""
    second: str = ""
    reference: str = ""
    among: tuple[str, ...] = ()
    outcome: str = ""
    on: tuple[str, ...] = ()
    formula: str = ""
    family: str = ""
    penalty: str = ""
    method: str = ""
    margins: str = ""
    merge: str = ""
    flags: tuple[str, ...] = ()
    typed: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def chosen(self) -> Method:
        """Return the chosen method."""
        return views()[self.view]

    @property
    def wanted(self) -> tuple[tuple[str, ...], ...]:
        """The chosen tables; empty for all that the survey requests."""
        typed = [*self.tables, *self.others.split(";")]
        split = (tuple(id.strip() for id in text.split(",")) for text in typed if text.strip())
        return tuple(dict.fromkeys(split))

    @property
    def merges(self) -> tuple[str, ...]:
        """The answers to merge, as the command takes them."""
        return tuple(line.strip() for line in self.merge.splitlines() if line.strip())

    @property
    def call(self) -> Call | None:
        """The call, or None while something has to be chosen first.

        Raises UsageError for choices that do not go together.
        """
        method = self.chosen
        arguments = _FORMS.get(self.view, _declared)(self)
        if arguments is None:
            return None
        shared = ["noise_only"] * method.errors + ["accept_smaller_crowd"]
        flags = [(flag, True) for flag in self.flags if flag in shared]
        whose = [("of_those_who_answered", not method.answered)] * (method.whose in self.flags)
        options = (*arguments.options, *whose, *flags)
        margins = self.margins if method.weighted else ""
        return Call(method.name, arguments.questions, options, margins, self.merges)

    @property
    def model(self) -> tuple[str, tuple[str, ...]]:
        """The outcome and the predictors, chosen or typed as `outcome ~ a + b`.

        Raises UsageError for a formula without an outcome or predictors.
        """
        if not self.formula.strip():
            return self.outcome, tuple(id for id in self.on if id != self.outcome)
        outcome, _, right = self.formula.partition("~")
        on = tuple(part.strip() for part in right.split("+"))
        if not outcome.strip() or not all(on):
            raise UsageError.of("formula", "studio.not-a-formula", value=self.formula.strip())
        return outcome.strip(), on

    @property
    def formula_text(self) -> str:
        """The model as a formula; as typed if it is wrong."""
        try:
            outcome, on = self.model
        except IncrowdError:
            return self.formula
        return f"{outcome} ~ {' + '.join(on)}" if outcome and on else ""

    def query(self, **changes: Any) -> str:
        """Return the query of the address for this choice, with some changes."""
        from urllib.parse import urlencode

        return urlencode(list(_pairs(replace(self, **changes))), doseq=True)


class _Arguments(NamedTuple):
    """The arguments of a method that are its own. questions: those that are not named."""

    questions: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


def _of_tables(choice: CallChoice) -> _Arguments:
    return _Arguments((), (("tables", choice.wanted),) if choice.wanted else ())


def _of_proportions(choice: CallChoice) -> _Arguments:
    method = ("method", choice.method or "likelihood")
    return _Arguments((), (*_of_tables(choice).options, method))


def _of_pair(choice: CallChoice) -> _Arguments | None:
    if not (choice.first and choice.second):
        return None
    reference = choice.reference if choice.view == "compare" else ""
    options = (("reference", reference),) if reference else ()
    return _Arguments((choice.first, choice.second), options)


def _of_correlations(choice: CallChoice) -> _Arguments:
    return _Arguments((), (("questions", choice.among),) if choice.among else ())


def _of_regression(choice: CallChoice) -> _Arguments | None:
    outcome, on = choice.model
    if not (outcome and on):
        return None
    options = {"on": on, "family": choice.family, "penalty": choice.penalty}
    return _Arguments((outcome,), tuple((name, each) for name, each in options.items() if each))


def _declared(choice: CallChoice) -> _Arguments | None:
    """Return the arguments of a method with the form of its declaration."""
    typed, options = dict(choice.typed), []
    for option in choice.chosen.options:
        values = typed.get(option.name, ())
        if option.required and not values:
            return None
        if values:
            options.append((option.name, _value(option, values)))
    return _Arguments((), tuple(options))


def _value(option: MethodOption, values: tuple[str, ...]) -> Any:
    """Return the argument of the function. Raises UsageError for a text that is not a number."""
    if option.kind == "questions":
        return values
    if option.kind == "flag":
        return True
    if option.kind != "figure":
        return values[0]
    try:
        return float(values[0])
    except ValueError:
        raise UsageError.of(option.name, "shared.not-a-number", value=values[0]) from None


# The methods with a form of their own in the studio, by view.
_FORMS: Mapping[str, Callable[[CallChoice], _Arguments | None]] = {
    "tables": _of_tables,
    "proportions": _of_proportions,
    "crosstab": _of_pair,
    "compare": _of_pair,
    "correlate": _of_correlations,
    "regress": _of_regression,
}


_TEXTS = (
    *("source", "others", "first", "second", "reference", "outcome", "formula", "family"),
    *("penalty", "method", "margins", "merge"),
)
_LISTS = ("tables", "among", "on")


def _pairs(choice: CallChoice) -> Iterator[tuple[str, Any]]:
    yield "view", choice.view
    yield from ((name, value) for name in _TEXTS if (value := getattr(choice, name)))
    yield from ((name, list(value)) for name in _LISTS if (value := getattr(choice, name)))
    yield from ((flag, "1") for flag in choice.flags)
    yield from ((f"{OPTION}{name}", list(values)) for name, values in choice.typed)


def choice_of(query: QueryParams) -> CallChoice:
    """Return the choice in the query of an address. Raises UsageError for an unknown view."""
    view = query.get("view") or "tables"
    if view not in views():
        raise UsageError.of("view", "shared.use-one-of", value=view, choices=[*views()])
    texts: Mapping[str, str] = {name: query.get(name, "") for name in _TEXTS}
    lists = {name: tuple(filter(None, query.getlist(name))) for name in _LISTS}
    flags = tuple(flag for flag in FLAGS if query.get(flag))
    names = [each.name for each in views()[view].options]
    typed = ((name, tuple(filter(None, query.getlist(f"{OPTION}{name}")))) for name in names)
    given = tuple(pair for pair in typed if pair[1])
    return CallChoice(view=view, flags=flags, typed=given, **texts, **lists)  # type: ignore[arg-type]
