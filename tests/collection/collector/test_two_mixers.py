"""What a collector receives of two mixers and the inviter, opens, and refuses."""

import asyncio
import json
import random
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import incrowd
from incrowd.collection.claims import bundle_guarantee, claims_of
from incrowd.collection.collector.app import application
from incrowd.collection.collector.collections import check_body_file, open_release
from incrowd.collection.collector.keeper import (
    check_machine,
    forget,
    is_complete,
    missing_strata,
    note_later,
    open_waiting,
)
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.progress import CollectorProgress, Gate, PeopleCount
from incrowd.collection.collector.receipt import load_receipt, receipts_of, save_receipt
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.sealed import seal
from incrowd.collection.protocol.signed import prove_cheating, sign
from incrowd.collection.protocol.tokens import SLOT, TokenReport, slot_text
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.steady import CertainClock
from incrowd.collection.taking import Taking
from incrowd.errors import IncrowdError, ProtocolError
from incrowd.plans.ledger import Ledger
from tests.conftest import one_in, run, slowly
from tests.oracles import mixers
from tests.oracles.make_vectors import PEOPLE, PLAN
from tests.oracles.serving import running

OF = mixers.bundle(strata=("north", "south"), second=mixers.SECOND_CLASSICAL)
NOW = as_time(OF.closes)
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
MESSAGES = range(len(PLAN.messages))
OCTETS = {"Content-Type": "application/octet-stream"}


def packed(message):
    """A report whose padding bits are zero."""
    bits = PLAN.messages[message].bits
    return random.getrandbits(bits).to_bytes(OF.shape.width(message), "little")


@pytest.fixture(scope="session")
def plain():
    """The plaintexts of each person of both strata."""
    return {stratum: [mixers.person(OF, n) for n in range(PEOPLE)] for stratum in (0, 1)}


@pytest.fixture(scope="session")
def uploads(plain):
    return [
        mixers.upload(OF, person, stratum=stratum)
        for stratum, people in plain.items()
        for person in people
    ]


@pytest.fixture(scope="session")
def batch(uploads):
    return mixers.batch(OF, uploads)[0]


@pytest.fixture(scope="session")
def reports(uploads):
    """What the second mixer opens, of the first stratum."""
    return mixers.opened(OF, uploads, 0, mixers.SECOND_CLASSICAL)


@pytest.fixture(scope="session")
def southern(uploads):
    return mixers.opened(OF, uploads, 1, mixers.SECOND_CLASSICAL)


@pytest.fixture
def places(tmp_path):
    places = CollectorPlaces(tmp_path / "collector")
    places.root.mkdir()
    places.private.write_bytes(mixers.COLLECTOR_KEY.secret)
    places.bundle.write_bytes(OF.encoded)
    return places


def take(data, places, of=OF):
    with Taking(of, places.releases(of), lambda *given: check_body_file(of, *given)) as taking:
        taking.add(data)
        return taking.done()


def sent(signed, body=b""):
    return signed.encoded + body


def taken_and_opened(places, *releases, of=OF):
    """The receipts of releases, each a signed header and a body."""
    for release in releases:
        take(sent(*release), places, of)
    open_waiting(places, of, mixers.COLLECTOR_KEY, 1)
    return [load_receipt(folder)[0] for folder in sorted(places.opened_ones.iterdir())]


def written(folder):
    return [sorted(map(bytes, each.packed)) for each in incrowd.load_reports(folder)]


def expected(people):
    """The reports of each message, by the layout of a plaintext alone."""
    every = [each for person in people for each in person]
    return [
        sorted(p[3 : 3 + OF.shape.width(n)] for p in every if p[1:3] == n.to_bytes(2))
        for n in MESSAGES
    ]


# --- what is opened ------------------------------------------------------------------------------


def test_every_report_is_there_once(places, reports, batch, plain):
    (receipt,) = taken_and_opened(places, mixers.release(OF, reports, batch))
    folder = places.opened_ones / "release-0"
    assert written(folder) == expected(plain[0])
    assert receipt.opened_people == receipt.people == PEOPLE
    assert receipt.tokens == [PEOPLE * slots for slots in OF.slots]
    lengths = map(len, expected(plain[0]))
    assert receipt.dummies == [
        PEOPLE * slots - length for slots, length in zip(OF.slots, lengths, strict=True)
    ]
    assert set(receipt.rejected) >= {"token", "another-message"}
    assert not any(receipt.rejected.values())
    assert receipt.issued is receipt.used is receipt.invitations is None


@pytest.mark.slow
def test_more_processes_open_the_same(reports, batch, plain, tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.collection.collector.collections.WORTH_IT", 1)
    monkeypatch.setattr("incrowd.collection.collector.collections.PIECE_REPORTS", 50)
    signed, body = mixers.release(OF, reports, batch)
    path = tmp_path / "release"
    path.write_bytes(body)
    open_release(path, 0, signed, OF, mixers.COLLECTOR_KEY, tmp_path / "opened", workers=2)
    assert written(tmp_path / "opened") == expected(plain[0])


def test_the_guarantee_is_that_of_the_claims(places, reports, southern, batch):
    """Two strata of one batch are estimated together; each is a crowd of its own."""
    releases = [mixers.release(OF, reports, batch)]
    releases.append(mixers.release(OF, southern, batch, stratum=1))
    taken_and_opened(places, *releases)
    received = receipts_of(PLAN, [places.opened_ones], files=True)
    every = incrowd.load_reports(places.opened_ones)
    made = incrowd.estimate(PLAN, every, received=received)
    assert claims_of(OF).mixers == 2
    assert {each.release.claims for each in every} == {claims_of(OF)}
    assert made.crowd == 2 * PEOPLE and len(made.received) == 2
    assert made.guarantee.epsilon == pytest.approx(PLAN.guarantee.epsilon)
    assert not made.guarantee.reduced_by
    assert incrowd.verify(PLAN, every, received=received).holds


CENTRAL = incrowd.plan(
    incrowd.Survey.of(
        {
            "name": "A crowd",
            "crowd": 1000,
            "colluding": 5,
            "privacy": {"epsilon": 1.0, "delta": 1e-6},
            "question": [{"id": "a", "type": "yesno"}],
        }
    )
)
LOOPBACK = {
    role: {"address": f"http://127.0.0.1:{port}"}
    for port, role in enumerate(("inviter", "first", "second", "collector"), 9001)
}


def test_what_a_bundle_guarantees():
    """A crowd hides everyone, unless one party has everything, or somebody signed twice."""
    of = mixers.bundle(plan=CENTRAL)
    stated = {name: getattr(of, name) for name in type(of).model_fields}
    runs = of.runs.model_copy(update={"first": "Institute", "second": " institute"})
    rehearsal = {role: stated[role].model_copy(update=at) for role, at in LOOPBACK.items()}
    for bundle, contradicted, local in (
        (of, False, False),
        (of, True, True),
        (type(of)(**stated | {"runs": runs}), False, True),
        (type(of)(**stated | rehearsal), False, True),
    ):
        guarantee = bundle_guarantee(bundle, 1020, contradicted=contradicted)
        assert (guarantee.analysis == "local") == local
        assert local or guarantee.crowd == CENTRAL.guarantee.crowd


# --- what a mixer or a device cheats with --------------------------------------------------------


def sealed(plaintext, stratum=0):
    return seal(plaintext, OF.key, OF.binding(stratum), OF.label)


def signed_by_inviter(message, inner, stratum=0):
    """A report with a token that a device requested for it."""
    text = slot_text(OF.digest, stratum, message, inner)
    return TokenReport(message, mixers.token(1 + message, text), inner)


def another_inner(report):
    """B swaps what is sealed, and keeps the token."""
    return replace(report, inner=sealed(OF.shape.report(report.message, packed(report.message))))


def token_over_a_nonce(report):
    """A token that is not bound to its report: B could swap it."""
    nonce = bytes(32)
    text = SLOT + OF.digest + bytes(2) + report.message.to_bytes(2) + nonce
    return replace(report, token=mixers.token(1 + report.message, text))


def entry_token(report):
    text = slot_text(OF.digest, 0, report.message, report.inner)
    return replace(report, token=mixers.token(0, text))


def another_stratum(report):
    return signed_by_inviter(report.message, report.inner, stratum=1)


def sealed_for_another_stratum(report):
    dummy = sealed(OF.shape.dummy, stratum=1)
    return signed_by_inviter(report.message, dummy)


def another_message(report):
    """A device fills a slot of this message with a report of the next."""
    message = (report.message + 1) % len(MESSAGES)
    return signed_by_inviter(
        report.message, sealed(OF.shape.report(message, bytes(OF.shape.width(message))))
    )


def a_mark(report):
    return signed_by_inviter(report.message, sealed(OF.shape.dummy[:-1] + b"\1"))


CHEATS = {
    "token": [another_inner, token_over_a_nonce, entry_token, another_stratum],
    "unopened": [sealed_for_another_stratum],
    "another-message": [another_message],
    "malformed": [a_mark],
}


EACH = [(kind, cheat) for kind, cheats in CHEATS.items() for cheat in cheats]
OF_EACH = [(*each, message) for each in EACH for message in MESSAGES]
QUICK = [(*each, n % len(MESSAGES)) for n, each in enumerate(EACH)]  # of one message each


@pytest.mark.parametrize(
    ("kind", "cheat", "message"),
    [*QUICK, *slowly(*(each for each in OF_EACH if each not in QUICK))],
)
def test_a_wrong_report_is_not_counted(places, reports, batch, kind, cheat, message):
    """So many of one message that a person less remains: the other messages do not fill up."""
    of_it = [n for n, report in enumerate(reports) if report.message == message]
    cheated = {n: cheat(reports[n]) for n in of_it[:1]}
    mixed = [cheated.get(n, report) for n, report in enumerate(reports)]
    (receipt,) = taken_and_opened(places, mixers.release(OF, mixed, batch))
    assert {kind: n for kind, n in receipt.rejected.items() if n} == {kind: 1}
    assert receipt.opened_people == PEOPLE - 1


def test_a_report_twice_counts_once(places, reports, batch):
    twice = [reports[0], *reports]
    del twice[next(n for n, r in enumerate(twice) if n > 1 and r.message == reports[0].message)]
    (receipt,) = taken_and_opened(places, mixers.release(OF, twice, batch))
    assert receipt.rejected["repeated"] == 1 and receipt.opened_people == PEOPLE - 1


# --- what is refused -----------------------------------------------------------------------------


def wrong(reports, batch, uploads):
    signed, body = mixers.release(OF, reports, batch)
    header = signed.header

    def changed(key=mixers.SECOND, **changes):
        return sent(sign(replace(header, **changes), key), body)

    tokens = header.tokens
    forged = sign(batch.header, OTHER)
    yield "release.signature", changed(OTHER)
    yield "release.signature", changed(mixers.FIRST)
    yield "batch.signature", changed(batch=forged)
    yield "batch.signature", changed(batch=sign(batch.header, mixers.SECOND))
    yield "release.bundle", changed(bundle=bytes(32))
    yield "release.stratum", changed(stratum=2)
    yield "release.tokens", changed(tokens=(sum(tokens),))
    yield "release.tokens", changed(tokens=(*tokens[:-1], tokens[-1] + 1))
    yield "release.tokens", changed(tokens=(1, *tokens[1:]))
    yield "release.body", changed(tokens=(tokens[0] - 1, *tokens[1:]))
    yield "release.body", changed(body=bytes(32))
    yield "release.body", changed(tokens=())
    fewer = mixers.release(OF, [r for r in reports if r is not reports[0]], batch)
    message = reports[0].message
    stated = tuple(n - (i == (message + 1) % len(tokens)) for i, n in enumerate(tokens))
    yield (
        "release.body",
        sent(sign(replace(fewer[0].header, tokens=stated), mixers.SECOND), fewer[1]),
    )
    yield "batch", sent(signed)[:-1]
    small = mixers.batch(OF, uploads[:PEOPLE])[0].header
    few = sign(replace(small, people=((0, PEOPLE - 1),)), mixers.FIRST)
    yield "batch.people", changed(batch=few)


@pytest.mark.parametrize("number", range(15))
def test_a_wrong_release_leaves_nothing(places, reports, batch, uploads, number):
    field, data = list(wrong(reports, batch, uploads))[number]
    with pytest.raises(ProtocolError) as refused:
        take(data, places)
    assert refused.value.problems[0].field == field
    left = {path for path in places.root.rglob("*") if path.is_file()}
    assert left == {places.private, places.bundle}


def test_a_second_release_of_a_stratum_is_kept_as_a_proof(places, reports, batch):
    release = mixers.release(OF, reports, batch)
    (before,) = taken_and_opened(places, release)
    others = mixers.release(OF, [*reports[::-1]], batch)
    assert not before.contradictions and others[0] != release[0]
    with pytest.raises(ProtocolError, match="contradiction"):
        take(sent(*others), places)
    note_later(places, OF)
    proofs = places.releases(OF).proofs()
    assert len(proofs) == 2 and prove_cheating(*proofs, OF)
    (received,) = receipts_of(PLAN, [places.opened_ones])
    assert received.contradicted
    findings = {each.subject: each for each in check_machine(places, OF, NOW)}
    assert not findings["contradictory releases"].good


def test_a_second_batch_is_found_in_another_stratum(places, reports, southern, batch):
    """The first mixer signed two batches, and the second mixer took both."""
    second = sign(replace(batch.header, body=bytes(32)), mixers.FIRST)
    taken_and_opened(places, mixers.release(OF, reports, batch))
    with pytest.raises(ProtocolError, match="contradiction"):
        take(sent(*mixers.release(OF, southern, second, stratum=1)), places)
    note_later(places, OF)
    receipt, _ = load_receipt(places.opened_ones / "release-0")
    (other,) = receipt.contradicting
    assert other.header.batch == second


# --- too few tokens ------------------------------------------------------------------------------


def test_a_stratum_with_too_few_tokens_is_final(places, reports, batch):
    refusal = mixers.release(OF, [], batch, stratum=1)
    south = refusal[0]
    receipts = taken_and_opened(places, refusal, mixers.release(OF, reports, batch))
    refused = receipts[1]
    assert refused.is_refused and refused.opened_people == 0 and refused.messages == []
    assert sorted(path.name for path in places.opened(south).iterdir()) == [
        "bundle.json",
        "receipt.json",
    ]
    findings = {each.subject: each for each in check_machine(places, OF, NOW)}
    assert "too few tokens" in findings["release 1"].text
    assert len(receipts_of(PLAN, [places.opened_ones])) == 1
    gate = Gate(OF, places)
    facts = CollectorProgress(OF, gate, PeopleCount(OF, lambda: NOW), lambda: NOW).facts()
    assert [each["too_few"] for each in facts["strata"]] == [False, True]
    assert facts["phase"] == "opened" and facts["opened_people"] == PEOPLE
    assert len(gate.passed()) == 1
    tokens = tuple(PLAN.survey.crowd * slots for slots in OF.slots)
    later = sign(replace(south.header, tokens=tokens), mixers.SECOND)
    with pytest.raises(ProtocolError, match="contradiction"):
        take(later.encoded, places)


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_the_command_says_that_there_were_too_few_tokens(tmp_path, batch, json_too):
    """There is a receipt, and nothing that a guarantee could be about."""
    (tmp_path / "r").write_bytes(sent(*mixers.release(OF, [], batch)))
    (tmp_path / "bundle.json").write_bytes(OF.encoded)
    (tmp_path / "private.key").write_bytes(mixers.COLLECTOR_KEY.secret)
    words = ("--bundle", tmp_path / "bundle.json", "--key", tmp_path / "private.key")
    done = run("open", tmp_path / "r", *words, "-o", tmp_path / "opened", *json_too)
    assert done.returncode == 0, done.stderr
    if json_too:
        facts = json.loads(done.stdout)
        assert facts["guarantee"] is None and facts["receipt"]["tokens"] == []
    else:
        assert "too few reports with a token" in done.stdout + done.stderr
        assert "epsilon" not in done.stdout + done.stderr
    assert (tmp_path / "private.key").exists()  # the other stratum may still come
    assert load_receipt(tmp_path / "opened")[0].is_refused


def test_the_batch_tells_which_strata_can_come(places, reports, uploads):
    """Those that the first mixer deleted never come."""
    alone = mixers.batch(OF, uploads[:PEOPLE])[0]
    assert missing_strata([], OF) == {0, 1}
    taken_and_opened(places, mixers.release(OF, reports, alone))
    assert missing_strata(places.releases(OF).received(), OF) == set()
    assert not is_complete(places, OF, NOW)  # the inviter's statement is missing
    statement = mixers.invitations(OF, 60, PEOPLE)
    with Taking(OF, places.invitations) as taking:
        taking.add(statement.encoded)
        taking.done()
    assert is_complete(places, OF, NOW)


# --- the inviter's statement ---------------------------------------------------------------------


def test_a_statement_that_comes_last_is_in_the_receipt_before_the_key_is_gone(
    places, reports, uploads
):
    """It arrives between the opening of releases and the end, after which no collector starts."""
    alone = mixers.batch(OF, uploads[:PEOPLE])[0]
    taken_and_opened(places, mixers.release(OF, reports, alone))
    with Taking(OF, places.invitations) as taking:
        taking.add(mixers.invitations(OF, 60, PEOPLE).encoded)
        taking.done()
    assert forget(places, OF, NOW) and not places.private.exists()
    receipt, _ = load_receipt(places.opened_ones / "release-0")
    assert (receipt.issued, receipt.used) == (60, PEOPLE)


def conversation(places, *requests):
    """The answers of a collector that runs, to requests one after the other."""

    async def talk():
        service = application(
            places.root,
            OF,
            mixers.COLLECTOR_KEY,
            CollectorSettings(workers=1),
            CertainClock(lambda: NOW),
        )
        async with running(service) as client:
            answers = [
                await client.post(path, content=data, headers=OCTETS) for path, data in requests
            ]
            for _ in range(200):
                folders = list(places.opened_ones.glob("release-*"))
                if folders and load_receipt(folders[0])[0].invitations:
                    break
                await asyncio.sleep(0.02)
            return answers

    return asyncio.run(talk())


def test_the_inviter_states_what_was_issued_and_used(places, reports, batch):
    signed, body = mixers.release(OF, reports, batch)
    statement = mixers.invitations(OF, 60, 50)
    other = mixers.invitations(OF, 60, 49)
    forged = mixers.invitations(OF, 60, 50, key=OTHER)
    answers = conversation(
        places,
        ("/release", sent(signed, body)),
        ("/invitations", forged.encoded),
        ("/invitations", mixers.invitations(OF, 49, 50).encoded),
        ("/invitations", statement.encoded + b"\0"),
        ("/invitations", statement.encoded[:-1]),
        ("/invitations", statement.encoded),
        ("/invitations", statement.encoded),
        ("/invitations", other.encoded),
    )
    assert [each.status_code for each in answers] == [200, 403, 422, 422, 422, 200, 200, 409]
    assert answers[0].text == signed.acknowledgment
    assert answers[5].text == answers[6].text == statement.acknowledgment
    assert places.invitations.received() == [statement]
    assert prove_cheating(*places.invitations.proofs(), OF)
    receipt, _ = load_receipt(places.opened_ones / "release-0")
    assert (receipt.issued, receipt.used) == (60, 50) and receipt.inviter == statement
    (received,) = receipts_of(PLAN, [places.opened_ones])
    assert (received.issued, received.used) == (60, 50)
    assert received.tokens == tuple(PEOPLE * slots for slots in OF.slots)
    findings = {each.subject: each for each in check_machine(places, OF, NOW)}
    assert "50 of 60" in findings["invitations"].text
    assert not findings["contradictory statements of the inviter"].good


# --- receipts and commands -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def opened(tmp_path_factory, reports, batch):
    """A folder with reports, and the inviter's statement in their receipt."""
    places = CollectorPlaces(tmp_path_factory.mktemp("opened"))
    with Taking(OF, places.invitations) as taking:
        taking.add(mixers.invitations(OF, 60, 50).encoded)
        taking.done()
    taken_and_opened(places, mixers.release(OF, reports, batch))
    return places.opened_ones / "release-0"


@pytest.mark.parametrize(
    "changes",
    one_in(
        3,
        [
            {"people": 24},
            {"opened_people": 22},
            {"tokens": None},
            {"tokens": []},
            {"tokens": [1, 1, 1]},
            {"dummies": [1]},
            {"dummies": "moved"},
            {"issued": 61},
            {"used": None},
            {"invitations": None},
            {"invitations": mixers.invitations(OF, 60, 50, key=OTHER).encoded.hex()},
            {"rejected": {}},
            {"messages": []},
        ],
    ),
)
def test_an_edited_receipt_is_refused(opened, changes):
    receipt, _ = load_receipt(opened)
    if changes.get("dummies") == "moved":
        first, second, *rest = receipt.dummies
        changes = {"dummies": [first + 1, second - 1, *rest]}
    try:
        save_receipt(receipt.model_copy(update=changes), opened)
        with pytest.raises(IncrowdError):
            receipts_of(PLAN, [opened])
    finally:
        save_receipt(receipt, opened)


def test_the_commands_show_who_signed_what(opened, tmp_path, reports, batch):
    plan = tmp_path / "plan.json"
    plan.write_text(PLAN.dumps())
    done = run("verify", plan, opened, "--json")
    assert done.returncode == 0, done.stderr
    (receipt,) = json.loads(done.stdout)["receipts"]
    assert receipt["signatures_valid"] and (receipt["issued"], receipt["used"]) == (60, 50)
    assert receipt["tokens"] == [PEOPLE * slots for slots in OF.slots]
    ledger = tmp_path / "ledger.json"
    assert run("ledger", ledger, "--new").returncode == 0
    noted = run("ledger", ledger, plan, opened)
    assert noted.returncode == 0, noted.stderr
    (asked,) = Ledger.load(ledger).asked
    assert asked.linked == (PLAN.guarantee.delta == 0)
    (tmp_path / "0.release").write_bytes(sent(*mixers.release(OF, reports, batch)))
    (tmp_path / "bundle.json").write_bytes(OF.encoded)
    (tmp_path / "private.key").write_bytes(mixers.COLLECTOR_KEY.secret)
    words = ("--bundle", tmp_path / "bundle.json", "--key", tmp_path / "private.key")
    out = run("open", tmp_path / "0.release", *words, "-o", tmp_path / "again")
    assert out.returncode == 0, out.stderr
    assert "does not prove" in out.stderr + out.stdout
    assert written(tmp_path / "again") == written(opened)
