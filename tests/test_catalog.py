"""Codes of messages: every code has its texts, every text its code, and arguments meet."""

import ast
import errno
import os
import re
import string
import tomllib
from functools import cache
from pathlib import Path

import pytest

from incrowd.catalog.sentences import (
    LANGUAGES,
    FileDigest,
    Keyword,
    _Writer,
    in_words,
    likely,
    sentence,
    shown,
    texts,
)
from incrowd.errors import Of, Place, Problem, SurveyError, naming, spelled, unreadable
from tests.messages.recorder import SOURCE
from tests.oracles.source import tree_of, walk

CODE = re.compile(r"([a-z_]+)\.[a-z0-9]+(-[a-z0-9]+)*")
CATALOG = SOURCE / "catalog"
ROOMS = sorted(file.stem for file in (CATALOG / "en").iterdir())


@cache
def catalog(language):
    """The texts of a language by their codes."""
    return {
        f"{file.stem}.{name}": text
        for file in sorted((CATALOG / language).glob("*.toml"))
        for name, text in tomllib.loads(file.read_text("utf-8")).items()
    }


def arguments(text):
    """The names of the arguments of a text, also those in the formats of others."""
    return {name.split(".")[0] for _, name, _, _ in string.Formatter().parse(text) if name}


def codes_in(node):
    """The codes that a part of the source names."""
    for each in walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            found = CODE.fullmatch(each.value)
            if found and found[1] in ROOMS:
                yield each.value


def makers(tree):
    """The calls that make a message, each with its codes and the arguments it gives.

    The arguments are None where they are given as a mapping.
    """
    for node in walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).split(".")[-1]
        place = {"of": 1, "Problem": 1, "Mistake": 1, "sentence": 0, "Unfit": 0}.get(called)
        if place is None or len(node.args) != place + 1:
            continue
        names = {each.arg for each in node.keywords}
        if codes := [*codes_in(node.args[place])]:
            yield codes, None if None in names else names


def faults(tree):
    """Calls whose arguments are not those that the texts of their codes name."""
    for codes, given in makers(tree):
        for code in codes:
            for language in LANGUAGES:
                text = catalog(language).get(code)
                if text is None:
                    yield f"{code}: no text in {language}"
                elif given is not None and given != arguments(text):
                    yield f"{code}: {sorted(given)} given, {sorted(arguments(text))} named"


@cache
def used():
    """Every code that the source names, in code or in templates."""
    named = {code for file in SOURCE.rglob("*.py") for code in codes_in(tree_of(file.read_text()))}
    pages = "".join(file.read_text() for file in SOURCE.rglob("*.html"))
    return named | {code for code in re.findall(r'"([a-z_]+\.[a-z0-9-]+)"', pages)}


def test_every_call_gives_the_arguments_that_its_texts_name():
    wrong = {
        str(file.relative_to(SOURCE)): found
        for file in SOURCE.rglob("*.py")
        if (found := [*faults(tree_of(file.read_text()))])
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "call",
    [
        "UsageError.of('a', 'shared.did-you-mean')",
        "UsageError.of('a', 'shared.did-you-mean', name=1, more=2)",
        "Problem('a', 'shared.no-such-code', name=1)",
        "sentence('shared.did-you-mean' if x else 'shared.no-such-code', name=1)",
    ],
)
def test_a_call_that_does_not_fit_its_text_is_seen(call):
    assert [*faults(ast.parse(call))]


def test_every_text_is_used_and_exists_in_every_language():
    unused = catalog("en").keys() - used() - {"shared.of"}
    assert [code for code in sorted(unused) if not code.startswith(("places.", "system."))] == []
    for language in LANGUAGES:
        assert catalog(language).keys() == catalog("en").keys(), language


# Kept apart: a decision is taken on `estimation.no-table`, and `cli.not-accepted` cites a parser.
ALIKE = {("encoding.refused", "estimation.no-table"), ("cli.not-accepted", "survey.unfit")}


def test_no_text_has_two_codes():
    codes = {}
    for code, text in sorted(catalog("en").items()):
        if not code.startswith(("places.", "system.")):
            codes.setdefault(text, []).append(code)
    assert {tuple(each) for each in codes.values() if len(each) > 1} == ALIKE


def test_texts_of_a_code_name_the_same_arguments_in_every_language():
    for code, text in catalog("en").items():
        assert arguments(catalog("de")[code]) == arguments(text), code


def test_the_system_speaks_the_language_of_the_message():
    error = FileNotFoundError(errno.ENOENT, "No such file or directory", "data.csv")
    assert in_words(unreadable(error)) == "it cannot be read: No such file or directory"
    assert "Datei oder Verzeichnis nicht gefunden" in in_words(unreadable(error), "de")
    assert in_words(unreadable(OSError())) == "it cannot be read: it is not complete"
    for code, text in texts("system", "en").items():
        assert text == os.strerror(getattr(errno, code))


def test_a_path_is_spelled_like_the_file_it_is_about():
    assert spelled(("question", 1, "options", Of("health"))) == "question[2].options of health"
    assert spelled((Place("row", 1205), "health")) == "row 1,205, health"
    assert spelled(("data.csv", Place("row", 5))) == "data.csv, row 5"
    assert spelled((Place("row", 1205), "health"), "de") == "Zeile 1.205, health"


def test_a_sentence_within_a_sentence_has_the_same_language():
    outer = sentence("shared.no-path", type=likely("helth", ["health", "age"]))
    assert (
        in_words(outer) == "got a value of type did you mean health? ; should be the path of a file"
    )
    assert "ist health gemeint?" in in_words(outer, "de")
    assert likely("nothing like it", ["health", "age"]) == ""


def test_an_option_is_spelled_as_its_reader_types_it():
    hint = sentence("shared.did-you-mean", name=Keyword("unknown", "crowd"))
    assert in_words(hint) == "did you mean unknown='crowd'? "
    typed = in_words(hint, option=lambda each: f"--solve {each.value}")
    assert typed == "did you mean --solve crowd? "


def test_numbers_have_the_marks_and_the_forms_of_the_language():
    write = _Writer("de", str).vformat
    assert write("{n:Zeile|Zeilen}", (), {"n": 1200}) == "1.200 Zeilen"
    assert write("{n:Zeile|Zeilen}", (), {"n": 1}) == "1 Zeile"
    assert write("{x:.2f}, {n:,}", (), {"x": 0.5, "n": 1200}) == "0,50, 1.200"
    assert write("{x:.1%}", (), {"x": 0.125}) == "12,5 %"


def test_a_value_is_shown_as_somebody_wrote_it():
    assert shown(["a", 1]) == "a list of 'a', 1" and shown({}) == "an empty table"
    assert shown(["a", 1], "de") == "eine Liste mit 'a', 1"
    assert shown(10**5000) == "a number of thousands of digits"
    assert len(shown("x" * 1000)) < 130


def test_a_digest_is_shown_as_the_file_that_holds_it(tmp_path):
    with pytest.raises(SurveyError) as caught, naming(tmp_path / "plan.json"):
        raise SurveyError.of("plan", "shared.no-path", type=FileDigest("00" * 16))
    assert str(tmp_path / "plan.json") in str(caught.value)
    with pytest.raises(SurveyError, match="type 0000"):
        raise SurveyError.of("plan", "shared.no-path", type=FileDigest("00" * 16))


def test_a_digest_within_a_sentence_is_shown_as_the_file_as_well():
    inner = sentence("shared.no-path", type=[FileDigest("00" * 16)])
    with pytest.raises(SurveyError) as caught, naming(Path("plan.json")):
        raise SurveyError.of("plan", "shared.did-you-mean", name=inner)
    assert "plan.json" in str(caught.value) and "0000" not in str(caught.value)


def test_a_problem_keeps_its_code_within_something_larger():
    inner = Problem(("codes", 0), "shared.no-path", type="x").within("question", 2)
    assert (inner.path, inner.code) == (("question", 2, "codes", 0), "shared.no-path")
    assert inner.arguments == {"type": "x"}
