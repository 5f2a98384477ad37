"""Formulas say what they seem to say, and others are refused with the place."""

import numpy as np
import pytest

from incrowd.errors import UsageError
from incrowd.interviews.columns import Factor
from incrowd.interviews.covariates import model_matrix
from incrowd.interviews.formula import parse_formula

COLUMNS = {
    "age": np.array([20.0, 31, 42, np.nan, 55, 66, 28, 37, 70, 18, 44, 51]),
    "female": np.array([0.0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1]),
    "region": Factor(("north", "south", "west"), np.array([0, 1, 2, 0, 1, 2, -1, 0, 1, 2, 0, 2])),
}
EVERY_ROW = np.ones(12, bool)
COMPLETE = np.array([0, 1, 2, 4, 5, 7, 8, 9, 10, 11])  # have age and region


def matrix(text, **options):
    return model_matrix(parse_formula(text), COLUMNS, EVERY_ROW, **options)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("y ~ a*b", ["a", "b", "a:b"]),
        ("y ~ a*b*c", ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]),
        ("y~a + b:a + a:b + a", ["a", "b:a"]),
        ("y ~ 1", []),
        ("y ~ I(a - (b - 3)*2) + a**2 + I(a^2)", ["I(a - (b - 3)*2)", "a^2"]),
        ("y ~ (a/10)^2 + a/10 + log(a + 1)^2", ["(a/10)^2", "a/10", "log(a + 1)^2"]),
        ("y ~ `no children` + center(`no children`)", ["`no children`", "center(`no children`)"]),
    ],
)
def test_terms_of_a_formula(text, terms):
    formula = parse_formula(text)
    assert str(formula) == f"y ~ {' + '.join(terms) or '1'}"
    assert parse_formula(str(formula)).terms == formula.terms


CALCULATIONS = "I((a - b) - c);I(a - (b - c));I(a/(b*c));I(a/b*c);I((a + 1)^2);I((a/b)^2);I(a/b)"


@pytest.mark.parametrize("text", [*CALCULATIONS.split(";"), "I(2*a^2)", "center(a)^3", "sqrt(a/2)"])
def test_a_calculation_is_written_as_it_is_computed(text):
    a, b, c = np.random.default_rng(1).uniform(1, 2, (3, 5))
    columns = {"a": a, "b": b, "c": c}
    once = model_matrix(parse_formula(f"y ~ {text}"), columns, np.ones(5, bool))
    again = model_matrix(parse_formula(f"y ~ {once.names[1]}"), columns, np.ones(5, bool))
    python = text.replace("^", "**").replace("I(", "(")
    names = {"sqrt": np.sqrt, "center": lambda x: x - x.mean(), "a": a, "b": b, "c": c}
    assert np.allclose(once.values[:, 1], eval(python, names))
    assert np.array_equal(once.values, again.values)


def test_predictors_of_a_formula():
    age, female = COLUMNS["age"][COMPLETE], COLUMNS["female"][COMPLETE]
    south, west = (COLUMNS["region"][1][COMPLETE] == code for code in (1, 2))
    found = matrix("y ~ center(age) + region + female + (age/10)^2 + center(age):female")
    assert found.names == (
        *("(intercept)", "center(age)", "region=south", "region=west"),
        *("female", "(age/10)^2", "center(age):female"),
    )
    centered = age - age.mean()
    by_hand = [np.ones(10), centered, south, west, female, (age / 10) ** 2, centered * female]
    assert np.allclose(found.values, np.column_stack(by_hand))
    assert np.array_equal(np.flatnonzero(found.used), COMPLETE)
    assert found.term.tolist() == [0, 1, 2, 2, 3, 4, 5]
    assert found.terms[2] == "region"


def test_a_reference_and_its_interactions():
    found = matrix("y ~ region*female", reference={"region": "west"})
    assert found.names[1:4] == ("region=north", "region=south", "female")
    assert found.names[4:] == ("region=north:female", "region=south:female")


def test_numbers_as_categories():
    found = matrix("y ~ factor(female) + age", reference={"female": "1"})
    assert found.names == ("(intercept)", "factor(female)=0", "age")


def test_other_rows_have_the_centers_and_levels_of_the_model():
    model = matrix("y ~ center(age) + region + female + center(age):female")
    other = model.at(
        {
            "age": np.array([50.0, np.nan, 30.0]),
            "female": np.array([1.0, 1.0, 0.0]),
            "region": Factor(("west", "east"), np.array([0, 0, 1])),
        }
    )
    centered = 50 - np.mean(COLUMNS["age"][COMPLETE])
    assert model.names[-1] == "center(age):female"
    assert np.allclose(other[0], [1, centered, 0, 1, 1, centered])
    assert np.isnan(other[1:]).any(1).all()  # a missing age, an unknown level


def test_rows_that_may_not_be_used_have_no_influence():
    keep = np.arange(12) < 6
    found = model_matrix(parse_formula("y ~ center(age)"), COLUMNS, keep)
    assert found.values[:, 1].mean() == pytest.approx(0)
    assert not found.used[6:].any()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y ~ age + agee", "agee"),
        ("y ~ age:female + age", "female is only in an interaction"),
        ("y ~ log(no)", "no column"),
        ("y ~ log(female)", "first in interview 1, where female is 0"),
        ("y ~ region^2", "has categories"),
        ("y ~ factor(age/10)", "takes a single column"),
        ("y ~ age + I(2*age + 1)", r"combination of \(intercept\), age"),
        ("y ~ age - female", "from '- female' on"),
        ("y ~ age +", "missing at the end"),
        ("y age", "such as 'armed ~ age"),
    ],
)
def test_mistakes_in_formulas(text, words):
    with pytest.raises(UsageError, match=words):
        matrix(text)


@pytest.mark.parametrize("text", ["0 + a", "(a + b)", "a/b", "a^b", "a^-1", "f(a)", "a b", "a $ b"])
def test_terms_that_mean_something_else_elsewhere_are_refused(text):
    with pytest.raises(UsageError, match="cannot be read from"):
        parse_formula(f"y ~ {text}")


def test_all_mistakes_are_named_together():
    with pytest.raises(UsageError) as caught:
        matrix("y ~ agee + femal")
    assert len(caught.value.problems) == 2
