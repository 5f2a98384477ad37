"""Identifiers that docs/vocabulary.md bans, counted."""

import ast
import re
from collections import Counter
from pathlib import Path

import incrowd
from tests.oracles.source import nodes_of

SOURCE = Path(incrowd.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "vocabulary.md"


def banned():
    """The words of the first column of the table "Words that are not used as names"."""
    section = PAGE.read_text().partition("## Words that are not used as names")[2]
    rows = re.findall(r"^\| (.+?) \|", section.partition("\n## ")[0], re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`(\w+)`", row)}


def bound(source):
    """Every name that a module binds: variables, arguments, functions, classes, attributes."""
    for node in nodes_of(source):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.alias(asname=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name


def uses(source, words):
    """How often a module binds each of some words, with or without underscores around it."""
    return Counter(w for name in bound(source) if (w := name.strip("_")) in words)


def counted(words):
    """Module -> how often it binds banned words, where it does."""
    totals = {
        str(file.relative_to(SOURCE)): uses(file.read_text(), words).total()
        for file in sorted(SOURCE.rglob("*.py"))
    }
    return {module: total for module, total in totals.items() if total}
