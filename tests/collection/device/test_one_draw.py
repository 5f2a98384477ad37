"""Whoever sees every upload and can open it holds one draw, whatever the services answer.

The device is carried out for each outcome of its coins: delta is exact, without a sample.
"""

import itertools
from contextlib import suppress
from unittest import mock

import httpx
import pytest

from incrowd.collection.device import sending
from incrowd.collection.device.device import Device
from incrowd.collection.device.memory import DeviceMemory
from incrowd.collection.protocol.problem import KINDS
from incrowd.errors import IncrowdError
from tests.conftest import one_in, slowly
from tests.oracles.draws import Coins, delta, law, of_draws, one_question, opened, paths
from tests.oracles.shuffler import CODE, Shuffler, device, said

BUNDLE = one_question(codes=True)
Q = BUNDLE.plan.messages[0].noise.q
TWO_DRAWS = 0.338  # p^2 - e q^2 with p = e/(1 + e), by hand
REFUSALS = [name for name, kind in KINDS.items() if not kind.retry]


def refused(*answers):
    """Those answers to a person who tries again after each."""

    def act(one, shuffler, answer):
        for each in answers:
            shuffler.faults.append(each() if callable(each) else said(each))
            with suppress(IncrowdError):
                one.send({"smokes": answer})
        with suppress(IncrowdError):
            one.send({"smokes": answer})

    return act


def withdrawn(one, _, answer):
    one.send({"smokes": answer}, keep=True)
    one.withdraw()
    with suppress(IncrowdError):
        one.send({"smokes": answer}, code="0" * 16)


def corrected(one, shuffler, answer):
    shuffler.unknown = {CODE.encode()}
    with suppress(IncrowdError):
        one.send({"smokes": answer})
    one.send({"smokes": answer}, code="0" * 16)


def withdrawn_too_late(one, shuffler, answer):
    one.send({"smokes": answer}, keep=True)
    shuffler.closed = True
    with suppress(IncrowdError):
        one.withdraw()
    shuffler.closed = False
    with suppress(IncrowdError):
        one.send({"smokes": answer})


SITUATIONS = {
    **{name: refused(name) for name in REFUSALS},
    "a status that nobody knows": refused(lambda: httpx.Response(418)),
    "another address": refused(lambda: httpx.Response(307)),
    "refused twice": refused("code-unknown", "sealed"),
    "a corrected code": corrected,
    "withdrawn": withdrawn,
    "withdrawn too late": withdrawn_too_late,
}


def exact_delta(home, act):
    """Delta at epsilon 1 between yes and no, against whoever sees and opens everything."""
    numbers = itertools.count()

    def outcome(answer):
        def carry_out(flip):
            shuffler = Shuffler(BUNDLE)
            one = device(shuffler, home / str(next(numbers)), code=CODE)
            with mock.patch.object(sending.Keystream, "from_system", lambda: Coins(flip())):
                act(one, shuffler, answer)
            return opened(shuffler.bodies, BUNDLE)

        return law(paths(carry_out), BUNDLE)

    yes, no = outcome("yes"), outcome("no")
    return max(delta(yes, no), delta(no, yes))


class Forgetful:
    """The wrong device: it forgets what it drew after a refusal and a withdrawal."""

    def __enter__(self):
        withdraw = Device.withdraw

        def forget(one, *_):
            one.memory.drop(one.bundle)
            (one.memory.folder / "answered").unlink()

        def withdrawing(one):
            withdraw(one)
            forget(one)

        self.patches = [
            mock.patch.object(Device, "_settle", forget),
            mock.patch.object(Device, "withdraw", withdrawing),
            mock.patch.object(sending, "with_code", lambda sealed, *_: sealed),
        ]
        for patch in self.patches:
            patch.start()

    def __exit__(self, *_):
        for patch in self.patches:
            patch.stop()


@pytest.mark.parametrize("name", one_in(2, SITUATIONS))
def test_nothing_is_revealed_beyond_one_draw(home, name):
    assert exact_delta(home, SITUATIONS[name]) == 0.0


@pytest.mark.parametrize(
    ("name", "draws"),
    [("code-unknown", 2), *slowly(("sealed", 2), ("withdrawn", 2), ("refused twice", 3))],
)
def test_a_device_that_forgets_reveals_as_much_again_with_each_refusal(home, name, draws):
    with Forgetful():
        found = exact_delta(home, SITUATIONS[name])
    assert found == pytest.approx(of_draws(draws, Q), abs=1e-12)
    if draws == 2:
        assert found == pytest.approx(TWO_DRAWS, abs=5e-4)


@pytest.mark.parametrize("step", ["sealed", "_locked"])
def test_two_windows_have_one_draw(home, step):
    """The other window does everything while this one is at that step."""

    def both(one, shuffler, answer):
        other = device(shuffler, one.memory.folder, code=CODE)
        act, first = getattr(DeviceMemory, step), [True]

        def meanwhile(memory, *given):
            if first:
                first.pop()
                other.send({"smokes": answer})
            return act(memory, *given)

        with mock.patch.object(DeviceMemory, step, meanwhile), suppress(IncrowdError):
            one.send({"smokes": answer})

    assert exact_delta(home, both) == 0.0
