"""What is said of surveys whose answers are randomized in interviews."""

import numpy as np
from pydantic import ValidationError

from incrowd.errors import Problem, SurveyError
from incrowd.interviews.designs import ItemDesign, design_of
from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.shares import moments
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


def shares(reports, *, same=False, items=1, groups=1, weights=None):
    """The shares of items by moments. same: whether reports say nothing about answers."""

    def call(_):
        rows = [[1 / 2, 1 / 2]] * 2 if same else [[5 / 6, 1 / 6], [1 / 6, 5 / 6]]
        matrices = ItemMatrices(np.array([rows, *[[[1 / 2, 1 / 2]] * 2] * (groups - 1)]))
        group = np.arange(len(reports)) % groups
        item = ReportedItem(np.array(reports), group, matrices)
        moments([item] * items, weights)

    return call


HALVES = {"no": ["1/2", "1/2"], "yes": ["1/4", "3/4"]}

CASES = {
    "shares: no weight": shares([0, 1], weights=np.zeros(2)),
    "shares: one interview": shares([1, MISSING]),
    "shares: not identified": shares([0, 1], same=True),
    "shares: one group": shares([0, 1, 1, 0], items=2, groups=2),
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
