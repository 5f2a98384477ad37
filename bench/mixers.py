"""Two mixers: the first beside a shuffler and a bare handler, the others beside bare cryptography.

Then the time and the memory of each party for some people, and what this gives for a million.
"""

import os
import statistics
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.serialization import load_der_private_key

import incrowd
from bench import services
from bench.load import Senders
from bench.measure import Row, medians
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.opening import Opener
from incrowd.collection.collector.places import Places, load_private
from incrowd.collection.invitations import issue, new_invitations
from incrowd.collection.inviter import setup as inviting
from incrowd.collection.inviter.app import signed
from incrowd.collection.machine import cores
from incrowd.collection.mixer import keeper, setup
from incrowd.collection.mixer.second.keeper import load_keys, releases_in
from incrowd.collection.mixer.second.opening import EnvelopeOpener
from incrowd.collection.mixer.second.releasing import make_releases
from incrowd.collection.parties import PARTIES
from incrowd.collection.protocol.blind import PADDING, verify
from incrowd.collection.protocol.bundle import NONCE_BYTES, OUTER_LABEL, Bundle
from incrowd.collection.protocol.mixing import Batch
from incrowd.collection.protocol.sealed import HEADER, info, seal
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.tokens import (
    TokenReport,
    TokenRequest,
    entry_text,
    sealed_slots,
    slot_text,
)
from incrowd.collection.protocol.upload import Upload, code_field
from incrowd.collection.service import serve
from incrowd.collection.settings import FirstMixerSettings, InviterSettings, SecondMixerSettings
from incrowd.sampling.keystream import Keystream

SLOTS = 6  # of a person: a report for each of so many yes/no questions
CROWD = 1_000
UPLOADS, CONNECTIONS, ROUNDS = 3_000, 256, 3
OPENED = 2_000  # envelopes, or reports with tokens
PEOPLE, MILLION = (2_000, 5_000), 1_000_000
SHUFFLER, FIRST = "the shuffler", "the first mixer"


def rows():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        yield from uploads(folder)
        prepared, root = _prepared(folder / "opened"), folder / "opened"
        sent = _uploads(root, OPENED // SLOTS)
        yield second(root, prepared.bundle, sent)
        yield collector(root, prepared.bundle)
        yield inviter(root, prepared.bundle)
        yield from million(folder)


def _plan():
    questions = [{"id": f"q{number}", "type": "yesno"} for number in range(SLOTS)]
    raw = {"name": "six", "crowd": CROWD, "privacy": {"epsilon": 2.0, "delta": 1e-6}}
    return incrowd.plan(incrowd.Survey.of(raw | {"question": questions}))


def _prepared(folder, mixers=2):
    folder.mkdir()
    parties = PARTIES[mixers]
    addresses = {name: f"http://127.0.0.1:{at}" for at, name in enumerate(parties.services, 1)}
    prepared = parties.prepare(_plan(), folder, addresses)
    assert prepared.bundle.places == SLOTS
    return prepared


# --- what devices send ---------------------------------------------------------------------------


def _keys(folder):
    lines = InviterSettings(folder=folder / "inviter").tokens_file.read_text().split()
    return [load_der_private_key(bytes.fromhex(line), None) for line in lines]


def _token(key, text):
    """A token, signed without blinding: what devices end up with."""
    return key.sign(text, PADDING, SHA384())


def _bundle(folder):
    return Bundle.parse((folder / "inviter" / "bundle.json").read_bytes())


def _rows(folder, bundle, keys):
    """The reports of a person who sends dummies only, with their tokens."""
    inners = sealed_slots(bundle, 0, [bundle.shape.dummy] * SLOTS)
    for message, inner in zip(bundle.slot_messages, inners, strict=True):
        text = slot_text(bundle.digest, 0, message, inner)
        yield TokenReport(message, _token(keys[1 + message], text), inner).encoded


def _upload(bundle, keys, envelopes):
    nonce = os.urandom(NONCE_BYTES)
    entry = nonce + _token(keys[0], entry_text(bundle.digest, nonce))
    return Upload(entry, 0, tuple(envelopes))


def _some(folder, count):
    """Uploads that the second mixer and the collector can open."""
    bundle, keys = _bundle(folder), _keys(folder)
    sealed = partial(
        seal, configuration=bundle.second_key, binding=bundle.binding(0), label=OUTER_LABEL
    )
    return [_upload(bundle, keys, map(sealed, _rows(folder, bundle, keys))) for _ in range(count)]


def _uploads(folder, count):
    parts = 20
    sizes = [count * (at + 1) // parts - count * at // parts for at in range(parts)]
    with services.SPAWN.Pool(cores()) as pool:
        found = pool.starmap(_some, [(folder, size) for size in sizes])
    return [upload for part in found for upload in part]


def _looks_sealed(bundle):
    header = bundle.envelope_key.header
    rest = bundle.envelope_length - len(header)
    return tuple(header + os.urandom(rest) for _ in range(SLOTS))


# --- uploads to the first mixer ------------------------------------------------------------------


def _service(listening, folder, name, mixers):
    serve(PARTIES[mixers].services[name](folder), listening)


def uploads(folder):
    """The seconds for each upload, in turns, all to one process with SQLite."""
    with ExitStack() as stack:
        shuffled, mixed = _prepared(folder / "one", 1), _prepared(folder / "two")
        parts = {
            SHUFFLER: (_service, folder / "one" / "shuffler", "shuffler", 1),
            FIRST: (_service, folder / "two" / "first-mixer", "first-mixer", 2),
            "bare": (services.bare,),
        }
        found = {name: stack.enter_context(services.running(*part)) for name, part in parts.items()}
        senders = stack.enter_context(Senders())
        spent, busy = ({name: [] for name in parts} for _ in range(2))
        keys = _keys(folder / "two")
        for number in range(1 + ROUNDS):
            count = UPLOADS if number else UPLOADS // 10
            given = {SHUFFLER: _to_shuffler(shuffled, count), FIRST: _to_first(mixed, keys, count)}
            given["bare"] = given[FIRST]
            for name, service in found.items():
                before = service.busy()
                seconds = senders.seconds([service.port], given[name], CONNECTIONS)
                if number:
                    spent[name].append(seconds / count)
                    busy[name].append((service.busy() - before) / count)
    times, processor = (
        {name: statistics.median(each) for name, each in of.items()} for of in (spent, busy)
    )
    text = f"an upload of {SLOTS} envelopes, durable, first mixer: {1 / times[FIRST]:,.0f} a second"
    peer = f"an upload of {SLOTS} reports to a shuffler: {1 / times[SHUFFLER]:,.0f} a second"
    yield Row(text, times[FIRST], peer, times[SHUFFLER], "at least 1")
    peer = f"a handler that reads it and stores nothing: {1 / times['bare']:,.0f} a second"
    yield Row(text, times[FIRST], peer, times["bare"], "at least .60")
    text = "processor time for it of the first mixer's own process"
    yield Row(text, processor[FIRST], "the shuffler's", processor[SHUFFLER])


def _to_first(prepared, keys, count):
    bundle = prepared.bundle
    made = (_upload(bundle, keys, _looks_sealed(bundle)) for _ in range(count))
    return [upload.encoded(bundle) for upload in made]


def _to_shuffler(prepared, count):
    store, bundle = prepared.inviting(), prepared.bundle
    invitations = new_invitations(store, count)
    issue(store, invitations)
    store.engine.dispose()
    codes = [code_field(each.code) for each in invitations]
    return [Upload(code, 0, _looks_sealed(bundle)).encoded(bundle) for code in codes]


# --- one core ------------------------------------------------------------------------------------


def second(folder, bundle, sent):
    keys = load_keys(SecondMixerSettings(folder=folder / "second-mixer"), bundle)
    envelopes = [envelope for upload in sent for envelope in upload.sealed]
    piece = bytes(2) + b"".join(envelopes)
    opener, private = EnvelopeOpener(bundle, keys.envelopes), keys.envelopes
    about = info(bundle.second_key.header, bundle.binding(0), OUTER_LABEL)

    def alone():
        for envelope in envelopes:
            row = private.kem.suite.decrypt(envelope[HEADER.size :], private.key, about)
            _verified(bundle, TokenReport.parse(row))

    return _beside("envelopes opened, second mixer", len(envelopes), lambda: opener(piece), alone)


def collector(folder, bundle):
    private = load_private(Places(folder / "collector").private, bundle)
    keys, count = _keys(folder), OPENED // SLOTS
    found = [row for _ in range(count) for row in _rows(folder, bundle, keys)]
    piece, opener = b"".join(found), Opener(bundle, private, 0)
    about = info(bundle.key.header, bundle.binding(0), bundle.label)

    def alone():
        for row in found:
            report = TokenReport.parse(row)
            _verified(bundle, report)
            private.kem.suite.decrypt(report.inner[HEADER.size :], private.key, about)

    return _beside("reports opened, collector", len(found), lambda: opener(piece), alone)


def _verified(bundle, report):
    text = slot_text(bundle.digest, 0, report.message, report.inner)
    assert verify(text, report.token, bundle.inviter.messages[report.message].key)


def _beside(what, count, ours, alone):
    spent, bare = medians([ours, alone], runs=3)
    peer = f"HPKE and RSA verification alone: {count / bare:,.0f} a second"
    return Row(
        f"{what}, one core: {count / spent:,.0f} a second", spent, peer, bare, "at least .80"
    )


def inviter(folder, bundle):
    """Requests with codes that are stored, and signatures, in one thread."""
    count = 100
    requests, codes = _requests(folder, bundle, count)
    (spent,) = medians([lambda: _answered(folder, requests)], runs=1)
    what = f"a request for {SLOTS + 1} tokens, inviter: {count / spent:,.0f} a second and core"
    return Row(what, spent / len(codes))


def _requests(folder, bundle, count):
    store = inviting.open_store(InviterSettings(folder=folder / "inviter"))
    invitations = new_invitations(store, count)
    issue(store, invitations)
    store.engine.dispose()
    codes = [code_field(each.code) for each in invitations]
    below = bytes(1) + os.urandom(255)  # every modulus is larger
    return [TokenRequest(code, (below,) * (SLOTS + 1)) for code in codes], codes


def _answered(folder, requests):
    store = inviting.open_store(InviterSettings(folder=folder / "inviter"))
    entry, *messages = store.keys
    keys = [entry, *(messages[number] for number in store.bundle.slot_messages)]
    for at in range(0, len(requests), services.GROUP):
        group = requests[at : at + services.GROUP]
        store.take([store.prepare(request) for request in group])
        for request in group:
            signed(request.blinded, keys)
    store.engine.dispose()


# --- a million people ----------------------------------------------------------------------------


def _mixed(folder, sent):
    """The first mixer: stored, then mixed and signed."""
    settings = FirstMixerSettings(folder=folder / "first-mixer")
    store = setup.open_store(settings)
    for at in range(0, len(sent), services.GROUP):
        store.take(sent[at : at + services.GROUP])
    key = Ed25519PrivateKey.from_private_bytes(settings.signing_file.read_bytes())
    settings.releases.mkdir()
    store.close(lambda _: ([(0,)], ()))
    keeper.make_release(store, (0,), settings.releases, Keystream.from_system(), key)
    store.engine.dispose()


def _released(folder):
    of_first = FirstMixerSettings(folder=folder / "first-mixer")
    of_second = SecondMixerSettings(folder=folder / "second-mixer")
    store = setup.open_store(of_first)
    batch, _ = Signed.parse(Batch, store.start_of(0))
    body, bundle = keeper.body_file(of_first.releases, batch), store.bundle
    keys = load_keys(of_second, bundle)
    make_releases(batch, body, bundle, keys, of_second.releases, workers=cores())
    store.engine.dispose()


def _opened(folder):
    [release] = releases_in(SecondMixerSettings(folder=folder / "second-mixer").releases)
    bundle, places = _bundle(folder), Places(folder / "collector")
    private = load_private(places.private, bundle)
    output = places.root / "opened" / "release-0"
    open_release(release.body, 0, release.signed, bundle, private, output, workers=cores())


def million(folder):
    """Each party's work in a process whose memory is measured, for two numbers of people.

    A straight line through both gives what a million people take; it is not measured.
    """
    steps = {
        "inviter: codes stored, tokens signed": lambda root, sent, asked: (_answered, root, asked),
        "first mixer: stored, mixed, signed": lambda root, sent, asked: (_mixed, root, sent),
        "second mixer: opened, checked, mixed": lambda root, sent, asked: (_released, root),
        "collector: checked, opened, written": lambda root, sent, asked: (_opened, root),
    }
    measured = {what: [] for what in steps}
    for people in PEOPLE:
        root = folder / str(people)
        bundle = _prepared(root).bundle
        sent, (asked, _) = _uploads(root, people), _requests(root, bundle, people)
        for what, step in steps.items():
            measured[what].append(services.alone(*step(root, sent, asked)))
    few, many = PEOPLE
    for what, ((short, _), (long, megabytes)) in measured.items():
        yield Row(f"{many:,} people, {SLOTS} slots, {what}; at most {megabytes:,.0f} MB", long)
        hours = (long + (long - short) / (many - few) * (MILLION - many)) / 3600
        yield Row(f"extrapolated to {MILLION:,} people, {what}: {hours:,.1f} hours", 3600 * hours)
