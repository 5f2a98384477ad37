"""What is said by a collector: of keys, folders, releases, receipts and settings."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pyarrow as pa

from incrowd.collection.claims import release_of
from incrowd.collection.collector import app, collections, on_spark, places, receipt
from incrowd.collection.collector.keeper import keep_bundle
from incrowd.collection.collector.opening import Opener
from incrowd.collection.collector.places import CollectorPlaces
from incrowd.collection.collector.receipt import check_files, load_receipt, save_receipt
from incrowd.collection.folders import exclusive
from incrowd.collection.handover import Handover, confirm_delivery
from incrowd.collection.hosting import alone, of_folder, with_settings
from incrowd.collection.machine import system
from incrowd.collection.parallel import in_processes
from incrowd.collection.protocol.release import Header
from incrowd.collection.protocol.signed import Signed, sign
from incrowd.collection.settings import CollectorSettings
from incrowd.collection.taking import Taking, read_start
from incrowd.files import write_private
from incrowd.reports.collection import Collection, write_reports
from tests.messages.shared import command, file, made, reports_file, with_variable
from tests.messages.wire import BODY, HEADER, RELEASES
from tests.oracles.make_vectors import INVITED, OPEN, RECEIVER, SHUFFLER

START = bytes.fromhex(RELEASES["right"]["start"])
TYPED_OPEN = ("open", "none.release", "--key", "none.key", "-o", "opened")


def folder_of(folder, bundle=INVITED):
    """A folder with a receipt, a bundle and empty collections."""
    signed, _ = Signed.parse(Header, START)
    release, messages = release_of(signed.header, INVITED, 0), []
    for number, message in enumerate(INVITED.plan.messages):
        path = folder / receipt.collection_name(number)
        empty = np.empty((0, -(-message.bits // 8)), np.uint8)
        about = {"id": release.collection(number), "people": 0, "release": release}
        header = Collection(INVITED.plan.digest, number, message.bits, empty, **about)
        write_reports(header, [], path)
        digest = receipt.hashlib.sha256(path.read_bytes()).hexdigest()
        messages.append(receipt.OpenedCollection(id=about["id"], reports=0, sha256=digest))
    rejected = {"unopened": HEADER.reports}
    found = receipt.receipt_of(signed, INVITED, 0, rejected, [0], messages)
    save_receipt(found, folder)
    write_private(folder / "bundle.json", bundle.encoded)
    return found


def edited(**changes):
    def call(folder):
        save_receipt(folder_of(folder).model_copy(update=changes), folder)
        load_receipt(folder)

    return call


def without(name):
    def call(folder):
        found = folder_of(folder)
        (folder / name).unlink()
        load_receipt(folder)
        check_files(found, folder)

    return call


def of_another_file(folder):
    found = folder_of(folder)
    file(folder, receipt.collection_name(0), b"x")
    check_files(found, folder)


def of_fewer_reports(folder):
    found = folder_of(folder)
    first, *rest = found.messages
    more = first.model_copy(update={"reports": 3})
    with mock.patch.object(collections, "check"):
        told = found.model_copy(update={"messages": [more, *rest]})
        collections.verify_opened(told, INVITED, folder)


def of_another_plan(folder):
    folder_of(folder)
    load_receipt(folder, made())


def beside_others(folder):
    folder_of(folder)
    reports_file(folder)
    receipt.receipts_of(INVITED.plan, [folder])


def missing(folder):
    folder_of(folder)
    for name in ("receipt.json", "bundle.json"):
        (folder / name).unlink()
    receipt.receipts_of(INVITED.plan, [folder], files=True)


def no_text(folder):
    folder_of(folder)
    load_receipt(file(folder, "receipt.json", "{}").parent)


def key_twice(folder):
    for _ in range(2):
        places.new_key(CollectorPlaces(folder))


def another_bundle(folder):
    write_private(folder / "bundle.json", INVITED.encoded)
    keep_bundle(CollectorPlaces(folder), file(folder, "other.json", OPEN.encoded))


def contradicted(folder):
    other = sign(replace(HEADER, issued=HEADER.issued + 1), SHUFFLER).encoded
    for start in (START, other):
        with Taking(INVITED, CollectorPlaces(folder).releases(INVITED)) as taking:
            taking.add(start + BODY)
            taking.done()


def opened_twice(folder):
    signed, start = Signed.parse(Header, START)
    path = file(folder, "r", START + BODY)
    collections.open_release(path, start, signed, INVITED, RECEIVER, folder, workers=1)


def lost(_):
    with mock.patch("incrowd.collection.parallel._process") as process:
        process().__enter__().recv.side_effect = EOFError
        list(in_processes(Opener(INVITED, RECEIVER, 0), [b""], 2))


def parts_missing(_):
    list(on_spark._pieces(pa.table({"number": [0]}), [None, None], INVITED, None))


def two_at_once(folder):
    with exclusive(folder, "collector"), exclusive(folder, "collector"):
        pass


def stopped(folder):
    service = app.ReleaseDesk(
        CollectorPlaces(folder), INVITED, RECEIVER, CollectorSettings(), system
    )
    service.stopping = True
    service.go_on(1)


def handed_over(folder):
    write_private(folder / "bundle.json", INVITED.encoded)
    Handover(folder / "handover")(START, file(folder, "body", BODY))
    confirm_delivery(folder, "0" * 32)


def hosted_twice(folder):
    place = of_folder(CollectorSettings, folder)
    with alone(place), alone(place):
        pass


def empty_handover(folder):
    write_private(folder / "bundle.json", INVITED.encoded)
    confirm_delivery(folder, "0" * 32)


CASES = {
    "host: another name": lambda folder: with_settings(folder / "mixer.toml"),
    "host: runs already": hosted_twice,
    "host: no settings": lambda folder: with_settings(folder / "shuffler.toml"),
    "confirm: nothing is handed over": empty_handover,
    "confirm: another code": handed_over,
    "a token that is guessed": lambda folder: with_variable(
        CollectorSettings, folder, "INCROWD_COLLECTOR_TOKEN", "guessed"
    ),
    "key: twice": key_twice,
    "key: none": lambda folder: places.load_private(folder / "none", INVITED),
    "key: short": lambda folder: places.load_private(file(folder, "k", b"abc"), INVITED),
    "key: of another": lambda folder: places.load_private(file(folder, "k", bytes(32)), INVITED),
    "bundle: none": lambda folder: keep_bundle(CollectorPlaces(folder), None),
    "bundle: another": another_bundle,
    "folder: in use": two_at_once,
    "bundle: not there": lambda folder: command(*TYPED_OPEN, "--bundle", folder / "none"),
    "release: none": lambda folder: read_start(folder / "none", Header),
    "release: contradiction": contradicted,
    "release: opened twice": opened_twice,
    "release: a lost process": lost,
    "release: stopped": stopped,
    "release: parts on Spark": parts_missing,
    "receipt: numbers": edited(people=24),
    "receipt: dummies": edited(dummies=[0, 0]),
    "receipt: no start": edited(start="zz"),
    "receipt: no proof": edited(contradictions=[START.hex()]),
    "receipt: no receipt": no_text,
    "receipt: none": without("receipt.json"),
    "receipt: no collection": without("message-1.parquet"),
    "receipt: another collection": of_another_file,
    "receipt: fewer reports": of_fewer_reports,
    "receipt: another plan": of_another_plan,
    "receipt: beside other reports": beside_others,
    "receipt: missing": missing,
    "settings": lambda folder: with_variable(
        CollectorSettings, folder, "INCROWD_COLLECTOR_PORT", "x"
    ),
}
