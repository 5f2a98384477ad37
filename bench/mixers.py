"""Two mixers: the first beside a shuffler and a bare handler, the others beside bare cryptography.

Then the time and the memory of each party, and what this gives for a million people.
"""

import os
import tempfile
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from unittest import mock

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import incrowd
from bench import many_primes, services
from bench.load import Senders
from bench.measure import Row, medians
from bench.services import NEVER
from incrowd.collection import parties
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.opening import Opener
from incrowd.collection.collector.places import CollectorPlaces, load_private, new_key
from incrowd.collection.invitations import issue, new_invitations
from incrowd.collection.inviter import setup as inviting
from incrowd.collection.inviter.app import signed
from incrowd.collection.machine import cores
from incrowd.collection.mixer import app, keeper, setup
from incrowd.collection.mixer.second.keeper import load_keys, releases_in
from incrowd.collection.mixer.second.opening import EnvelopeOpener
from incrowd.collection.mixer.second.releasing import make_releases
from incrowd.collection.mixer.store.keys import load_secret
from incrowd.collection.mixer.store.store import Store
from incrowd.collection.parties import PARTIES
from incrowd.collection.protocol.blind import verify
from incrowd.collection.protocol.bundle import NONCE_BYTES, OUTER_LABEL, Bundle
from incrowd.collection.protocol.mixing import Batch
from incrowd.collection.protocol.sealed import HEADER, X25519, X_WING, info, seal
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.tokens import (
    TokenReport,
    TokenRequest,
    entry_text,
    has_entry,
    sealed_slots,
    slot_text,
)
from incrowd.collection.protocol.upload import Upload, code_field, parse_upload, upload_length
from incrowd.collection.serving import serve
from incrowd.collection.settings import (
    FirstMixerSettings,
    InviterSettings,
    SecondMixerSettings,
    ShufflerSettings,
)
from incrowd.sampling.keystream import Keystream

SLOTS = 6  # of a person: a report for each of so many yes/no questions
CROWD = 1_000
UPLOADS, CONNECTIONS, ROUNDS = 3_000, 256, 3
OPENED = 2_000  # envelopes, or reports with tokens
REQUESTS = 500  # to the inviter
PEOPLE, MILLION = 20_000, 1_000_000
PARTS = 20  # files with what they send
SHUFFLER, LONG = "shuffler", "shuffler, X-Wing"
FIRST, TWO = "first mixer, SQLite", "first mixer, PostgreSQL, two processes"
BARE = "bare"


def rows():
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        folder = Path(folder)
        yield from uploads(folder, services.postgres(stack))
        yield inviter(folder / "invited")
        root = folder / "opened"
        bundle = _prepared(root).bundle
        yield second(root, bundle)
        yield collector(root, bundle)
        yield from million(folder / "million", PEOPLE)


def _plan():
    questions = [{"id": f"q{number}", "type": "yesno"} for number in range(SLOTS)]
    raw = {"name": "six", "crowd": CROWD, "privacy": {"epsilon": 2.0, "delta": 1e-6}}
    return incrowd.plan(incrowd.Survey.of(raw | {"question": questions}))


def _parties(folder, mixers, kem=X25519):
    """A collection. kem: of the layer for the collector; that for a second mixer is X-Wing."""
    folder.mkdir()
    addresses = {
        name: f"http://127.0.0.1:{at}" for at, name in enumerate(PARTIES[mixers].services, 1)
    }
    with mock.patch.object(parties, "new_key", partial(new_key, kem=kem)):
        prepared = PARTIES[mixers].prepare(_plan(), folder, addresses)
    assert prepared.bundle.places == SLOTS
    return prepared


def _prepared(folder):
    """A collection with two mixers, whose tokens are signed here, because its inviter cannot."""
    return many_primes.prepared(lambda: _parties(folder, 2), folder / "primes.json")


# --- what devices send ---------------------------------------------------------------------------


def _keys(folder, bundle):
    return many_primes.load(folder / "primes.json", bundle)


def _bundle(folder):
    return Bundle.parse((folder / "inviter" / "bundle.json").read_bytes())


def _rows(bundle, keys):
    """The reports of a person who sends dummies only, with their tokens."""
    inners = sealed_slots(bundle, 0, [bundle.shape.dummy] * SLOTS)
    for message, inner in zip(bundle.slot_messages, inners, strict=True):
        text = slot_text(bundle.digest, 0, message, inner)
        yield TokenReport(message, keys[1 + message].sign(text), inner).encoded


def _upload(bundle, keys, envelopes):
    nonce = os.urandom(NONCE_BYTES)
    entry = nonce + keys[0].sign(entry_text(bundle.digest, nonce))
    return Upload(entry, 0, tuple(envelopes))


def _write(folder, count, path):
    """Write uploads that the second mixer and the collector can open, one after the other."""
    bundle = _bundle(folder)
    keys = _keys(folder, bundle)
    sealed = partial(
        seal, configuration=bundle.second_key, binding=bundle.binding(0), label=OUTER_LABEL
    )
    with path.open("wb") as file:
        for _ in range(count):
            upload = _upload(bundle, keys, map(sealed, _rows(bundle, keys)))
            file.write(upload.encoded(bundle))


def _sent(folder, people):
    """Files with what people send."""
    sizes = [people * (at + 1) // PARTS - people * at // PARTS for at in range(PARTS)]
    given = [(folder, size, folder / f"{at}.sent") for at, size in enumerate(sizes)]
    with services.SPAWN.Pool(cores()) as pool:
        pool.starmap(_write, given)
    return [path for _, _, path in given]


def _read(path, bundle):
    """The uploads of a file, in groups."""
    size = upload_length(bundle)
    with path.open("rb") as file:
        while piece := file.read(size * services.GROUP):
            yield [parse_upload(piece[at : at + size], bundle) for at in range(0, len(piece), size)]


def _looks_sealed(bundle):
    header = bundle.envelope_key.header
    rest = bundle.envelope_length - len(header)
    return tuple(header + os.urandom(rest) for _ in range(SLOTS))


# --- uploads to the first mixer ------------------------------------------------------------------


def _service(listening, settings):
    store = setup.open_store(settings)
    serve(app.application(store, store.bundle, settings), listening)


def uploads(folder, server):
    """The seconds for each upload, in turns. Envelopes look sealed: no mixer opens them."""
    folders = {name: folder / name for name in (SHUFFLER, LONG, "mixers")}
    made = {
        SHUFFLER: _parties(folders[SHUFFLER], 1),
        LONG: _parties(folders[LONG], 1, X_WING),
        FIRST: _prepared(folders["mixers"]),
    }
    shuffler, first = (
        partial(ShufflerSettings, pause=NEVER),
        partial(FirstMixerSettings, pause=NEVER),
    )
    settings = {
        SHUFFLER: [shuffler(folder=folders[SHUFFLER] / "shuffler")],
        LONG: [shuffler(folder=folders[LONG] / "shuffler")],
        FIRST: [first(folder=folders["mixers"] / "first-mixer")],
    }
    if server:
        shared = first(folder=folders["mixers"] / "first-mixer", database=server.database())
        Store.create(shared.url, load_secret(shared.secret_file), made[FIRST].bundle)
        settings[TWO] = [shared] * 2
    bundle = made[FIRST].bundle
    to_first = partial(_to_first, bundle, _keys(folders["mixers"], bundle))
    bodies = {SHUFFLER: partial(_to_shuffler, made[SHUFFLER])}
    bodies |= {LONG: partial(_to_shuffler, made[LONG]), FIRST: to_first, TWO: to_first}
    with ExitStack() as stack:
        running = {
            name: [stack.enter_context(services.running(_service, each)) for each in many]
            for name, many in settings.items()
        }
        running[BARE] = [stack.enter_context(services.running(services.bare))]
        senders = stack.enter_context(Senders())
        times, processor = services.in_turns(
            running, bodies | {BARE: to_first}, senders, UPLOADS, CONNECTIONS, ROUNDS
        )
    rates = {name: f"{name}: {1 / spent:,.0f} a second" for name, spent in times.items()}
    sizes = {name: upload_length(each.bundle) / 1000 for name, each in made.items()}
    what = f"an upload of {sizes[FIRST]:.1f} kB, durable, {rates[FIRST]}"
    for name, bar in ((SHUFFLER, "at least 1"), (LONG, "")):
        yield Row(what, times[FIRST], f"{sizes[name]:.1f} kB, {rates[name]}", times[name], bar)
    for name in (SHUFFLER, LONG):
        text = f"processor time for it, {FIRST}"
        yield Row(text, processor[FIRST], f"the {name}'s", processor[name])
    peer = f"a handler that reads it and stores nothing: {1 / times[BARE]:,.0f} a second"
    for name, bar in ((FIRST, "at least .60"), (TWO, "at least .84")):
        if name in times:
            yield Row(f"an upload, durable, {rates[name]}", times[name], peer, times[BARE], bar)


def _to_first(bundle, keys, count):
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


def second(folder, bundle):
    keys = load_keys(SecondMixerSettings(folder=folder / "second-mixer"), bundle)
    sent = [each for path in _sent(folder, OPENED // SLOTS) for each in chain(*_read(path, bundle))]
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
    private = load_private(CollectorPlaces(folder / "collector").private, bundle)
    keys, count = _keys(folder, bundle), OPENED // SLOTS
    found = [row for _ in range(count) for row in _rows(bundle, keys)]
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


def inviter(folder):
    """Requests with codes that are stored, and signatures, in one thread, in a process alone."""
    requests = _requests(folder, _parties(folder, 2).bundle, REQUESTS)
    _, spent, megabytes = services.alone(_answered, folder, requests)
    each, tokens = spent / REQUESTS, SLOTS + 1
    hours = f"{MILLION:,} people would take {MILLION * each / 3600:,.1f} hours of a core"
    what = f"processor time for a request for {tokens} tokens, inviter, at most {megabytes:,.0f} MB"
    return Row(f"{what}; {hours}", each)


def _requests(folder, bundle, count):
    store = inviting.open_store(InviterSettings(folder=folder / "inviter"))
    invitations = new_invitations(store, count)
    issue(store, invitations)
    store.engine.dispose()
    codes = [code_field(each.code) for each in invitations]
    below = bytes(1) + os.urandom(255)  # every modulus is larger
    return [TokenRequest(code, (below,) * (SLOTS + 1)) for code in codes]


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


def _stored(folder, sent):
    """The first mixer: tokens verified, and stored, without HTTP."""
    store = setup.open_store(FirstMixerSettings(folder=folder / "first-mixer"))
    for path in sent:
        for group in _read(path, store.bundle):
            assert all(has_entry(upload, store.bundle) for upload in group)
            store.take(group)
    store.engine.dispose()


def _mixed(folder):
    """The first mixer at closing."""
    settings = FirstMixerSettings(folder=folder / "first-mixer")
    store = setup.open_store(settings)
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
    bundle, places = _bundle(folder), CollectorPlaces(folder / "collector")
    private = load_private(places.private, bundle)
    output = places.root / "opened" / "release-0"
    open_release(release.body, 0, release.signed, bundle, private, output, workers=cores())


def million(folder, people):
    """What each party does with uploads, in a process whose memory is measured.

    The time of a million people is proportional; it is not measured, unless so many send.
    """
    _prepared(folder)
    sent = _sent(folder, people)
    steps = {
        "first mixer: checked, stored": (_stored, folder, sent),
        "first mixer: mixed, signed": (_mixed, folder),
        "second mixer: opened, checked, mixed": (_released, folder),
        "collector: checked, opened, written": (_opened, folder),
    }
    for what, step in steps.items():
        spent, processor, megabytes = services.alone(*step)
        minutes = f"{MILLION:,} people would take {spent / people * MILLION / 60:,.1f} minutes"
        text = f"{people:,} people, {SLOTS} slots, {what}, at most {megabytes:,.0f} MB; {minutes}"
        yield Row(f"{text} ({processor / spent:.2f} cores in use)", spent)
