"""Formulas of regressions on open columns, as people write them.

`armed ~ age + age^2 + region + log(income) + age:female`: terms are added, `a:b` is an interaction,
and `a*b` stands for a + b + a:b. Calculations with + and - are written inside I(...) or a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from incrowd.errors import IncrowdError, UsageError

INTERCEPT = "(intercept)"
BETWEEN_PARTS = ":"
FUNCTIONS = ("log", "sqrt", "center", "factor")
EXAMPLE = "armed ~ age + age^2 + female"
_TOKEN = re.compile(
    r"\s*(?:(?P<digits>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.]*)|(?P<sign>\*\*|[-+*/:^~()]))"
)
_PLAIN = re.compile(r"[^\W\d][\w.]*")


@dataclass(frozen=True)
class Expression:
    """A column, a number, or a calculation with them.

    operator: "column", "constant", a sign, or the name of a function. operands: the expressions
    that it combines. text: the name of a column, or the digits of a number.
    """

    operator: str
    operands: tuple[Expression, ...] = ()
    text: str = ""

    def __str__(self) -> str:
        if self.operator == "column":
            return self.text if _PLAIN.fullmatch(self.text) else f"`{self.text}`"
        if self.operator == "constant":
            return self.text
        if self.operator in _STRENGTH:
            sign = f" {self.operator} " if self.operator in "+-" else self.operator
            left, right = self.operands
            return f"{self._within(left, first=True)}{sign}{self._within(right)}"
        return f"{self.operator}({self.operands[0]})"

    def _within(self, operand: Expression, *, first: bool = False) -> str:
        """Return an operand, in parentheses where they are needed."""
        outer, inner = _STRENGTH[self.operator], _STRENGTH.get(operand.operator, _ATOM)
        enough = inner >= outer if first and self.operator != "^" else inner > outer
        return str(operand) if enough else f"({operand})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it, each once."""
        inner = [name for each in self.operands for name in each.columns]
        outer = [self.text] if self.operator == "column" else []
        return tuple(dict.fromkeys([*outer, *inner]))

    @property
    def calculation(self) -> bool:
        """Whether a formula writes it inside I(...), since its signs mean something else there."""
        if self.operator in ("+", "-", "*"):
            return True
        if self.operator == "/" and self.operands[1].columns:
            return True
        return self.operator in ("/", "^") and any(each.calculation for each in self.operands)


_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}  # how strongly a sign binds
_ATOM = 4


def term_text(term: Sequence[Expression]) -> str:
    """Return a term as a formula writes it; the empty product is the intercept."""
    return BETWEEN_PARTS.join(map(_part_text, term)) or INTERCEPT


def _part_text(part: Expression) -> str:
    return f"I({part})" if part.calculation else str(part)


@dataclass(frozen=True)
class ParsedFormula:
    """A formula that was read. terms: products of expressions, without the intercept."""

    text: str
    outcome: str
    terms: tuple[tuple[Expression, ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns on the right, each once."""
        names = (name for term in self.terms for part in term for name in part.columns)
        return tuple(dict.fromkeys(names))

    def __str__(self) -> str:
        return f"{self.outcome} ~ {' + '.join(map(term_text, self.terms)) or '1'}"


def parse_formula(text: str) -> ParsedFormula:
    """Read a formula.

    Raises UsageError for one that cannot be read, with the place.
    """
    return _FormulaReader(text).formula()


class _FormulaReader:
    """A formula that is read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [*self._tokens()]
        self.at = 0

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        """Yield the kind, the text, and the place of each token."""
        place, end = 0, len(self.text.rstrip())
        while place < end:
            match = _TOKEN.match(self.text, place)
            if match is None:
                raise self._unreadable(place)
            kind = match.lastgroup or ""
            yield kind, match[kind].replace("**", "^"), match.start(kind)
            place = match.end()

    def _unreadable(self, place: int | None = None) -> IncrowdError:
        if place is None:
            place = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
        rest = self.text[place:].strip()
        if not rest:
            return UsageError.of("formula", "interview_models.incomplete-formula", value=self.text)
        return UsageError.of(
            "formula", "interview_models.unreadable-formula", value=self.text, rest=rest
        )

    def _sign(self, *signs: str) -> str:
        """Read one of some signs; "" if something else follows."""
        if self.at < len(self.tokens):
            kind, text, _ = self.tokens[self.at]
            if kind == "sign" and text in signs:
                self.at += 1
                return text
        return ""

    def _expected(self, sign: str) -> None:
        if not self._sign(sign):
            raise self._unreadable()

    def formula(self) -> ParsedFormula:
        if not any(kind == "sign" and text == "~" for kind, text, _ in self.tokens):
            value, example = self.text, EXAMPLE
            raise UsageError.of(
                "formula", "interview_models.no-tilde", value=value, example=example
            )
        outcome = self._atom()
        if outcome.operator != "column":
            self.at = 0
            raise self._unreadable()
        self._expected("~")
        terms: list[tuple[Expression, ...]] = []
        while True:
            terms += self._crossed()
            if not self._sign("+"):
                break
        if self.at < len(self.tokens):
            raise self._unreadable()
        distinct: dict[frozenset[Expression], tuple[Expression, ...]] = {}
        for term in filter(None, terms):
            distinct.setdefault(frozenset(term), term)
        return ParsedFormula(self.text, outcome.text, tuple(distinct.values()))

    def _crossed(self) -> list[tuple[Expression, ...]]:
        """Read what stands between two plus signs: interactions with `*` between them."""
        factors = [self._interaction()]
        while self._sign("*"):
            factors.append(self._interaction())
        sizes = range(1, len(factors) + 1)
        return [
            tuple(dict.fromkeys(part for factor in chosen for part in factor))
            for size in sizes
            for chosen in combinations(factors, size)
        ]

    def _interaction(self) -> tuple[Expression, ...]:
        start = self.at
        parts = [self._part()]
        while self._sign(BETWEEN_PARTS):
            parts.append(self._part())
        if len(parts) == 1 and parts[0] == Expression("constant", text="1"):
            return ()
        if not all(part.columns for part in parts):
            self.at = start
            raise self._unreadable()
        return tuple(dict.fromkeys(parts))

    def _part(self) -> Expression:
        """Read a column with powers and divisions by numbers."""
        part = self._power()
        while self._sign("/"):
            divisor = self._power()
            if divisor.columns:
                self.at -= 1
                raise self._unreadable()
            part = Expression("/", (part, divisor))
        return part

    def _power(self) -> Expression:
        base = self._atom()
        if self._sign("^"):
            if self._sign("-"):
                self.at -= 1
                raise self._unreadable()
            exponent = self._atom()
            if exponent.operator != "constant":
                self.at -= 1
                raise self._unreadable()
            return Expression("^", (base, exponent))
        return base

    def _atom(self) -> Expression:
        """Read a column, a number, a function, or something in parentheses."""
        if self.at == len(self.tokens):
            raise self._unreadable()
        kind, text, _ = self.tokens[self.at]
        if kind == "digits":
            self.at += 1
            return Expression("constant", text=text)
        if kind == "quoted":
            self.at += 1
            return Expression("column", text=text)
        if kind == "name":
            self.at += 1
            if not self._sign("("):
                return Expression("column", text=text)
            if text not in (*FUNCTIONS, "I"):
                self.at -= 2
                raise self._unreadable()
            inner = self._sum()
            self._expected(")")
            return inner if text == "I" else Expression(text, (inner,))
        if self._sign("("):
            inner = self._part()
            self._expected(")")
            return inner
        raise self._unreadable()

    def _sum(self) -> Expression:
        """Read a calculation."""
        total = self._product()
        while sign := self._sign("+", "-"):
            total = Expression(sign, (total, self._product()))
        return total

    def _product(self) -> Expression:
        product = self._power_of_calculation()
        while sign := self._sign("*", "/"):
            product = Expression(sign, (product, self._power_of_calculation()))
        return product

    def _power_of_calculation(self) -> Expression:
        if self._sign("("):
            base = self._sum()
            self._expected(")")
            if self._sign("^"):
                return Expression("^", (base, self._atom()))
            return base
        return self._power()
