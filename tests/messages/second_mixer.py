"""What is said of a second mixer's folder, its keys, its batch and its releases."""

from datetime import timedelta

from incrowd.collection.machine import system
from incrowd.collection.mixer.second import app, keeper
from incrowd.collection.mixer.second.keeper import SecondKeeper
from incrowd.collection.protocol.bundle import as_time
from incrowd.collection.protocol.mixing import EMPTY, Batch, MixedRelease
from incrowd.collection.protocol.signed import sign
from incrowd.collection.settings import SecondMixerSettings
from incrowd.collection.steady import CertainClock
from incrowd.files import write_private
from tests.messages.shared import file, with_variable
from tests.oracles import mixers
from tests.oracles.make_vectors import INVITED

BUNDLE = mixers.bundle()
CLOSED = as_time(BUNDLE.closes)
BATCH = sign(Batch(BUNDLE.digest, ((0, BUNDLE.least_people),), EMPTY), mixers.FIRST)


def settings_in(folder, signing=mixers.SECOND):
    settings = SecondMixerSettings(folder=folder)
    write_private(settings.secret_file, mixers.SECOND_KEY.secret)
    write_private(settings.signing_file, signing.private_bytes_raw())
    return settings


def made_twice(folder):
    for _ in range(2):
        keeper.make_keys(SecondMixerSettings(folder=folder))


def without_signing_key(folder):
    settings = settings_in(folder)
    settings.signing_file.unlink()
    keeper.load_keys(settings, BUNDLE)


def of_one_shuffler(folder):
    path = file(folder, "one.json", INVITED.encoded)
    keeper.keep_bundle(settings_in(folder), path, CLOSED)


def looking(settings):
    SecondKeeper(
        settings, BUNDLE, CertainClock(lambda: CLOSED + timedelta(1)), lambda *_: False
    ).look()


def without_batch(folder):
    settings = settings_in(folder)
    write_private(folder / "starts" / "0.start", BATCH.encoded)
    looking(settings)


def changed_release(folder):
    settings = settings_in(folder)
    refused = sign(MixedRelease(BUNDLE.digest, 0, (), EMPTY, BATCH), mixers.SECOND)
    write_private(settings.releases / "0.start", refused.encoded)
    write_private(settings.releases / "0.body", b"x")
    looking(settings)


def stopped(folder):
    desk = app.BatchDesk(settings_in(folder), BUNDLE, system, lambda *_: False)
    desk.stopping = True
    desk.go_on()


CASES = {
    "keys: twice": made_twice,
    "key: none to open with": lambda folder: keeper.load_keys(
        SecondMixerSettings(folder=folder), BUNDLE
    ),
    "key: none to sign with": without_signing_key,
    "key: of another to sign with": lambda folder: keeper.load_keys(
        settings_in(folder, mixers.FIRST), BUNDLE
    ),
    "bundle: with one mixer": of_one_shuffler,
    "batch: gone": without_batch,
    "batch: stopped": stopped,
    "release: changed": changed_release,
    "settings": lambda folder: with_variable(
        SecondMixerSettings, folder, "INCROWD_SECOND_MIXER_PORT", "x"
    ),
}
