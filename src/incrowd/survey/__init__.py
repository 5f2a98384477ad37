"""Questions and surveys: plain frozen data, TOML in."""

from incrowd.accountant.schema import Domain
from incrowd.survey.codes import Codes
from incrowd.survey.question import NO_ANSWER, NONE, NOT_ASKED, SEPARATOR, UNANSWERED, AnyQuestion
from incrowd.survey.randomizers import Randomizer
from incrowd.survey.surveys import Survey
from incrowd.survey.types.amount import Amount
from incrowd.survey.types.choice import Choice
from incrowd.survey.types.multi import Multi
from incrowd.survey.types.number import Number, WithEdges, takes_numbers
from incrowd.survey.types.text import Text, takes_words
from incrowd.survey.types.yes_no import YesNo
from incrowd.survey.written import Group, Privacy, Table

__all__ = [
    "NONE",
    "NOT_ASKED",
    "NO_ANSWER",
    "SEPARATOR",
    "UNANSWERED",
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
    "WithEdges",
    "YesNo",
    "takes_numbers",
    "takes_words",
]
