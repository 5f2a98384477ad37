"""What the public functions are given: a wrong kind is refused in words, a right one as it was."""

import inspect
import pickle
from pathlib import Path

import pandas
import pytest

import incrowd
from incrowd.arguments import checked
from incrowd.errors import UsageError
from incrowd.workflow.regress import regress
from tests.messages.shared import asked, made, people, reports, survey

WRONG = {
    "a table that is no list": (
        lambda: incrowd.estimate(made(), reports(), tables=["a"]),
        "tables: got a list of 'a'; should be lists, as [['a']]",
    ),
    "tables that are a text": (
        lambda: incrowd.truth(made(), people(3), tables="a"),
        "tables: got 'a'; should be lists, as [['a']]",
    ),
    "predictors that are a text": (
        lambda: incrowd.regress(made(), reports(), outcome="a", on="stress"),
        "on: got 'stress'; should be a list, as ['stress']",
    ),
    "questions that are a text": (
        lambda: incrowd.people_needed(asked(), "abc", standard_error=0.1),
        "ids: got 'abc'; should be a list, as ['abc']",
    ),
    "margins that are a file": (
        lambda: incrowd.estimate(made(), reports(), margins="m.toml"),
        "margins: got 'm.toml'; should be what incrowd.load_margins(\"margins.toml\") gives",
    ),
    "a plan that is a file": (
        lambda: incrowd.randomize(Path("plan.json"), people(3)),
        'plan: got plan.json; should be what incrowd.Plan.load("plan.json") or incrowd.plan(su',
    ),
    "a plan that is a frame": (
        lambda: incrowd.randomize(pandas.DataFrame({"a": [1]}), made()),
        "plan: got a DataFrame; should be what incrowd.Plan.load",
    ),
    "a plan that is nothing": (lambda: incrowd.forecast(None), "plan: got a NoneType; should be"),
    "reports that are a file": (
        lambda: incrowd.estimate(made(), "reports.parquet"),
        "reports: got 'reports.parquet'; should be what incrowd.load_reports(\"reports\") gives",
    ),
    "a survey that is a file": (
        lambda: incrowd.plan("w.toml"),
        "survey: got 'w.toml'; should be what incrowd.Survey.load(\"survey.toml\") gives",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kind_is_refused_in_words(name):
    call, message = WRONG[name]
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value).startswith(message)


def test_without_the_check_the_letters_of_a_text_would_be_named():
    """The wrong variant: the function itself."""
    with pytest.raises(UsageError, match="on: got 's'"):
        regress(made(), reports(), outcome="a", on="stress")


def test_what_is_right_goes_through_as_it_is():
    plan = incrowd.plan(survey=survey())
    (table,) = incrowd.forecast(plan)
    assert incrowd.people_needed(plan, ("a",), standard_error=table.standard_error) <= 100
    assert len(incrowd.truth(made(), people(9), tables=(("a",), ["b"]))) == 2
    assert incrowd.count(made(), reports(), tables=[]).tables == ()


def test_a_public_function_is_the_one_below_but_for_the_check():
    for name in incrowd.__all__:
        public = getattr(incrowd, name)
        if inspect.isfunction(public):
            assert inspect.signature(public) == inspect.signature(public.__wrapped__)
            assert public.__doc__ == public.__wrapped__.__doc__
            assert pickle.loads(pickle.dumps(public)) is public


def test_what_is_no_argument_is_an_error_of_python():
    with pytest.raises(TypeError, match="unexpected keyword argument 'plans'"):
        incrowd.forecast(plans=1)
    assert checked(len, "len")([1]) == 1
