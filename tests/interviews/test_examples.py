"""The examples in the docstrings of `incrowd.interviews` run, and each function has one."""

import doctest
import inspect

import pytest

from incrowd import interviews

PUBLIC = {name: getattr(interviews, name) for name in interviews.__all__}


def examples(name):
    text = inspect.getdoc(PUBLIC[name])
    return doctest.DocTestParser().get_doctest(text, {}, name, None, None)


def test_every_function_has_an_example():
    functions = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]
    assert functions and [name for name in functions if not examples(name).examples] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if examples(name).examples])
def test_the_examples_of_a_docstring_run(name):
    said = []
    failed, _ = doctest.DocTestRunner().run(examples(name), out=said.append)
    assert failed == 0, "".join(said)
