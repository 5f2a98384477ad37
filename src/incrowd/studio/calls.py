"""One analysis, as a person chose it, and as it is written: a command, lines of Python, TOML."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from starlette.datastructures import QueryParams

from incrowd.drafts.writing import quoted
from incrowd.errors import IncrowdError, UsageError
from incrowd.reports.tally_files import ENDING as TALLY

ViewName = Literal["tables", "crosstab", "compare", "correlate", "regress", "proportions"]
VIEWS: tuple[ViewName, ...] = get_args(ViewName)
FLAGS = ("of_those_who_answered", "of_all_people", "noise_only", "accept_smaller_crowd")
WHOSE: Mapping[str, tuple[str, bool]] = {  # by view: a flag, and the value it gives
    "tables": ("of_those_who_answered", True),
    "crosstab": ("of_all_people", False),
    "compare": ("of_all_people", False),
}
_COMMANDS = {"crosstab": "compare", "postprocess": "postprocess"}
_TALLY = "from incrowd.reports.tally_files import load_tally"
_RECEIPTS = "from incrowd.collection.collector.receipt import receipts_of"
_MERGES = (
    "from incrowd.plans.plan import with_merged",
    "from incrowd.survey.merging import parsed_merges",
)
_CROSSTAB = "from incrowd.estimation.crosstab import crosstab"


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

    def with_option(self, name: str, value: Any) -> Call:
        """Return the same call with one more option."""
        return replace(self, options=(*self.options, (name, value)))

    def command(self, plan: str, reports: str, output: str) -> str:
        """Return the line that makes the same file."""
        words = ["incrowd", _COMMANDS.get(self.function, self.function), plan, reports]
        if self.function == "crosstab":
            words += [*self.questions, "--crosstab"]
        elif self.function == "compare":
            words += self.questions
        elif self.function == "correlate" and self.questions:
            words += ["--among", ",".join(self.questions)]
        elif self.function == "regress":
            words += ["--outcome", *self.questions]
        for name, value in self.options:
            words += _option(name, value)
        if self.margins:
            words += ["--margins", self.margins]
        for text in self.merge:
            words += ["--merge", text]
        return shlex.join([*words, "-o", output])

    def python(self, plan: str, reports: str, output: str, release: bool = False) -> str:
        """Return lines of Python that make the same result, and its file if the library writes it.

        release: whether the reports came over a network, with receipts.
        """
        crossed = self.function == "crosstab"
        arguments = ["plan", "reports"]
        if self.function == "correlate":
            arguments += [repr(list(self.questions))] * bool(self.questions)
        else:
            arguments += map(repr, self.questions)
        arguments += [f"{name}={_literal(value)}" for name, value in self.options]
        if self.function == "postprocess" and "tables" not in dict(self.options):
            arguments.append("tables=plan.survey.wanted")
        if self.margins:
            arguments.append(f"margins=incrowd.load_margins({self.margins!r})")
        if self.merge:
            arguments += ["merge=merge"] * (self.function == "regress")
        if release:
            arguments.append(f"received=receipts_of(plan, [{reports!r}])")
        load = "load_tally" if reports.endswith(TALLY) else "incrowd.load_reports"
        name = self.function if crossed else f"incrowd.{self.function}"
        lines = [
            "import incrowd",
            *([_CROSSTAB] if crossed else []),
            *([_TALLY] if load == "load_tally" else []),
            *([_RECEIPTS] if release else []),
            *(_MERGES if self.merge else []),
            "",
            f"plan = incrowd.Plan.load({plan!r})",
            *self._merging(),
            f"reports = {load}({reports!r})",
            f"result = {name}({', '.join(arguments)})",
        ]
        if self.function == "estimate":
            lines.append(f"incrowd.save_estimates(result, {output!r})")
        return "\n".join(lines)

    def _merging(self) -> Iterator[str]:
        """Yield lines of Python that merge answers: in the model of a regression,
        or in the plan."""
        if self.merge:
            yield f"merge = parsed_merges(plan.survey.questions, {list(self.merge)!r})"
            if self.function != "regress":
                yield "plan = with_merged(plan, merge)"

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
        tables = options.get("tables") or ([self.questions] if self.questions else [])
        return "\n\n".join(f"[[table]]\nquestions = {_list(each)}" for each in tables)


def _option(name: str, value: Any) -> list[str]:
    """Return an option of the library as one of the command."""
    if name == "tables":
        return [word for ids in value for word in ("--table", ",".join(ids))]
    if name == "reference" and not isinstance(value, str):
        return [word for pair in value for word in ("--reference", "=".join(pair))]
    option = f"--{name.replace('_', '-')}"
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
    """What a person chose, as the address says it. Every text may be wrong.

    source: the name of the reports. tables: each as ids with commas between them. others: another
    table, as typed. questions: the two of a crosstab or a comparison, or those to correlate.
    outcome, on, formula, family, penalty: of a regression; a formula, if typed, counts alone.
    method: of proportions. merge: answers to merge, one line for each group. flags: those that are
    set.
    """

    view: ViewName = "tables"
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
        call = self._call
        return call and replace(call, merge=self.merges)

    @property
    def _call(self) -> Call | None:
        plain = [(flag, True) for flag in self.flags if not flag.startswith("of_")]
        flag, value = WHOSE.get(self.view, ("", True))
        whose = [("of_those_who_answered", value)] if flag in self.flags else []
        tables = [("tables", self.wanted)] if self.wanted else []
        if self.view == "tables":
            return Call("estimate", (), (*tables, *whose, *plain), self.margins)
        if self.view == "proportions":
            accepted = [each for each in plain if each[0] == "accept_smaller_crowd"]
            method = ("method", self.method or "likelihood")
            return Call("postprocess", (), (*tables, method, *accepted))
        if self.view == "correlate":
            return Call("correlate", self.among, tuple(plain))
        if self.view == "regress":
            return self._regression(plain)
        if not (self.first and self.second):
            return None
        if self.view == "crosstab":
            return Call("crosstab", (self.first, self.second), (*whose, *plain), self.margins)
        reference = [("reference", self.reference)] if self.reference else []
        compared = (*reference, *whose, *plain)
        return Call("compare", (self.first, self.second), compared, self.margins)

    def _regression(self, options: list[tuple[str, Any]]) -> Call | None:
        outcome, on = self.model
        if not (outcome and on):
            return None
        chosen = {"on": on, "family": self.family, "penalty": self.penalty}
        named = [(name, value) for name, value in chosen.items() if value]
        return Call("regress", (outcome,), (*named, *options), self.margins)

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
        """Return the address's query of this choice with some changes."""
        from urllib.parse import urlencode

        return urlencode(list(_pairs(replace(self, **changes))), doseq=True)


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


def choice_of(query: QueryParams) -> CallChoice:
    """Return the choice in the query of an address. Raises UsageError for an unknown view."""
    view = query.get("view") or "tables"
    if view not in VIEWS:
        raise UsageError.of("view", "shared.use-one-of", value=view, choices=VIEWS)
    texts: Mapping[str, str] = {name: query.get(name, "") for name in _TEXTS}
    lists = {name: tuple(filter(None, query.getlist(name))) for name in _LISTS}
    flags = tuple(flag for flag in FLAGS if query.get(flag))
    return CallChoice(view=view, flags=flags, **texts, **lists)  # type: ignore[arg-type]
