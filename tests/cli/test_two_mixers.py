"""Every command states what holds for a collection with two mixers, and who could cheat."""

import json
import random

import pytest

import incrowd
from incrowd.cli.inviting import bundle_facts, print_bundle
from incrowd.collection.claims import bundle_guarantee
from tests.conftest import one_in
from tests.oracles import mixers

CROWD, PEOPLE = 40, 60
IDS = ("ill", "old")
ACCEPT = "--accept-smaller-crowd"
SAID = "no single party and no two together can learn more than this"


@pytest.fixture(scope="module")
def bundle():
    questions = [{"id": id, "type": "yesno"} for id in IDS]
    raw = {"name": "s", "crowd": CROWD, "privacy": {"epsilon": 3.0, "delta": 0.01}}
    message = [{"questions": list(IDS)}]
    plan = incrowd.plan(incrowd.Survey.of(raw | {"question": questions, "message": message}))
    return mixers.bundle(plan, second=mixers.SECOND_CLASSICAL)


@pytest.fixture(scope="module")
def folder(bundle, tmp_path_factory):
    """The files of a collector: plan, bundle, key, and a release."""
    folder = tmp_path_factory.mktemp("collector")
    coins = [[[bytes([random.randrange(4)])]] for _ in range(PEOPLE)]
    uploads = [mixers.upload(bundle, mixers.in_slots(bundle, coin)) for coin in coins]
    signed, _ = mixers.batch(bundle, uploads)
    reports = mixers.opened(bundle, uploads, second=mixers.SECOND_CLASSICAL)
    released, body = mixers.release(bundle, reports, signed)
    (folder / "0.release").write_bytes(released.encoded + body)
    (folder / "plan.json").write_text(bundle.plan.dumps())
    (folder / "bundle.json").write_bytes(bundle.encoded)
    (folder / "private.key").write_bytes(mixers.COLLECTOR_KEY.secret)
    return folder


@pytest.fixture
def opened(call, folder):
    """The folder of the opened reports, and what `open` said."""
    output = folder / "opened"
    if not output.exists():
        files = folder / "0.release", "--bundle", folder / "bundle.json"
        key = folder / "private.key"
        code, out, err = call("open", *files, "--key", key, "-o", output, "--keep-key", "--json")
        assert code == 0, err
        holds(json.loads(out)["guarantee"])
    return output


def holds(guarantee):
    assert guarantee["epsilon"] == pytest.approx(3.0) and guarantee["reduced_by"] == []
    assert guarantee["mixed_by"] == ["two-mixers"] and SAID in guarantee["sentence"]
    local = {"epsilon": guarantee["local_epsilon"], "delta": 0.0, "proved": True}
    assert guarantee["against"]["both mixers and collector"] == local
    assert guarantee["against_if_planned"]["inviter"] == local
    assert guarantee["against"]["inviter"] != local != guarantee["against"]["collector"]


COMMANDS = {
    "verify": (),
    "estimate": (ACCEPT,),
    "compare": (*IDS, ACCEPT),
    "regress": ("--outcome", "ill", "--on", "old", ACCEPT),
    "postprocess": (ACCEPT,),
    "correlate": (ACCEPT,),
}


@pytest.mark.parametrize("command", one_in(3, COMMANDS))
def test_what_is_made_of_reports_says_who_could_cheat(call, folder, opened, command):
    words = command, folder / "plan.json", opened, *COMMANDS[command]
    code, out, err = call(*words, "--json")
    assert code == 0 or command == "regress", err
    facts = json.loads(out)
    holds(facts["tables"][0]["guarantee"] if "guarantee" not in facts else facts["guarantee"])
    _, out, err = call(*words, *(() if command == "verify" else ("-v",)))
    assert "".join(SAID.split()) in "".join((out + err).split())


def test_verify_lists_what_each_party_signed(call, folder, opened):
    _, _, err = call("verify", folder / "plan.json", opened)
    said = " ".join(err.split())
    assert f"the first mixer signed that {PEOPLE} people sent" in said
    assert f"the second mixer that {PEOPLE} sealed reports have a token" in said


@pytest.mark.parametrize("command", ["card", "page"])
def test_a_bundle_says_it_beforehand(call, folder, tmp_path, command):
    more = ("-o", tmp_path / "public") if command == "page" else ()
    code, out, err = call(command, folder / "bundle.json", *more, "--json")
    assert code == 0, err
    holds(json.loads(out)["guarantee"])


@pytest.mark.slow
def test_a_ledger_takes_it_as_mixed(call, folder, opened, tmp_path):
    ledger, files = tmp_path / "ledger.json", (folder / "plan.json", opened)
    assert call("ledger", ledger, "--new")[0] == 0
    code, out, err = call("ledger", ledger, *files, "--json")
    assert code == 0, err
    assert json.loads(out)["spent"]["epsilon"] == pytest.approx(3.0, rel=0.01)


def test_the_inviter_is_told_when_it_creates_the_bundle(bundle, tmp_path, capsys):
    """What `inviter init` prints of a new bundle, without creating its keys again."""
    guarantee = bundle_guarantee(bundle)
    facts = bundle_facts(bundle, guarantee, tmp_path / "bundle.json")
    holds(facts["guarantee"])
    assert "Works council (inviter) could" in facts["guarantee"]["who_could_cheat"]
    print_bundle(facts, bundle, guarantee)
    said = capsys.readouterr().out
    assert said.count(SAID) == 1 and "Works council (inviter) could" in said
