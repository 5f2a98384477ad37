"""What is said of the public arrows: estimates, comparisons, cards, rounds and simulations."""

import sys
from dataclasses import replace
from unittest import mock

import incrowd
from incrowd.presentation.card import certified_card
from incrowd.presentation.write import check_ending
from tests.conftest import RECEIPT
from tests.messages.shared import asked, estimated, file, made, people, reports, survey


def less_noise():
    """A plan with less noise than it promises."""
    message = asked().messages[0]
    less = message.model_copy(update={"noise_numerator": message.noise_numerator // 2})
    return asked().model_copy(update={"messages": (less,)})


def postprocessed(kind="bits", tables=(("a",),), **options):
    return lambda _: incrowd.postprocess(made(kind), reports(kind), tables=tables, **options)


def fewer(rows=10, kind="bits"):
    return incrowd.randomize(made(kind), people(rows), simulation_seed=1)


def ledger(folder):
    incrowd.new_ledger(folder / "ledger.json")
    return folder / "ledger.json"


def without_pandas(_):
    with mock.patch.dict(sys.modules, {"pandas": None}):
        estimated().to_pandas()


def counted(**options):
    return incrowd.count(made(), reports(), **options)


def empty(collection):
    return replace(collection, packed=collection.packed[:0])


CASES = {
    "a file in the place of a plan": lambda _: incrowd.randomize("plan.json", people(3)),
    "an argument that is not known": lambda _: incrowd.plan(surveys=1),
    "people for an error below 0": lambda _: incrowd.people_needed(
        asked(), ["a"], standard_error=-1
    ),
    "a forecast with a power of 1": lambda _: incrowd.forecast(asked(), power=1),
    "a card of a plan that does not hold": lambda _: certified_card(less_noise()),
    "a card of a smaller local epsilon": lambda _: certified_card(
        made().model_copy(
            update={"guarantee": made().guarantee.model_copy(update={"local_epsilon": 0.01})}
        )
    ),
    "estimates with another ending": lambda folder: check_ending(folder / "page.pdf"),
    "words of another question": lambda _: estimated("text", candidates={"a": ["yes"]}),
    "words of a survey without text": lambda _: estimated(candidates={"a": ["yes"]}),
    "a table that was not counted": lambda _: incrowd.estimate(
        made(), counted(tables=[["a"]]), tables=[["b"]]
    ),
    "errors together of single bits": lambda _: incrowd.estimate(
        made(), counted(), covariance=True
    ),
    "a message without reports": lambda _: incrowd.estimate(
        made("messages"), reports("messages")[:1]
    ),
    "a message whose reports are rejected": lambda _: incrowd.estimate(
        made(), [empty(one) for one in reports()]
    ),
    "too few people": lambda _: incrowd.estimate(made(), fewer()),
    "one draw": postprocessed(bootstrap=1),
    "draws without end": postprocessed(bootstrap=10**30),
    "an unknown method": postprocessed(method="magic"),
    "likelihood of text": postprocessed("text", [("t",)]),
    "a ledger that exists": lambda folder: incrowd.new_ledger(file(folder, "ledger.json")),
    "nothing to note": lambda folder: incrowd.note(ledger(folder), made()),
    "too much to note": lambda folder: incrowd.note(
        ledger(folder), made(), reports(), as_planned=True
    ),
    "reports of a simulation to note": lambda folder: incrowd.note(
        ledger(folder), made(), reports()
    ),
    "reports of two bundles to note": lambda folder: incrowd.note(
        ledger(folder), made(), as_planned=True, received=[RECEIPT, replace(RECEIPT, bundle="c")]
    ),
    "trials without end": lambda _: incrowd.simulate(survey(), people(), trials=10**30),
    "one trial": lambda _: incrowd.simulate(survey(), people(), trials=1),
    "a negative seed": lambda _: incrowd.simulate(survey(), people(), seed=-1),
    "few people to keep": lambda _: incrowd.simulate(
        survey(), people(50), fixed_people=True, trials=2
    ),
    "words to weight a simulation to": lambda _: incrowd.simulate(
        made("text").survey, people(), trials=2, weight_to=["t"]
    ),
    "no pandas": without_pandas,
}
