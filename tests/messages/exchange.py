"""Why a curve from another tool cannot be used, or sent to one."""

import sys
from unittest import mock

from dp_accounting.pld import privacy_loss_distribution as theirs

from incrowd import accountant

HALF = {
    "step": 0.1,
    **{
        f"{order}_{name}": value
        for order in ("forward", "backward")
        for name, value in (("first", 0), ("mass", [1.0]), ("infinite", 0.0))
    },
}


def from_losses(**changed):
    return lambda _: accountant.from_losses({**HALF, **changed})


def without(key):
    return lambda _: accountant.from_losses({k: v for k, v in HALF.items() if k != key})


def pair(p, q, **options):
    return lambda _: accountant.pair_curve(p, q, **options)


def without_the_package(_):
    with mock.patch.dict(sys.modules, {"dp_accounting.pld.privacy_loss_distribution": None}):
        accountant.to_dp_accounting(accountant.from_losses(HALF))


def optimistic(_):
    options = {"pessimistic_estimate": False}
    accountant.from_dp_accounting(theirs.from_randomized_response(0.5, 2, **options))


CASES = {
    "a curve without dp_accounting": without_the_package,
    "a curve with an interval of 0": lambda _: accountant.to_dp_accounting(
        accountant.from_losses(HALF), interval=0.0
    ),
    "an optimistic distribution": optimistic,
    "a number in place of a distribution": lambda _: accountant.from_dp_accounting(0.5),
    "losses without a step": without("step"),
    "losses with a text for a step": from_losses(step="a tenth"),
    "losses with a step of 0": from_losses(step=0.0),
    "losses with a huge step": from_losses(step=1e300),
    "losses from half a place": from_losses(forward_first=0.5),
    "losses from a distant place": from_losses(forward_first=1e30),
    "losses without a mass": from_losses(backward_mass=[]),
    "losses with a negative mass": from_losses(backward_mass=[0.5, -0.5]),
    "losses with a text for masses": from_losses(forward_mass="one"),
    "losses with too much mass": from_losses(forward_mass=[0.75, 0.75]),
    "two laws of different outcomes": pair([0.5, 0.5], [1.0]),
    "a law that is not one": pair([0.5, float("nan")], [0.5, 0.5]),
    "laws with a step below 0": pair([0.5, 0.5], [0.5, 0.5], step=-1.0),
}
