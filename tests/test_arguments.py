"""What the public functions are given: a wrong kind is refused in words, a right one as it was."""

import inspect
import pickle
from pathlib import Path

import pandas
import pytest

import incrowd
from incrowd.arguments import checked, documented, expanded
from incrowd.errors import UsageError
from incrowd.estimation.regression.regress import regress
from incrowd.plans.sent import sent_by
from tests.messages.shared import asked, made, people, reports, survey

WRONG = {
    "a table that is no list": (
        lambda: incrowd.estimate(made(), reports(), tables=["a"]),
        "tables: got a list of 'a'; should be lists, such as [['a']]",
    ),
    "tables that are a text": (
        lambda: incrowd.truth(made(), people(3), tables="a"),
        "tables: got 'a'; should be lists, such as [['a']]",
    ),
    "predictors that are a text": (
        lambda: incrowd.regress(made(), reports(), outcome="a", on="stress"),
        "on: got 'stress'; should be a list, such as ['stress']",
    ),
    "questions that are a text": (
        lambda: incrowd.people_needed(asked(), "abc", standard_error=0.1),
        "ids: got 'abc'; should be a list, such as ['abc']",
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


WRONG |= {
    "reports that are a number": (
        lambda: incrowd.estimate(made(), 5),
        'reports: got 5; should be what incrowd.load_reports("reports") gives',
    ),
    "reports that are nothing": (
        lambda: incrowd.compare(made(), None, "a", "b"),
        "reports: got a NoneType; should be what incrowd.load_reports",
    ),
    "reports that are answers": (
        lambda: incrowd.verify(made(), [people(3)]),
        "reports: got a list of",
    ),
    "a question that is a number": (
        lambda: incrowd.regress(made(), reports(), outcome=3),
        "outcome: got 3; should be a text",
    ),
    "predictors that are a number": (
        lambda: incrowd.regress(made(), reports(), outcome="a", on=3),
        "on: got 3; should be a list",
    ),
    "references that are a list": (
        lambda: incrowd.regress(made(), reports(), reference=["stress"]),
        "reference: got a list of 'stress'; should be a dictionary",
    ),
    "an error that is a text": (
        lambda: incrowd.people_needed(asked(), ["a"], standard_error="1%"),
        "standard_error: got '1%'; should be a number",
    ),
    "a seed that is a text": (
        lambda: incrowd.randomize(made(), people(3), simulation_seed="x"),
        "simulation_seed: got 'x'; should be a whole number",
    ),
    "a path that is a plan": (
        lambda: incrowd.load_reports(made()),
        "path: got a Plan; should be the path of a file",
    ),
    "an argument that is not known": (
        lambda: incrowd.forecast(plans=1),
        "forecast(): got an unexpected keyword argument 'plans'; did you mean plan? the arguments",
    ),
    "an argument that is missing": (
        lambda: incrowd.compare(made(), reports(), "a"),
        "compare(): missing a required argument: 'second'; the arguments are plan, reports, first",
    ),
    "scores that are not numbers": (
        lambda: incrowd.regress(made(), reports(), outcome="a", scores=["low"]),
        "scores: got a list of 'low'; should be a list of numbers",
    ),
    "an unknown kind of simultaneous intervals": (
        lambda: incrowd.estimate(made(), reports(), simultaneous="magic"),
        "simultaneous: got 'magic'; use one of max-t, bonferroni",
    ),
    "an unknown kind of simultaneous intervals to simulate": (
        lambda: incrowd.simulate(survey(), people(3), simultaneous="magic"),
        "simultaneous: got 'magic'; use one of max-t, bonferroni",
    ),
    "an argument too many": (lambda: incrowd.plan(survey(), 1, 2), "plan(): too many positional"),
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
            assert inspect.signature(public) == expanded(public.__wrapped__)
            assert inspect.getdoc(public) == documented(public.__wrapped__)
            assert pickle.loads(pickle.dumps(public)) is public


@pytest.mark.parametrize("name", ["estimate", "compare", "regress"])
def test_shared_options_are_shown_by_their_names(name):
    shown = inspect.signature(getattr(incrowd, name)).parameters
    assert {"merge", "margins", "noise_only", "accept_smaller_crowd", "received"} <= set(shown)
    assert "options" not in shown and shown["noise_only"].default is False
    assert "margins" not in inspect.signature(incrowd.correlate).parameters


def test_shared_options_are_described_with_those_of_each_function():
    assert "\nmargins : " in incrowd.estimate.__doc__.partition("\nReturns")[0]
    assert "\nnoise_only : " in incrowd.correlate.__doc__.partition("\nReturns")[0]
    assert "margins : " not in incrowd.correlate.__doc__
    assert documented(regress) != regress.__doc__ and documented(len) == inspect.getdoc(len)


def test_what_is_no_argument_is_an_error_of_python_too():
    """Whoever catches Python's own error catches this one."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'plans'"):
        incrowd.forecast(plans=1)
    assert checked(len, "len")([1]) == 1


def interview_survey():
    design = {"kind": "forced", "yes": "1/6", "no": "1/6"}
    question = {"id": "a", "type": "yesno", "design": design}
    return incrowd.InterviewSurvey.of(
        {"name": "s", "device": {"kind": "die"}, "question": [question]}
    )


def plausible(kind):
    """Something of the first kind that an annotation names."""
    of = {
        "Plan": made,
        "Outline": made,
        "Survey": survey,
        "InterviewSurvey": interview_survey,
        "Reports": reports,
        "Given": dict,
        "Estimates": None,
    }
    of |= dict.fromkeys(("Sendable", "Alternatives"), lambda: sent_by(made()))
    of |= {"Guarantee": lambda: made().guarantee, "Callable[[BitFlip], Alternatives": lambda: len}
    of["Mapping[str, str]"] = lambda: {"a": "no"}
    of |= {"int": lambda: 1, "float": lambda: 0.1, "bool": lambda: False, "str": lambda: "a"}
    of["AnalysisName"] = lambda: "shuffle"
    return of.get(kind.partition(" |")[0], list)


CHECKED = (
    "Plan",
    "Outline",
    "Survey",
    "Reports",
    "Estimates",
    "Contribution",
    "AnalysisName",
    "str",
    "int",
    "float",
    "Sequence[",
)


@pytest.mark.parametrize("name", incrowd.__all__)
def test_nothing_of_another_kind_reaches_a_public_function(name):
    """An object of no known kind, in the place of each argument: never a bare TypeError."""
    public = getattr(incrowd, name)
    if not inspect.isfunction(public):
        return
    parameters = inspect.signature(public).parameters
    for wrong, each in parameters.items():
        if each.annotation.startswith(CHECKED) and "Any" not in each.annotation:
            required = {
                argument: plausible(other.annotation)()
                for argument, other in parameters.items()
                if other.default is other.empty and plausible(other.annotation)
            }
            with pytest.raises(incrowd.UsageError) as error:
                public(**required | {wrong: object()})
            assert (
                str(error.value.problems[0].message).startswith("got an object; ")
                or name == "save_estimates"
            )


def test_what_is_listed_of_the_package_is_public():
    """Modules that it imports stood there too: Any, importlib, views."""
    listed = {name for name in dir(incrowd) if not name.startswith("__")}
    assert listed == set(incrowd.__all__)
