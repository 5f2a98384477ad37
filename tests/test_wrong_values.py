"""Every public name, given wrong types and values: an error of the package, or a result."""

import inspect
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_randomized_response

import incrowd
from incrowd import accountant
from incrowd.accountant.numerics.positive_part import DeltaBounds
from incrowd.errors import IncrowdError
from tests.conftest import slowly_except
from tests.messages.shared import made, people, reports, survey

NAN, INF = float("nan"), float("inf")
WRONG = [
    *(None, "x", NAN, INF, -1, 0, 1.5, True, [], [1], ["x"], {}, object()),
    *(np.array([0.5, 1.0]), np.array(["x"]), np.array(0.5), np.float64(0.5), np.int64(3)),
]
NUMBERS = [  # of the accountant: numbers of other libraries, arrays, and huge numbers
    *(np.float32(0.5), np.uint8(3), np.bool_(True), np.array([0.5, NAN]), np.array([[1], [3]])),
    *(Fraction(1, 2), Decimal("0.5"), 1j, b"x", -INF, 10**30, 10**400, (), [[0.5], [1, 2]]),
]
FLIP = accountant.BitFlip(2**30)
BIT = accountant.Bit(2**30, 2**31)
K_ARY = accountant.KAry.from_probabilities(0.7, 3)
YES_NO = accountant.Domain(1, 0, 1)
PART = accountant.Part(YES_NO, FLIP)
SCHEMA = accountant.Schema.of([PART])
SENT = accountant.Contribution.of(SCHEMA)
CURVE = accountant.privacy_curve("blanket", FLIP, 100)
NOISE = accountant.AdditiveNoise.laplace(1.0, most=20)

# What works, by the name of a parameter; a parameter of a call in `OF_ITS_OWN` comes first.
GOOD = {
    **{"analysis": "blanket", "sent": FLIP, "crowd": 100, "epsilon": 1.0, "delta": 1e-6},
    **{"family": lambda flip: flip, "numerator": 2**30, "one_if_zero": 2**30, "keep": 2**31},
    **{"one_if_one": 2**31, "options": 3, "unrelated": 2**30, "permanent": FLIP, "first": FLIP},
    **{"second": FLIP, "bits": 3, "fewest": 1, "most": 1, "domain": YES_NO, "channel": FLIP},
    **{"reports": SENT.reports, "each": (SENT,), "forward": CURVE.forward, "a": 0.7, "q": 0.2},
    **{"backward": CURVE.forward, "logit": -1.0, "excess": 1.0, "flip": FLIP, "f": 0.3},
    **{"p_ir": 0.2, "q_ir": 0.7, "domains": [YES_NO], "schema": SCHEMA, "other": SENT},
    **{"numerators": (1 << 63, 1 << 62), "weights": [2.0, 1.0], "loss": 1.0, "deviation": 2.0},
    **{"shifts": [2], "variances": [1.0], "eta": 1e-6, "worst": (), "assumption": "whole-crowd"},
    **{"proved": True, "by": "exact", "copies": 1, "presence": None, "absence": None},
    **{"distribution": from_randomized_response(0.5, 2)},
    **{"rows": ((4, 1), (1, 4)), "matrix": [[0.8, 0.2], [0.2, 0.8]]},
    **{"curves": [(CURVE, 2)], "count": 2, "answers": (0, 1), "parts": [PART]},
}
OF_ITS_OWN = {
    "Schema": {"parts": SCHEMA.parts},
    **{each: {"delta": DeltaBounds(0.0, 0.0, 0.1)} for each in ("Certificate", "Assessment")},
    "PrivacyCurve.__mul__": {"other": CURVE},
    "pair_curve": {"p": [0.3, 0.7], "q": [0.6, 0.4]},
    "from_losses": {"losses": accountant.to_losses(CURVE)},
    **{each: {"curve": CURVE} for each in ("to_losses", "to_dp_accounting")},
    "Bit.from_probabilities": {"one_if_zero": 0.1, "one_if_one": 0.3},
    "KAry.from_probabilities": {"keep": 0.7},
    "AdditiveNoise.plus": {"other": NOISE},
}
INSTANCES = (FLIP, BIT, K_ARY, SENT, CURVE, NOISE, accountant.Alternatives((SENT,)))
INSTANCES += (accountant.MatrixChannel(((4, 1, 1), (1, 4, 1), (1, 1, 4))),)
INSTANCES += (accountant.Warner(2**30), accountant.Simmons(2**30), accountant.Rappor(FLIP, BIT))
INSTANCES += (accountant.TwoStage(FLIP, FLIP), PART, SCHEMA, YES_NO)
# Results, which callers read; bases of channels, which callers derive; and what draws reports.
NOT_CALLED = {"ANALYSES", "AnswerChannel", "Channel"}
NOT_CALLED |= {"respond", "chosen", "check_answers", "count", "index"}


def accounting():
    """Every public function, constructor, and method of the accountant: its name and itself."""
    for name in set(accountant.__all__) - NOT_CALLED:
        yield name, getattr(accountant, name)
    for one in INSTANCES:
        for name in dir(one):
            if name in ("__pow__", "__mul__") or not name.startswith("_"):
                method = inspect.getattr_static(type(one), name, None)
                method = getattr(method, "__func__", method)
                own = inspect.isfunction(method) and name not in NOT_CALLED
                if (own and not isinstance(one, tuple)) or (own and name in ("of", "uniform")):
                    yield f"{type(one).__name__}.{name}", getattr(one, name)


CALLS = {name: call for name, call in sorted(accounting()) if inspect.signature(call).parameters}


def working(name, call):
    """Arguments that work."""
    own = OF_ITS_OWN.get(name, {})
    return {
        each.name: own.get(each.name, GOOD.get(each.name))
        for each in inspect.signature(call).parameters.values()
        if each.default is each.empty and each.kind is not each.VAR_POSITIONAL
    }


def faults(call, arguments, values=WRONG):
    """The exceptions that are not errors of the package, for wrong values of each parameter."""
    for wrong, parameter in inspect.signature(call).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        for value in values:
            try:
                call(**arguments | {wrong: value})
            except IncrowdError as error:
                assert str(error)
            except Exception as error:
                yield f"{wrong}={value!r}: {error!r}"


@pytest.mark.parametrize("name", CALLS)
def test_the_accountant_raises_only_errors_of_the_package(name):
    call = CALLS[name]
    arguments = working(name, call)
    call(**arguments)  # the others are wrong because of one value
    assert list(faults(call, arguments, [*WRONG, *NUMBERS])) == []


def test_the_functions_below_the_checks_raise_other_exceptions():
    """The incorrect variant: the functions themselves."""
    below = accountant.certify.__wrapped__
    assert len([*faults(below, working("certify", accountant.certify))]) > 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CURVE**2.5, "count: got 2.5; should be a whole number"),
        (lambda: CURVE**0, "count: got 0; should be a whole number from 1 to 1,000,000,000"),
        (lambda: CURVE * 2, "other: got 2; should be what privacy_curve(...) gives"),
        (lambda: 2 * CURVE, "other: got 2; * composes two curves; to repeat one, use a power"),
        (lambda: accountant.ANALYSES["x"], "analysis: got 'x'; use one of shuffle, seat, blanket"),
        (
            lambda: CURVE.delta(np.array(["x"])),
            "epsilon: got a ndarray; should be a number, or an array of numbers",
        ),
        (lambda: CURVE.delta([0.5, NAN]), "epsilon: got nan; should be a number, such as 1.0"),
        (lambda: CURVE.epsilon([1e-6, 2.0]), "delta: got 2.0; should lie strictly between 0 and 1"),
        (
            lambda: accountant.smallest_delta("blanket", FLIP, [90, 100], [0.5, 1.0, 2.0]),
            "epsilon and crowd: their shapes (3,) and (2,) do not fit together",
        ),
        (lambda: CURVE**True, "count: got True; should be a whole number"),
        (lambda: CURVE**10**12, "count: got 1000000000000; should be a whole number from 1 to"),
        (
            lambda: accountant.certify("blanket", FLIP, 10**18, 1.0),
            "crowd: got 1000000000000000000; should be at most 1,000,000,000,000,000 honest",
        ),
        (
            lambda: accountant.certify("local", FLIP, 100, 10**400),
            "should be a number below 1.8e308",
        ),
        (lambda: accountant.Alternatives(()), "each: empty; should be at least one contribution"),
        (lambda: accountant.Schema(()), "bits: got 0; use 1 to 64 free bits"),
        (
            lambda: accountant.smallest_noise("blanket", lambda: FLIP, 1000, 1.0, 1e-6),
            "family: does not take a bit flip: too many positional arguments",
        ),
        (lambda: CURVE.plot(3), "others: got 3; should be a tuple of values of type PrivacyCurve"),
        (lambda: CURVE.plot(library="excel"), "library: got 'excel'; use one of altair, matpl"),
        (lambda: accountant.Certificate(1), "Certificate(): missing a required argument"),
        (lambda: accountant.KAry.from_epsilon(1.0, 10**30), "options: got 1000000000000000000"),
        (lambda: accountant.BitFlip(0.2), "BitFlip.at_least(0.2) takes a probability"),
        (
            lambda: accountant.certify("shuffle", 0.2, 1000, 1.0),
            "sent: got 0.2; should be a Contribution, a Schema, or a channel",
        ),
        (
            lambda: accountant.certify("shuffle", FLIP, 10_000.5, 1.0),
            "crowd: got 10000.5; should be a whole number",
        ),
        (
            lambda: accountant.smallest_noise("shuffle", lambda _: 3, 1000, 1.0, 1e-6),
            "sent: got 3; should be a Contribution, a Schema, or a channel",
        ),
        (lambda: accountant.Domain(1, 2, 1), "domain: got 1, 2, 1; should be bits, fewest, and"),
        (lambda: accountant.Schema.of([0.2]), "parts: got a list of 0.2; should be a list"),
        (lambda: accountant.Contribution.of(FLIP), "schema: got a BitFlip; should be what Schema"),
    ],
)
def test_errors_name_the_parameter_the_value_and_what_works(call, message):
    with pytest.raises(IncrowdError) as error:
        call()
    assert message in str(error.value)
    assert error.value.exit_code == 2


# The functions of the whole path; those of the accountant are above.


def arguments_of(tmp_path):
    plan, collected = made(), list(reports())
    return {
        **{"plan": plan, "survey": plan.survey, "reports": collected, "answers": people(9)},
        **{"estimates": incrowd.estimate(plan, collected), "first": "a", "second": "b"},
        **{"ids": ["a"], "standard_error": 0.1, "guarantee": plan.guarantee, "unknown": "epsilon"},
        **{"error": 0.2, "margin": 0.2, "tables": [["a"]], "method": "simplex", "trials": 2},
        **{"path": tmp_path / "x", "seed": 1},
    }


PATH = [
    name
    for name in incrowd.__all__
    if inspect.isfunction(getattr(incrowd, name)) and name not in accountant.__all__
]


# Each value is wrong for a whole computation of these; what checks it is what checks the others.
LONG = ("compare", "plan", "simulate", "solve")


@pytest.mark.parametrize("name", slowly_except(PATH, *({*PATH} - {*LONG})))
def test_public_functions_raise_only_errors_of_the_package(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, good = getattr(incrowd, name), arguments_of(tmp_path)
    parameters = inspect.signature(call).parameters.values()
    arguments = {each.name: good[each.name] for each in parameters if each.default is each.empty}
    if name == "solve":  # without a shuffler, plans take no time
        arguments |= {"survey": survey(), "error": 0.2}
    if name == "simulate":
        arguments |= {"trials": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert list(faults(call, arguments)) == []
