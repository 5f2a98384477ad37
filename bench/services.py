"""A bundle, and the services that are measured, each in a process of its own."""

import multiprocessing
import os
import resource
import statistics
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

import incrowd
from bench.load import door
from bench.measure import seconds
from bench.whole import wide_plan
from incrowd.accountant import AdditiveNoise
from incrowd.collection.collector.collections import open_release
from incrowd.collection.collector.places import CollectorPlaces, load_private, new_key
from incrowd.collection.machine import cores
from incrowd.collection.mixer import app, keeper, setup
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.protocol.bundle import TIME, Bundle
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.sealed import HEADER, KEMS, X25519, PrivateKey, seal
from incrowd.collection.protocol.signed import Signed
from incrowd.collection.protocol.upload import NO_CODE, Upload
from incrowd.collection.serving import serve
from incrowd.collection.settings import ShufflerSettings
from incrowd.sampling.keystream import Keystream
from tests.oracles import postgresql
from tests.oracles import services as noise

SPAWN = multiprocessing.get_context("spawn")
GROUP = 2_000  # uploads stored at once
KIBIBYTE, MEGABYTE = 1 << 10, 1e6
QUESTIONS = 8  # yes or no, in one report of a person
NEVER = 1e6  # seconds: what is due is looked for when the measurement says so


def bundle_in(folder, kem=X25519):
    """A bundle with both private keys: of the shuffler, of the collector."""
    plan, now = wide_plan(QUESTIONS), datetime.now(UTC)
    closes = (now + timedelta(days=1)).strftime(TIME)
    places = CollectorPlaces(folder / "collector")
    terms = ShufflerTerms(
        title="measured",
        questions={question.id: question.id for question in plan.survey.questions},
        period="today",
        opens=(now - timedelta(minutes=1)).strftime(TIME),
        closes=closes,
        disposes=closes,
        codes=False,
        colluding=0,
        local_only=True,
        shuffler="http://127.0.0.1:1",
        collector="http://127.0.0.1:2",
        key_configuration=new_key(places, kem=kem).encoded.hex(),
    )
    made = make_bundle(plan, terms)
    return made.bundle, made.private, load_private(places.private, made.bundle)


def noisy_bundle():
    """A bundle whose shuffler adds noise to the twenty cells of four tables."""
    return noise.bundle(noise.plan(AdditiveNoise.laplace(0.1, most=400)), codes=False)


def bodies(bundle, count):
    """Uploads whose reports look sealed: the shuffler cannot open them."""
    header, rest = bundle.key.header, bundle.sealed_length - len(bundle.key.header)
    sealed = (tuple(_sealed(header, rest, bundle.places)) for _ in range(count))
    return [Upload(NO_CODE, 0, each).encoded(bundle) for each in sealed]


def _sealed(header, rest, places):
    return (header + os.urandom(rest) for _ in range(places))


async def _take(request):
    await request.body()
    return Response(status_code=201)


def bare(listening):
    """The handler that the shuffler is compared with: it reads the body and stores nothing."""
    serve(Starlette(routes=[Route("/upload", _take, methods=["POST"])]), listening)


def shuffler(listening, folder, database):
    settings = ShufflerSettings(folder=folder, database=database, pause=NEVER)
    store = setup.open_store(settings)
    serve(app.application(store, store.bundle, settings), listening)


class Service(NamedTuple):
    """A service that runs, and where it listens."""

    port: int
    pid: int

    def busy(self):
        """Its processor time so far, in seconds; 0 where the system does not tell."""
        stat = Path(f"/proc/{self.pid}/stat")
        fields = stat.read_text().rpartition(")")[2].split() if stat.exists() else [0] * 13
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def running(target, *args):
    """A service, and the port on which it listens."""
    listening = door()
    process = SPAWN.Process(target=target, args=(listening, *args))
    process.start()
    try:
        yield Service(listening.getsockname()[1], process.pid)
    finally:
        process.terminate()
        process.join()
        listening.close()


def postgres(stack):
    """A server for the time of a stack, or None."""
    try:
        return stack.enter_context(postgresql.running())
    except postgresql.Missing:
        return None


def in_turns(running, bodies, senders, count, connections, rounds):
    """Medians for an upload to each service: seconds by the clock, and of its processes' own.

    running: the processes of each. bodies: makes uploads for each, given their number. The first
    round, with a tenth of the uploads, is not counted.
    """
    times, busy = ({name: [] for name in running} for _ in range(2))
    for number in range(1 + rounds):
        for name, many in running.items():
            given = bodies[name](count if number else count // 10)
            before = _busy(many)
            spent = senders.seconds([each.port for each in many], given, connections)
            if number:
                times[name].append(spent / count)
                busy[name].append((_busy(many) - before) / count)
    return [{name: statistics.median(each) for name, each in of.items()} for of in (times, busy)]


def _busy(running):
    return sum(each.busy() for each in running)


# --- sealing and opening -------------------------------------------------------------------------


def sealed_many(bundle, count):
    """Sealed reports with random content."""
    answers = os.urandom(count)
    reports = (bundle.shape.report(0, answers[at : at + 1]) for at in range(count))
    return [seal(report, bundle.key, bundle.digest) for report in reports]


def _sealed_part(encoded, count):
    return sealed_many(Bundle.parse(encoded), count)


def sealed_in_processes(bundle, count):
    with SPAWN.Pool(cores()) as pool:
        parts = [(bundle.encoded, count // 100)] * 100
        return [each for part in pool.starmap(_sealed_part, parts) for each in part]


def _decrypt(pipe, kem, secret, about, size, pieces):
    """Nothing but HPKE: all ciphertexts are cut out before."""
    suite, key = KEMS[kem].suite, PrivateKey(KEMS[kem], secret).key
    ciphertexts = [
        piece[at + HEADER.size : at + size] for piece in pieces for at in range(0, len(piece), size)
    ]
    pipe.send(None)
    while pipe.recv():
        for each in ciphertexts:
            suite.decrypt(each, key, about)
        pipe.send(None)


@contextmanager
def hpke_alone(processes, private, about, size, pieces):
    """What decrypts everything once, an equal part in each process."""
    pipes = []
    for number in range(processes):
        here, there = SPAWN.Pipe()
        key = private.kem.id, private.secret
        given = there, *key, about, size, pieces[number::processes]
        SPAWN.Process(target=_decrypt, args=given, daemon=True).start()
        pipes.append(here)
    for pipe in pipes:
        pipe.recv()

    def work():
        for pipe in pipes:
            pipe.send(True)
        for pipe in pipes:
            pipe.recv()

    yield work
    for pipe in pipes:
        pipe.send(False)


# --- steps of a million --------------------------------------------------------------------------


def fill(settings, sealed):
    store, places = setup.open_store(settings), 1
    assert store.bundle.places == places
    for at in range(0, len(sealed), GROUP):
        group = [Upload(NO_CODE, 0, (each,)) for each in sealed[at : at + GROUP]]
        store.take(group)
    store.engine.dispose()


def release(settings):
    store, folder = setup.open_store(settings), settings.releases
    folder.mkdir()
    key = Ed25519PrivateKey.from_private_bytes(settings.signing_file.read_bytes())
    store.close(lambda _: ([(0,)], ()))
    keeper.make_release(store, (0,), folder, Keystream.from_system(), key)


def open_all(settings, secret, folder):
    store = setup.open_store(settings)
    signed, _ = Signed.parse(Header, store.start_of(0))
    body = keeper.body_file(settings.releases, signed)
    private = PrivateKey(store.bundle.key.kem, secret)
    open_release(body, 0, signed, store.bundle, private, folder / "opened", workers=cores())


def estimate(folder, encoded):
    [reports] = (folder / "opened").glob("*.parquet")
    incrowd.estimate(Bundle.parse(encoded).plan, incrowd.stream_reports(reports))


def alone(step, *args):
    """Seconds of a step in a process of its own, processor time, and the most memory of one.

    Processor time includes that of its children.
    """
    with ProcessPoolExecutor(1, SPAWN) as pool:
        return pool.submit(_measured, step, args).result()


def _measured(step, args):
    before, spent = _usage(), seconds(lambda: step(*args))
    after = _usage()
    processor = sum(each.ru_utime + each.ru_stime for each in after)
    processor -= sum(each.ru_utime + each.ru_stime for each in before)
    return spent, processor, max(each.ru_maxrss for each in after) * KIBIBYTE / MEGABYTE


def _usage():
    return [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
