"""The docstrings of the public names: their sections are complete, and their examples run."""

import ast
import doctest
import inspect
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import incrowd
from incrowd import accountant

ROOT = Path(__file__).parent.parent
NAMES = {
    **{f"incrowd.accountant.{name}": getattr(accountant, name) for name in accountant.__all__},
    **{
        f"incrowd.{name}": getattr(incrowd, name)
        for name in incrowd.__all__
        if name not in accountant.__all__
    },
}
SECTION = re.compile(r"^(\w[\w ]*)\n(-{3,})$", flags=re.MULTILINE)
ORDER = ["Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "Notes"]
ORDER += ["References", "Examples"]
FUNCTIONS = {name: value for name, value in NAMES.items() if inspect.isfunction(value)}
CLASSES = {name: value for name, value in NAMES.items() if inspect.isclass(value)}
ERRORS = {name: cls for name, cls in CLASSES.items() if issubclass(cls, Exception)}
EXPLAINED = {name: value for name, value in NAMES.items() if name not in ERRORS}


def docstring(name):
    """The text that documents a public name; that of a constant follows its assignment."""
    value = NAMES[name]
    if inspect.isfunction(value) or inspect.isclass(value):
        return inspect.getdoc(value)
    package = sys.modules[name.rpartition(".")[0]]
    constant = name.rpartition(".")[2]
    module = sys.modules[f"{package.__name__}.{package._HOMES[constant]}"]
    body = ast.parse(Path(module.__file__).read_text()).body
    named = [ast.unparse(node).startswith(constant) for node in body]
    return inspect.cleandoc(body[named.index(True) + 1].value.value)


def sections(text):
    """The sections of a docstring by their headings; the text before them as "Summary"."""
    parts = SECTION.split(text)
    return dict(zip(["Summary", *parts[1::3]], [parts[0], *parts[3::3]], strict=True))


def entries(section):
    """The names of a section's entries, each with its description."""
    parts = re.split(r"^(\S.*)\n", section, flags=re.MULTILINE)
    described = zip(parts[1::2], parts[2::2], strict=True)
    return [
        (name, text.strip())
        for head, text in described
        for name in head.partition(" : ")[0].split(", ")
    ]


def listed(text, *headings):
    """The names that some sections list."""
    found = sections(text)
    return [name for each in headings if each in found for name, _ in entries(found[each])]


def ill_formed(text):
    """What is wrong with the form of a docstring: one line of summary, sections in their order."""
    heads = [(name, len(line)) for name, line in SECTION.findall(text)]
    summary = text.split("\n\n")[0]
    return [
        *([] if summary.endswith(".") and "\n" not in summary else ["summary"]),
        *([] if heads == sorted(heads, key=lambda head: ORDER.index(head[0])) else ["order"]),
        *(name for name, length in heads if length != len(name)),
        *(name for name, times in Counter(name for name, _ in heads).items() if times > 1),
        *(
            name
            for each, section in sections(text).items()
            if each in ("Parameters", "Attributes", "Returns", "Raises")
            for name, described in entries(section)
            if not described.endswith(".")
        ),
    ]


def parameters(value):
    """The names of the parameters of a function, or of the fields that make an object."""
    if hasattr(value, "model_fields"):
        return list(value.model_fields)
    found = inspect.signature(value).parameters
    return [name for name, each in found.items() if each.kind is not each.VAR_KEYWORD]


@pytest.mark.parametrize("name", NAMES)
def test_a_docstring_has_its_form(name):
    assert ill_formed(docstring(name)) == []


GOOD = """Add numbers.

Parameters
----------
a, b : int
    The numbers.

Returns
-------
int
    The sum.
"""


@pytest.mark.parametrize(
    ("now", "planted", "wrong"),
    [
        ("Add numbers.\n", "Add numbers\n", ["summary"]),
        ("Add numbers.\n", "Add numbers\nof any size.\n", ["summary"]),
        ("Returns\n-------", "Returns\n------", ["Returns"]),
        ("The sum.", "The sum", ["int"]),
        ("Returns\n-------", "Parameters\n----------", ["Parameters"]),
        ("Parameters\n----------", "Notes\n-----", ["order"]),
    ],
)
def test_what_is_wrong_with_the_form_of_a_docstring_is_found(now, planted, wrong):
    assert ill_formed(GOOD) == []
    assert ill_formed(GOOD.replace(now, planted)) == wrong


def test_the_entries_of_a_section_are_listed():
    assert listed(GOOD, "Parameters", "Raises") == ["a", "b"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_docstring_of_a_function_is_complete(name):
    function, text = FUNCTIONS[name], docstring(name)
    assert listed(text, "Parameters") == parameters(function)
    returns = inspect.signature(function).return_annotation != "None"
    assert {"Raises", "Examples"} <= {*sections(text)}
    assert ("Returns" in sections(text)) == returns


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in ERRORS])
def test_the_docstring_of_a_class_is_complete(name):
    cls, text = CLASSES[name], docstring(name)
    assert "Examples" in sections(text)
    assert {*listed(text, "Parameters")} <= {*parameters(cls)}
    fields = listed(text, "Parameters", "Attributes")
    assert [each for each in fields if each in parameters(cls)] == parameters(cls)
    assert [each for each in fields if not (hasattr(cls, each) or each in annotated(cls))] == []
    assert ("Raises" in sections(text)) == ("__post_init__" in vars(cls))


def annotated(cls):
    """The names that a class and its bases annotate."""
    return {name for base in cls.__mro__ for name in inspect.get_annotations(base)}


@pytest.mark.parametrize("name", ERRORS)
def test_the_docstring_of_an_error_says_when_it_is_raised(name):
    assert re.search(r"\b(Raised|raised)\b", docstring(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_errors_that_a_docstring_names_exist(name):
    known = {each for each in vars(incrowd.errors) if each.endswith("Error")}
    assert {*listed(docstring(name), "Raises")} <= known


@pytest.mark.parametrize("name", EXPLAINED)
def test_the_examples_of_a_docstring_run(name, tmp_path, monkeypatch):
    """Each by itself, in a folder that holds only the examples of the repository."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    example = doctest.DocTestParser().get_doctest(docstring(name), {}, name, None, None)
    assert example.examples
    said = []
    failed, _ = doctest.DocTestRunner().run(example, out=said.append)
    assert failed == 0, "".join(said)
