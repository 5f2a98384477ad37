"""Every text of the studio has a German twin with the same names in braces, and no twin is left."""

import ast
import re
from pathlib import Path

from jinja2.ext import extract_from_ast

import incrowd.studio
from incrowd.presentation.shell import templates
from incrowd.studio.language import german, in_language, phrase, preferred
from tests.oracles.source import nodes_of

HOME = Path(incrowd.studio.__file__).parent


def texts_of_template(source):
    tree = templates(incrowd.studio.__name__).parse(source)
    return {text for _, _, (text, *_) in extract_from_ast(tree, ("_",), babel_style=False) if text}


def texts_of_module(source):
    return {
        node.args[0].value
        for node in nodes_of(source)
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "phrase"
        and isinstance(node.args[0], ast.Constant)
    }


def all_texts():
    texts = set()
    for file in (HOME / "templates").iterdir():
        texts |= texts_of_template(file.read_text())
    for file in HOME.glob("*.py"):
        texts |= texts_of_module(file.read_text())
    return texts


def names(text):
    return sorted(re.findall(r"{(\w+)[^}]*}", text))


def test_every_text_has_a_german_twin():
    assert sorted(all_texts() - german().keys()) == []


def test_no_twin_is_left_over():
    assert sorted(german().keys() - all_texts()) == []


def test_twins_have_the_same_names():
    assert [text for text, twin in german().items() if names(text) != names(twin)] == []


def test_texts_are_found():
    assert texts_of_template('<p title="{{ _("a b") }}">{{ _("{n} c", n=_("d")) }}') == {
        "a b",
        "{n} c",
        "d",
    }
    assert texts_of_module('x = phrase("e", n=phrase("f"))') == {"e", "f"}


def test_phrases_are_nested_and_numbers_separated():
    outer = phrase("Surveys found: {number} of {all}.", number=2, all=20_000)
    assert str(outer) == "Surveys found: 2 of 20,000."
    assert in_language(outer, "de") == "Gefundene Umfragen: 2 von 20.000."
    assert in_language("{a}", "de", a=phrase("Design")) == "Entwurf"


def test_the_language_of_the_browser():
    assert preferred("de-DE,de;q=0.9,en;q=0.8") == "de"
    assert preferred("fr-FR,fr;q=0.9,de;q=0.8") == "de"
    assert preferred("fr") == preferred("") == "en"


def test_the_language_changes_and_the_page_stays(browser, studio):
    """A choice that only changed the address, and a page that came in return for a form."""
    studio.projects.create("A", 'name = "A"\n')
    chosen = "/p/a/results?view=regress&outcome=x"
    assert 'name="back" value="/p/a/results?view=regress&amp;outcome=x"' in browser.get(chosen).text

    def switched(back, referer):
        headers = {"Referer": f"http://127.0.0.1:8642{referer}"}
        data = {"language": "de", "back": back}
        return browser.post("/language", data=data, headers=headers).headers["location"]

    assert switched("/p/a/results", chosen) == chosen
    assert switched("/p/a/precision", "/p/a/precision/keep") == "/p/a/precision"
    assert switched("//evil.example/x", "//evil.example/x?y") == "/"
    refused = browser.post("/p/a/precision/keep", data={"crowd": "x"}).text
    assert 'name="back" value="/p/a/precision"' in refused


def test_values_can_have_any_name():
    assert in_language(phrase("{text} {language}", text="a", language="b"), "de") == "a b"
