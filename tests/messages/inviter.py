"""What is said of an inviter: its folder, its keys, its store, and the file about a collection."""

from incrowd.collection.inviter import setup
from incrowd.collection.inviter.init import MixersTerms
from incrowd.collection.inviter.store import InviterStore
from incrowd.collection.mixer.store.database import opened
from incrowd.collection.protocol.tokens import Pending, TokenRequest, request_length
from incrowd.collection.settings import InviterSettings
from tests.messages.shared import command, file, with_variable
from tests.oracles import mixers
from tests.oracles.inviting import KEYS, bundle, pending


def installed(folder):
    settings = InviterSettings(folder=folder / "inviter")
    setup.install(settings, bundle(), KEYS)
    return settings


def with_tokens(text):
    """A folder whose keys of tokens are others."""

    def call(folder):
        settings = installed(folder)
        settings.tokens_file.write_text(text)
        setup.open_store(settings)

    return call


def another_bundle(folder):
    InviterStore(opened(installed(folder).url), mixers.bundle(period="later"))


def late(forgotten):
    """Invitations after closing."""

    def call(folder):
        store = setup.open_store(installed(folder))
        store.close(lambda *_: b"")
        if forgotten:
            store.forget()
        store.invite([b"0" * 16])

    return call


def stated(*change):
    text = mixers.terms().replace(*change)
    return lambda folder: MixersTerms.load(file(folder, "c.toml", text))


def in_order(*order):
    """An upload in an order of the slots that leaves some out."""
    person = pending()
    return person.upload(mixers.answer(person.request, bundle()), bundle(), order)


CASES = {
    "request: length": lambda _: TokenRequest.parse(b"", bundle()),
    "request: bundle": lambda _: TokenRequest.parse(bytes(request_length(bundle())), bundle()),
    "pending: damaged": lambda _: Pending.parse(b"", bundle()),
    "pending: order": lambda _: in_order(0, 0),
    "init: a folder in use": lambda folder: setup.check_unused(installed(folder)),
    "init: an unknown key of a service": stated("[first]\naddress", "[first]\nadress"),
    "init: a service without a key": stated(f'key = "{bundle().first.key}"\n', ""),
    "folder: empty": lambda folder: setup.open_store(InviterSettings(folder=folder)),
    "tokens: unreadable": with_tokens("no keys"),
    "tokens: of another bundle": with_tokens(""),
    "store: another bundle": another_bundle,
    "invitations: closed": late(forgotten=False),
    "invitations: closed, and the key is gone": late(forgotten=True),
    "settings: port": lambda folder: with_variable(
        InviterSettings, folder, "INCROWD_INVITER_PORT", "x"
    ),
    "invitations: none": lambda folder: command("inviter", "invite", "0", "-o", folder / "c.csv"),
    "invitations: no address": lambda folder: command(
        *("inviter", "invite", "1", "-o", folder / "c.csv", "--survey-page", "ftp://page.example")
    ),
}
