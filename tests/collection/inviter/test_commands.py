"""The commands of an inviter: a folder is made with new keys, looked at, and invites people."""

import csv
import json
import shutil

import pytest
from typer.testing import CliRunner

from incrowd.cli.app import app
from incrowd.collection.inviter import setup
from incrowd.collection.inviter.init import MixersTerms, make_mixers_bundle
from incrowd.collection.mixer.store.keys import StoreError
from incrowd.collection.protocol.addresses import Link
from incrowd.collection.protocol.bundle import Bundle, MixersBundle
from incrowd.collection.protocol.upload import code_field
from incrowd.collection.settings import InviterSettings, load_settings
from incrowd.errors import ProtocolError, UsageError
from incrowd.plans import Plan
from tests.conftest import one_in
from tests.oracles.inviting import Inviter, bundle
from tests.oracles.make_vectors import VECTORS
from tests.oracles.mixers import terms

PLAN = VECTORS / "plan.json"


def command(*words):
    """What a command says in JSON."""
    found = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a bundle and three invitations, and what the command says of it."""
    home = tmp_path_factory.mktemp("made")
    (home / "collection.toml").write_text(terms())
    folder = home / "inviter"
    words = ("inviter", "init", folder, PLAN, home / "collection.toml", "--invitations", 3)
    return folder, command(*words)


def test_init_makes_a_bundle_that_its_link_pins(made):
    folder, said = made
    of = Bundle.parse((folder / "bundle.json").read_bytes())
    assert isinstance(of, MixersBundle)
    assert Link.parse(said["link"]) == Link("https://invite.example", of.digest)
    assert (of.runs, of.first, of.second, of.collector) == (
        bundle().runs,
        bundle().first,
        bundle().second,
        bundle().collector,
    )
    assert of.slots == bundle().slots and said["least_people"] == of.least_people
    secret = ("store.key", "signing.key", "tokens.key", "store.sqlite", "codes.csv")
    assert {(folder / name).stat().st_mode & 0o777 for name in secret} == {0o600}


@pytest.mark.slow
def test_every_key_is_new(made, tmp_path):
    folder, _ = made
    one = Bundle.parse((folder / "bundle.json").read_bytes())
    (tmp_path / "collection.toml").write_text(terms())
    read = MixersTerms.load(tmp_path / "collection.toml")
    two = make_mixers_bundle(Plan.load(PLAN), read).bundle
    keys = [key.modulus for of in (one, two) for key in set(of.token_keys)]
    assert len(set(keys)) == 2 * (1 + len(one.plan.messages))
    assert one.inviter.key != two.inviter.key


def test_links_lead_to_the_inviter_and_codes_are_not_stored(made):
    folder, _ = made
    rows = list(csv.DictReader((folder / "codes.csv").read_text().splitlines()))
    links = [Link.parse(row["link"]) for row in rows]
    assert {link.address for link in links} == {"https://invite.example"}
    codes = [code_field(row["code"]) for row in rows]
    assert [link.code.encode() for link in links] == codes and len(set(codes)) == 3
    store = setup.open_store(InviterSettings(folder=folder))
    assert store.issued() == 3
    store.engine.dispose()
    assert not any(code in (folder / "store.sqlite").read_bytes() for code in codes)


def test_more_invitations_lead_to_a_survey_page(made, tmp_path):
    folder, _ = made
    output, page = tmp_path / "more.csv", tmp_path / "more.html"
    given = ("--inviter", folder, "--survey-page", "https://page.example/s", "--page", page)
    said = command("inviter", "invite", 2, "-o", output, *given)
    assert said["issued"] == said["invitations"] + 3
    (row, _) = csv.DictReader(output.read_text().splitlines())
    assert Link.parse(row["link"]).address == "https://page.example/s"
    assert row["code"] in page.read_text()


def test_a_folder_with_keys_is_refused(made):
    """Its keys are for one bundle only; also if just one file is left of it."""
    folder, _ = made
    words = ["inviter", "init", folder, PLAN, folder.parent / "collection.toml"]
    found = CliRunner().invoke(app, [*map(str, words)])
    assert isinstance(found.exception, UsageError) or found.exit_code == 2
    for name in ("tokens.key", "signing.key", "store.key", "bundle.json"):
        other = folder.parent / f"only-{name}"
        other.mkdir()
        shutil.copy(folder / name, other)
        with pytest.raises(UsageError, match="each bundle needs its own folder"):
            setup.check_unused(InviterSettings(folder=other))


def test_keys_of_another_bundle_are_refused(made, tmp_path):
    """Copied into the folder of another bundle, they sign nothing."""
    inviter = Inviter(tmp_path)
    shutil.copy(made[0] / "tokens.key", inviter.settings.tokens_file)
    with pytest.raises(StoreError, match="are for another bundle"):
        inviter.start()
    inviter.settings.tokens_file.write_text("00\n")
    with pytest.raises(StoreError, match="cannot be read"):
        inviter.start()
    inviter.close()


def test_a_database_of_another_bundle_is_refused(made, tmp_path):
    inviter = Inviter(tmp_path)
    inviter.store.engine.dispose()
    shutil.copy(made[0] / "store.sqlite", inviter.settings.folder)
    with pytest.raises(StoreError, match="belongs to another bundle"):
        inviter.start()
    inviter.close()


@pytest.mark.parametrize(
    ("change", "error", "said"),
    one_in(
        2,
        [
            (
                ('inviter = "Works council"', 'inviter = " institute"'),
                ProtocolError,
                "runs.collector",
            ),
            (("https://first.example", "https://second.example"), ProtocolError, "addresses"),
            (('title = "Habits"', "wanted = 3"), UsageError, "wanted.*known keys"),
            (("[first]\naddress", "[first]\nadress"), UsageError, "did you mean address"),
            (
                ("[first]", "[first]\nport = 3"),
                UsageError,
                r"first\.port.*known keys are address, key",
            ),
            (("https://invite", "ftp://invite"), UsageError, "inviter.address"),
        ],
    ),
)
def test_terms_that_contradict_themselves_are_refused(tmp_path, change, error, said):
    text = terms().replace(*change)
    assert text != terms()
    (tmp_path / "collection.toml").write_text(text)
    with pytest.raises(error, match=said):
        make_mixers_bundle(Plan.load(PLAN), MixersTerms.load(tmp_path / "collection.toml"))


def test_check_finds_what_others_can_read(made):
    folder, _ = made
    settings = load_settings(InviterSettings, folder)
    store = setup.open_store(settings)
    settings.tokens_file.chmod(0o644)
    found = {each.subject: each for each in setup.check(settings, store)}
    settings.tokens_file.chmod(0o600)
    store.engine.dispose()
    assert not found["permissions of tokens.key"].good
    assert found["permissions of signing.key"].good
    assert {"swap", "clock", "disk", "the store's key"} <= found.keys()


def test_run_listens_with_the_settings_of_its_folder(made, monkeypatch):
    """The command starts the service that the other tests ask."""
    folder, _ = made
    served = []
    monkeypatch.setattr("incrowd.collection.machine.protect", lambda: None)
    monkeypatch.setattr("incrowd.collection.serving.log_discreetly", lambda: None)
    monkeypatch.setattr("incrowd.collection.serving.serve", lambda *given: served.append(given))
    monkeypatch.setenv("INCROWD_INVITER_PORT", "0")
    found = CliRunner().invoke(app, ["inviter", "run", str(folder)], catch_exceptions=False)
    ((service, _, announce),) = served
    assert found.exit_code == 0 and service.state.keeper
    assert load_settings(InviterSettings, folder).port == 0 and callable(announce)
