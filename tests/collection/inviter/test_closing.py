"""After closing: one statement, no keys, no codes, and nothing that brings them back."""

from unittest import mock

import pytest

from incrowd.collection.inviter import keeper, setup
from incrowd.collection.inviter.store import InviterStore, SigningDecision
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.protocol.mixing import Invitations
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.tokens import TokenRequest
from tests.conftest import slowly
from tests.oracles import mixers
from tests.oracles.inviting import CODES, KEYS, Inviter, bundle, pending


def answered(inviter, people=2):
    for code in CODES[:people]:
        assert inviter.post(pending(code).request)[0] == 200


def files(inviter):
    """The bytes of every file in the folder."""
    return {p.name: p.read_bytes() for p in inviter.settings.folder.rglob("*") if p.is_file()}


def secrets_of(inviter):
    """What must not remain: private keys, and the tags of the codes."""
    tags = [inviter.store.secrets.code_tag(code) for code in CODES]
    lines = [key.encoded.hex().encode() for key in KEYS.tokens]
    return [inviter.settings.secret_file.read_bytes(), *tags, *lines, *CODES]


def found(inviter, secrets):
    return [
        name for name, data in files(inviter).items() if any(secret in data for secret in secrets)
    ]


def test_nothing_closes_early(inviter):
    answered(inviter, 1)
    inviter.look(days=29)
    assert inviter.heard == [] and inviter.store.keys
    assert inviter.post(pending(CODES[1]).request)[0] == 200


def test_the_statement_counts_codes_that_got_tokens(inviter):
    answered(inviter)
    inviter.post(pending(CODES[0]).request)  # refused: another request
    inviter.look_at("closes")
    assert inviter.heard == [mixers.invitations(bundle(), 3, 2).encoded]
    signed, _ = Signed.parse(Invitations, inviter.heard[0])
    signed.check(bundle())


def test_keys_and_codes_are_gone_after_closing(inviter):
    answered(inviter)
    secrets = secrets_of(inviter)
    assert set(found(inviter, secrets)) >= {"store.key", "tokens.key"}
    inviter.away = True
    inviter.look_at("closes")
    assert found(inviter, secrets) == []
    assert not any(path.exists() for path in inviter.settings.private_files)
    assert inviter.store.keys is None and inviter.store.issued() == 0
    assert inviter.post(pending(CODES[2]).request) == (410, "closed")


def test_codes_that_are_not_wiped_would_be_found(inviter):
    secrets = secrets_of(inviter)
    with mock.patch.object(InviterStore, "forget"):
        inviter.look_at("closes")
    assert found(inviter, secrets), "the tags are still in the database"


def test_the_statement_is_repeated_until_it_is_acknowledged(inviter):
    answered(inviter)
    inviter.away = True
    inviter.look_at("closes")
    for _ in range(3):
        inviter.look(seconds=1)
    assert len(inviter.heard) == 1, "it waits between two tries"
    inviter.look(seconds=10)
    inviter.start()
    inviter.away = False
    inviter.look(hours=1)
    inviter.look(hours=1)
    assert len(inviter.heard) == 3 and len(set(inviter.heard)) == 1


@pytest.mark.parametrize("step", ["close", *slowly("forget", "acknowledge")])
@pytest.mark.parametrize("after", [True, False])
def test_a_process_that_stops_at_any_step_continues(tmp_path, step, after):
    """The same statement, and everything is destroyed."""
    inviter = Inviter(tmp_path)
    answered(inviter)
    secrets, act = secrets_of(inviter), getattr(InviterStore, step)

    def stopped(store, *given):
        if after:
            act(store, *given)
        raise SystemExit

    with mock.patch.object(InviterStore, step, stopped), pytest.raises(SystemExit):
        inviter.look_at("closes")
    inviter.start()
    inviter.look(hours=1)
    assert set(inviter.heard) == {mixers.invitations(bundle(), 3, 2).encoded}
    assert found(inviter, secrets) == [] and inviter.store.state() == "acknowledged"
    inviter.close()


@pytest.mark.parametrize("number", range(3))
def test_a_process_that_stops_between_two_keys_continues(tmp_path, number):
    inviter = Inviter(tmp_path)
    secrets, destroy, destroyed = secrets_of(inviter), keeper.destroy, []

    def stopped(path):
        if len(destroyed) == number:
            raise SystemExit
        destroyed.append(path)
        destroy(path)

    with mock.patch.object(keeper, "destroy", stopped), pytest.raises(SystemExit):
        inviter.look_at("closes")
    inviter.start()
    assert inviter.post(pending().request) == (410, "closed")
    inviter.now = inviter.now.replace(year=inviter.now.year - 1)  # a clock that was set back
    inviter.look()
    assert found(inviter, secrets) == [] and inviter.store.state() == "acknowledged"
    inviter.close()


def test_a_clock_that_is_set_back_opens_nothing(inviter):
    inviter.look_at("closes")
    inviter.now = inviter.now.replace(day=2)
    inviter.start()
    assert inviter.post(pending().request) == (410, "closed")
    with pytest.raises(StoreError, match="destroyed after closing"):
        inviter.store.invite([b"9" * 16])


def test_a_request_that_waits_while_it_closes_is_not_counted_later(inviter):
    """The decision is made in the transaction: after the statement, no code gets tokens."""
    prepared = inviter.store.prepare(TokenRequest.parse(pending().request, bundle()))
    inviter.keeper._close()
    assert inviter.store.take([prepared]) == [SigningDecision.CLOSED]


def test_everything_is_gone_after_disposal(inviter):
    answered(inviter)
    inviter.away = True
    inviter.look_at("closes")
    statement = inviter.heard[0]
    assert found(inviter, [statement])
    inviter.look_at("disposes")
    heard = len(inviter.heard)
    inviter.look(days=1)
    assert len(inviter.heard) == heard and inviter.store.state() == "disposed"
    inviter.store.engine.dispose()
    assert found(inviter, [statement]) == []


def test_the_check_says_what_is_left(inviter):
    def last():
        return setup.check(inviter.settings, inviter.store)[-1]

    assert last().subject != "left after closing"
    inviter.look_at("closes")
    assert (last().good, last().text) == (True, "nothing")
    inviter.settings.tokens_file.write_text("")
    assert not last().good and "tokens.key" in last().text
