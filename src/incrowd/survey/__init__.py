"""Questions and surveys: plain frozen data, TOML in."""

from incrowd.accountant.schema import Domain
from incrowd.survey.codes import Codes
from incrowd.survey.questions import (
    NO_ANSWER,
    NONE,
    SEPARATOR,
    Amount,
    AnyQuestion,
    Choice,
    Multi,
    Number,
    Text,
    YesNo,
)
from incrowd.survey.randomizers import Randomizer
from incrowd.survey.surveys import Group, Privacy, Survey, Table

__all__ = [
    "NONE",
    "NO_ANSWER",
    "SEPARATOR",
    "Amount",
    "AnyQuestion",
    "Choice",
    "Codes",
    "Domain",
    "Group",
    "Multi",
    "Number",
    "Privacy",
    "Randomizer",
    "Survey",
    "Table",
    "Text",
    "YesNo",
]
