"""What is said of surveys whose answers are randomized in interviews."""

from pydantic import ValidationError

from incrowd.errors import Problem, SurveyError
from incrowd.interviews.designs import ItemDesign, design_of
from incrowd.survey.toml import Mistake

YES_NO = ("no", "yes")


def design(*raw, answers=YES_NO):
    """The designs of an item, one for each group."""

    def call(_):
        try:
            item = ItemDesign(answers, tuple(map(design_of, raw)))
        except ValidationError as error:
            first = error.errors()[0]
            inner = first["ctx"]["error"]
            if isinstance(inner, Mistake):
                raise SurveyError(Problem((*first["loc"], *inner.path), inner.message)) from None
            said = Problem(first["loc"], "survey.unfit", value=first["input"], reason=inner.reason)
            raise SurveyError(said) from None
        except Mistake as mistake:
            raise SurveyError(Problem(mistake.path, mistake.message)) from None
        raise SurveyError(*item.problems())

    return call


HALVES = {"no": ["1/2", "1/2"], "yes": ["1/4", "3/4"]}

CASES = {
    "design: probability": design({"kind": "warner", "p": "one sixth"}),
    "design: percent": design({"kind": "warner", "p": 25}),
    "design: unknown": design({"kind": "dice"}),
    "design: three answers": design({"kind": "warner", "p": "1/6"}, answers=("a", "b", "c")),
    "design: repeated birthday": design({"kind": "crosswise", "p": "1/4", "repeats": 2}),
    "design: repeated answers": design(
        {"kind": "forced", "forced": {"a": "1/6"}, "repeats": 2}, answers=("a", "b", "c")
    ),
    "design: tells nothing": design({"kind": "warner", "p": "1/2"}),
    "design: no answer": design({"kind": "forced", "forced": {"maybe": "1/6"}}),
    "design: no truth": design({"kind": "forced", "yes": "1/2", "no": "1/2"}),
    "design: sum of column": design({"kind": "matrix", "columns": HALVES | {"no": ["1/2", "1/4"]}}),
    "design: length of column": design({"kind": "matrix", "columns": HALVES | {"no": ["1"]}}),
    "design: other columns": design({"kind": "matrix", "columns": HALVES}, answers=("a", "b")),
    "design: one group": design({"kind": "unrelated", "p": "2/3"}),
}
