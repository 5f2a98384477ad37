"""Collecting: uploads beside a bare handler, opening beside bare HPKE, a million to the end."""

import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest import mock

from bench import services
from bench.load import Senders
from bench.measure import Row, medians
from incrowd.collection.collector.collections import PIECE_REPORTS
from incrowd.collection.collector.opening import Opener
from incrowd.collection.machine import cores
from incrowd.collection.mixer import inventing as mixer_inventing
from incrowd.collection.mixer import setup
from incrowd.collection.parallel import in_processes
from incrowd.collection.protocol.sealed import X25519, X_WING, info, unseal
from incrowd.collection.settings import ShufflerSettings
from incrowd.plans.slots import invented
from incrowd.sampling.keystream import Keystream

UPLOADS, CONNECTIONS, ROUNDS = 30_000, 512, 3
DIFFERENT, OPENED = 50_000, 200_000  # sealed reports
SINGLE = 5_000  # sealed reports that one process opens
MILLION = 1_000_000


def rows():
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        folder = Path(folder)
        bundle, signing, private = services.bundle_in(folder)
        server = services.postgres(stack)
        yield from uploads(folder, bundle, signing, server)
        yield opening(bundle, private)
        for kem in (X25519, X_WING):
            yield unsealing(*services.bundle_in(folder / kem.name, kem))
        yield inventing(services.noisy_bundle())
        yield from million(folder, bundle, signing, private)


# --- invented reports ----------------------------------------------------------------------------


def inventing(bundle):
    """What a shuffler draws, seals and marks in one process, beside HPKE for as many plaintexts."""
    number, key = invented(bundle.plan), bundle.key
    about = info(key.header, bundle.binding(0, 0), bundle.label)
    plaintext = bundle.shape.dummy

    def ours():
        with mock.patch.object(mixer_inventing, "cores", lambda: 1):
            rows = mixer_inventing.invented_reports(bundle, (0,), Keystream.from_system())
            assert sum(map(len, rows)) == number

    def bare():
        for _ in range(number):
            key.kem.suite.encrypt(plaintext, key.key, about)

    each, peer = (spent / number for spent in medians([ours, bare]))
    what = f"an invented report, drawn and sealed: {1 / each:,.0f} a second"
    return Row(what, each, f"HPKE alone: {1 / peer:,.0f} a second", peer, "at most 1.25")


# --- uploads -------------------------------------------------------------------------------------


def uploads(folder, bundle, signing, server):
    """The seconds for each upload, in turns; the bar is the ratio of the medians."""
    with ExitStack() as stack:
        found = {"bare": [stack.enter_context(services.running(services.bare))]}
        stores = {"SQLite": (None, 1)}
        if server:
            stores |= {"PostgreSQL": (server.database(), 1)}
            stores |= {"PostgreSQL, two processes": (server.database(), 2)}
        for name, (database, processes) in stores.items():
            place = folder / name
            setup.install(ShufflerSettings(folder=place, database=database), bundle, signing)
            service = partial(services.running, services.shuffler, place, database)
            found[name] = [stack.enter_context(service()) for _ in range(processes)]
        bodies = dict.fromkeys(found, partial(services.bodies, bundle))
        senders = stack.enter_context(Senders())
        times, busy = services.in_turns(found, bodies, senders, UPLOADS, CONNECTIONS, ROUNDS)
    for name in stores:
        what = f"an upload, durable, {name}: {1 / times[name]:,.0f} a second"
        peer = f"a handler that reads it and stores nothing: {1 / times['bare']:,.0f} a second"
        yield Row(what, times[name], peer, times["bare"], "at least .60")
        what = f"processor time for it of the shuffler's own processes, {name}"
        yield Row(what, busy[name], "that handler's", busy["bare"])


# --- opening -------------------------------------------------------------------------------------


def opening(bundle, private):
    """All cores, the start of the processes included, beside HPKE alone in as many, in turns."""
    sealed = services.sealed_many(bundle, DIFFERENT) * (OPENED // DIFFERENT)
    size, step = bundle.sealed_length, PIECE_REPORTS
    pieces = [b"".join(sealed[at : at + step]) for at in range(0, len(sealed), step)]
    about = info(bundle.key.header, bundle.digest)
    with ExitStack() as stack:
        given = private, about, size, pieces
        alone = stack.enter_context(services.hpke_alone(cores(), *given))
        ours, theirs = medians([lambda: _open(pieces, bundle, private), alone], runs=3)
    rate, bare = (f"{OPENED / each:,.0f} a second" for each in (ours, theirs))
    what = f"{OPENED:,} reports opened, {cores()} processes: {rate}"
    return Row(what, ours, f"HPKE alone in as many processes: {bare}", theirs, "at least .80")


def _open(pieces, bundle, private):
    work = Opener(bundle, private, 0)
    found = sum(len(piece.packed[0]) for piece in in_processes(work, pieces, cores()))
    assert found == OPENED


def unsealing(bundle, _, private):
    """The function for one report beside HPKE with the same suite, in this process, in turns."""
    sealed = services.sealed_many(bundle, SINGLE)
    ciphertexts = [each[len(bundle.key.header) :] for each in sealed]
    suite, key, about = private.kem.suite, private.key, info(bundle.key.header, bundle.digest)

    def ours():
        for each in sealed:
            unseal(each, private, bundle.key, bundle.digest)

    def alone():
        for each in ciphertexts:
            suite.decrypt(each, key, about)

    spent, bare = medians([ours, alone], runs=5)
    rate, peer = (f"{SINGLE / each:,.0f} a second" for each in (spent, bare))
    what = f"reports opened one by one, {private.kem.name}: {rate}"
    return Row(what, spent, f"HPKE alone: {peer}", bare, "at least .80")


# --- a million -----------------------------------------------------------------------------------


def million(folder, bundle, signing, private):
    """Stored, released, opened and estimated, each in a process whose memory is measured."""
    settings = ShufflerSettings(folder=folder / "million")
    setup.install(settings, bundle, signing)
    sealed = services.sealed_in_processes(bundle, MILLION)
    steps = {
        "stored in groups": (services.fill, settings, sealed),
        "released: mixed, digested, signed": (services.release, settings),
        "opened and checked": (services.open_all, settings, private.secret, folder),
        "estimated": (services.estimate, folder, bundle.encoded),
    }
    for what, step in steps.items():
        seconds, _, megabytes = services.alone(*step)
        yield Row(f"{MILLION:,} sealed reports {what}; at most {megabytes:,.0f} MB", seconds)
