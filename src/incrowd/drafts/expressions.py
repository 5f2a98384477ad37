"""Expressions in forms, such as `${smokes} = 'yes' and ${age} >= 18`: a reader for the languages
that different software writes them in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from incrowd.drafts.conditions import (
    ALWAYS,
    FLIPPED,
    NEVER,
    EarlierAnswers,
    NotExpressed,
    all_of,
    any_of,
    negated,
)
from incrowd.survey.conditions import MOST_NESTED, Condition

LONGEST = 10_000  # characters
OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">="})


class Reference(NamedTuple):
    """A name of a question in an expression."""

    name: str


class Literal(NamedTuple):
    """A text or a number in an expression."""

    value: str


ExpressionValue = Reference | Literal | Condition
FormFunction = Callable[[EarlierAnswers, Sequence[ExpressionValue]], ExpressionValue]


class ExpressionLanguage(NamedTuple):
    """How some software writes expressions.

    reference: matches a name. name: returns the name that a match stands for. words: other
    spellings of operators and of and, or, not. functions: by their names. refined: changes what was
    read, given the expression.
    """

    reference: str
    name: Callable[[re.Match[str]], str] = lambda match: match[1]
    words: Mapping[str, str] = {}
    functions: Mapping[str, FormFunction] = {}
    refined: Callable[[Condition, str, EarlierAnswers], Condition] = lambda condition, *_: condition


class FormCondition(NamedTuple):
    """Whom a form asks a question. text: as the form states it. read: returns it in the names of
    the draft, or raises NotExpressed."""

    text: str
    read: Callable[[EarlierAnswers], Condition]


def written(text: str, language: ExpressionLanguage) -> FormCondition:
    """Return the condition that an expression states."""
    return FormCondition(text, lambda answers: _read(text, language, answers))


def _read(text: str, language: ExpressionLanguage, answers: EarlierAnswers) -> Condition:
    if len(text) > LONGEST:
        raise NotExpressed("it is too long")
    reader = _ExpressionReader(_tokens(text, language), language, answers)
    return language.refined(reader.whole(), text, answers)


# Functions that several languages have.


def has(answers: EarlierAnswers, arguments: Sequence[ExpressionValue]) -> ExpressionValue:
    """Return whether an option was chosen."""
    if len(arguments) == 2 and isinstance(arguments[0], Reference):
        option = arguments[1]
        if isinstance(option, Literal):
            return answers.compared(arguments[0].name, "has", option.value)
    raise NotExpressed("it looks for something other than an option")


def is_empty(answers: EarlierAnswers, arguments: Sequence[ExpressionValue]) -> ExpressionValue:
    """Return whether a question has no answer."""
    if len(arguments) == 1 and isinstance(arguments[0], Reference):
        return answers.compared(arguments[0].name, "=", "")
    raise NotExpressed("it checks whether something other than an answer is empty")


def same(answers: EarlierAnswers, arguments: Sequence[ExpressionValue]) -> ExpressionValue:
    """Return the argument, of a function that only changes its type."""
    if len(arguments) != 1:
        raise NotExpressed("it cannot be read")
    return arguments[0]


def constant(condition: Condition) -> FormFunction:
    """Return a function that is always true, or never."""

    def of_nothing(
        answers: EarlierAnswers, arguments: Sequence[ExpressionValue]
    ) -> ExpressionValue:
        return condition

    return of_nothing


TRUE, FALSE = constant(ALWAYS), constant(NEVER)


# Reading.


class _ExpressionToken(NamedTuple):
    """A part of an expression. kind: "reference", "literal", "function", an operator, a word
    that connects, or a sign."""

    kind: str
    text: str


def _tokens(text: str, language: ExpressionLanguage) -> list[_ExpressionToken]:
    words = {each: each for each in (*OPERATORS, "and", "or", "not")} | dict(language.words)
    words |= {"<>": "!=", "!==": "!="}
    signs = sorted((word for word in words if not word.isalpha()), key=len, reverse=True)
    names = "|".join(word for word in words if word.isalpha())
    pattern = re.compile(
        rf"\s*(?:(?P<word>(?:{names})\b)|(?P<function>[A-Za-z_][\w-]*(?=\s*\())"
        rf"|(?P<reference>{language.reference})|(?P<quoted>'[^']*'|\"[^\"]*\")"
        rf"|(?P<digits>-?(?:\d+(?:\.\d*)?|\.\d+)(?![\w.]))"
        rf"|(?P<operator>{'|'.join(map(re.escape, signs))})|(?P<sign>[(),]))",
        re.IGNORECASE,
    )
    reference = re.compile(language.reference, re.IGNORECASE)
    tokens: list[_ExpressionToken] = []
    place, text = 0, text.rstrip()
    while place < len(text):
        match = pattern.match(text, place)
        if match is None:
            raise NotExpressed("it has a part that conditions of a survey do not have")
        place, kind = match.end(), str(match.lastgroup)
        part = match[kind]
        if kind == "reference" and (named := reference.fullmatch(part)):
            tokens.append(_ExpressionToken(kind, language.name(named)))
        elif kind in ("word", "operator"):
            tokens.append(_ExpressionToken(words[part.casefold()], part))
        elif kind == "sign":
            tokens.append(_ExpressionToken(part, part))
        else:
            literal = part[1:-1] if kind == "quoted" else part
            tokens.append(
                _ExpressionToken("function" if kind == "function" else "literal", literal)
            )
    return tokens


class _ExpressionReader:
    """Reads an expression by recursive descent: `or` binds less than `and`, that less than `not`,
    and that less than a comparison."""

    def __init__(
        self, tokens: list[_ExpressionToken], language: ExpressionLanguage, answers: EarlierAnswers
    ) -> None:
        self.tokens, self.place, self.depth = tokens, 0, 0
        self.language, self.answers = language, answers

    def whole(self) -> Condition:
        condition = _condition(self._any())
        if self._kind():
            raise NotExpressed("it cannot be read")
        return condition

    def _kind(self) -> str:
        return self.tokens[self.place].kind if self.place < len(self.tokens) else ""

    def _next(self) -> _ExpressionToken:
        if not self._kind():
            raise NotExpressed("it cannot be read")
        self.place += 1
        return self.tokens[self.place - 1]

    def _expect(self, kind: str) -> None:
        if self._next().kind != kind:
            raise NotExpressed("it cannot be read")

    def _any(self) -> ExpressionValue:
        return self._joined("or", any_of, self._all)

    def _all(self) -> ExpressionValue:
        return self._joined("and", all_of, self._one)

    def _joined(
        self,
        word: str,
        joined: Callable[[Iterable[Condition]], Condition],
        part: Callable[[], ExpressionValue],
    ) -> ExpressionValue:
        """Read parts with a word between them; a single part can be any value."""
        first = part()
        if self._kind() != word:
            return first
        parts = [_condition(first)]
        while self._kind() == word:
            self.place += 1
            parts.append(_condition(part()))
        return joined(parts)

    def _one(self) -> ExpressionValue:
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise NotExpressed("it is nested too deeply")
        value = self._compared()
        self.depth -= 1
        return value

    def _compared(self) -> ExpressionValue:
        if self._kind() == "not":
            self.place += 1
            return negated(_condition(self._one()))
        left = self._operand()
        if self._kind() not in OPERATORS:
            return left
        operator = self._next().kind
        return _comparison(self.answers, left, operator, self._operand())

    def _operand(self) -> ExpressionValue:
        token = self._next()
        if token.kind == "reference":
            if self._kind() == "reference":
                raise NotExpressed(
                    "it has two names in a row, such as those of an event and a field"
                )
            return Reference(token.text)
        if token.kind == "literal":
            return Literal(token.text)
        if token.kind == "(":
            value = self._any()
            self._expect(")")
            return value
        if token.kind == "function":
            return self._function(token.text)
        raise NotExpressed("it cannot be read")

    def _function(self, name: str) -> ExpressionValue:
        function = self.language.functions.get(name.casefold())
        if function is None:
            raise NotExpressed(f"it uses {name}(), which conditions of a survey do not have")
        arguments: list[ExpressionValue] = []
        self._expect("(")
        while self._kind() != ")":
            arguments.append(self._any())
            if self._kind() == ",":
                self.place += 1
        self.place += 1
        return function(self.answers, arguments)


def _condition(value: ExpressionValue) -> Condition:
    """Return a value as a condition; a number is one, too."""
    if isinstance(value, Literal) and value.value in ("0", "1"):
        return ALWAYS if value.value == "1" else NEVER
    if isinstance(value, Reference | Literal):
        raise NotExpressed("it uses an answer as a condition")
    return value


def _comparison(
    answers: EarlierAnswers, left: ExpressionValue, operator: str, right: ExpressionValue
) -> Condition:
    if isinstance(left, Literal) and isinstance(right, Reference):
        left, right, operator = right, left, FLIPPED.get(operator, operator)
    if isinstance(left, Reference) and isinstance(right, Literal):
        return answers.compared(left.name, operator, right.value.strip())
    if isinstance(left, Reference) and isinstance(right, Reference):
        raise NotExpressed("it compares two answers with each other")
    raise NotExpressed("it compares something other than an answer")
