"""The tables of keys in docs/protocol.md are those of the classes that read and write plans."""

import dataclasses
import re

import pytest

from incrowd.accountant.channels.registry import CHANNELS
from incrowd.accountant.codes import WorstPair
from incrowd.plans.message import CellsMessage, JointReport
from incrowd.plans.plan import Assumption, Collected, EarlierPlan, Guarantee, Plan
from incrowd.survey.codes import Codes
from incrowd.survey.formulas import Formula
from incrowd.survey.layout import QuestionMatrix, QuestionSection, SurveyFrame
from incrowd.survey.questions import TYPES
from incrowd.survey.written import Group, Privacy, Table, WrittenSurvey
from tests.oracles.recorded import VECTORS

PAGE = (VECTORS.parent / "docs" / "protocol.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| (.*) \| (.*) \|$", flags=re.MULTILINE)
ALWAYS = "always"


def rows(name):
    """Keys -> (value, when it is present) of the table under an anchor."""
    table = PAGE.split(f'<a id="keys-of-{name}"></a>')[1].split("\n\n")[1]
    return {
        key: (value, present)
        for keys, value, present in ROW.findall(table)[1:]
        for key in re.findall(r"\w+", keys)
    }


def fields(*kinds):
    """Key -> whether it is always written, of all these classes together."""
    return {name: always for kind in kinds for name, always in _fields_of(kind)}


def _fields_of(kind):
    if dataclasses.is_dataclass(kind):
        return [(field.name, True) for field in dataclasses.fields(kind)]
    return [(field.alias or name, field.exclude_if is None) for name, field in _written(kind)]


def _written(kind):
    """The fields of a class that plans have: the others are in the survey file alone."""
    return [(name, field) for name, field in kind.model_fields.items() if not field.exclude]


TABLES = {
    "plan": [Plan],
    "survey": [WrittenSurvey],
    "question": list(TYPES.values()),
    "message": [JointReport, CellsMessage],
    "guarantee": [Guarantee],
    "earlier": [EarlierPlan],
}


@pytest.mark.parametrize("name", TABLES)
def test_every_key_is_in_its_table_with_when_it_is_present(name):
    found, documented = fields(*TABLES[name]), rows(name)
    assert set(found) == set(documented)
    of_all = {key for key in found if all(key in fields(kind) for kind in TABLES[name])}
    for key, written in found.items():
        assert (documented[key][1] == ALWAYS) == (written and key in of_all), key


def test_a_key_of_some_types_of_question_names_them():
    for key, (_, present) in rows("question").items():
        types = {type for type, kind in TYPES.items() if key in fields(kind)}
        if len(types) < len(TYPES):
            assert set(re.findall(r"\w+", present)) == types, key


@pytest.mark.parametrize("name", TABLES)
def test_the_ranges_of_the_tables_are_those_of_the_classes(name):
    """Every limit of a field is in its row."""
    for kind in TABLES[name]:
        for key, field in _written(kind):
            value, _ = rows(name)[field.alias or key]
            for limit in field.metadata:
                for bound in ("ge", "gt", "le", "lt"):
                    if (number := getattr(limit, bound, None)) is not None:
                        assert written(number) in value, (key, bound, number)


def written(number):
    powers = {10**13: "10^13", 2**31: "2^31"}
    return powers.get(number, f"{number:,.0f}")


INNER = {
    ("survey", "privacy"): [Privacy],
    ("survey", "table"): [Table],
    ("survey", "message"): [Group],
    ("survey", "regression"): [Formula],
    ("survey", "codes"): [Codes],
    ("survey", "page"): [SurveyFrame],
    ("survey", "section"): [QuestionSection],
    ("survey", "matrix"): [QuestionMatrix],
    ("guarantee", "assumptions"): [Assumption],
    ("guarantee", "worst"): [WorstPair],
    ("earlier", "collected"): [Collected],
}


@pytest.mark.parametrize("place", INNER, ids=".".join)
def test_the_keys_of_an_object_within_a_table_are_in_its_row(place):
    table, key = place
    value, _ = rows(table)[key]
    assert [name for name in fields(*INNER[place]) if f"`{name}`" not in value] == []


def test_the_numbers_of_randomizers_are_those_of_their_channels():
    table = PAGE.split("### Randomizers")[1].split("|---|---|---|")[1].split("L(x, y) =")[0]
    found, kind = {}, ""
    for first, numbers in re.findall(r"^\| (`[\w -]+`)? ?\| ([^|]*) \|", table, flags=re.MULTILINE):
        kind = first.strip("`") or kind
        found.setdefault(kind, set()).update(re.findall(r"`(\w+)`", numbers))
    assert found == {kind: set(channel.parameters) for kind, channel in CHANNELS.items()}
