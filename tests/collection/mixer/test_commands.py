"""The commands of a shuffler: a folder is made, looked at, and invites people."""

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

import incrowd
from incrowd.cli.app import app
from incrowd.collection.mixer import setup
from incrowd.collection.mixer.init import ShufflerTerms, make_bundle
from incrowd.collection.protocol.addresses import Link, short
from incrowd.collection.protocol.bundle import TIME, Bundle
from incrowd.collection.protocol.upload import code_field
from incrowd.collection.settings import ShufflerSettings, load_settings
from incrowd.collection.steady import SteadyClock
from incrowd.errors import UsageError
from tests.collection.mixer.conftest import INVITED, upload
from tests.oracles.make_vectors import CONFIGURATION, VECTORS

TERMS = f"""
title = "Habits"
period = "November 2026"
opens = "2026-11-01T00:00:00Z"
closes = "2026-11-30T23:59:59Z"
disposes = "2026-12-31T00:00:00Z"
codes = true
shuffler = "https://mix.example"
collector = "https://count.example"
key_configuration = "{CONFIGURATION.encoded.hex()}"
[questions]
""" + "\n".join(f'{id} = "About {id}?"' for id in INVITED.wording.questions)


def command(*words):
    """What a command says in JSON."""
    found = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    assert found.exit_code == 0, found.stderr
    return json.loads(found.stdout)


@pytest.fixture
def folder(tmp_path):
    terms = tmp_path / "collection.toml"
    terms.write_text(TERMS)
    made = tmp_path / "shuffler"
    return made, command("shuffler", "init", made, VECTORS / "plan.json", terms)


def test_init_makes_a_bundle_that_its_link_pins(folder):
    made, said = folder
    bundle = Bundle.parse((made / "bundle.json").read_bytes())
    assert Link.parse(said["link"]) == Link("https://mix.example", bundle.digest)
    assert said["least_people"] == bundle.least_people and said["guarantee"]["epsilon"] >= 46
    secret = [made / "store.key", made / "signing.key", made / "store.sqlite"]
    assert {path.stat().st_mode & 0o777 for path in secret} == {0o600}


def worded(**more):
    """A plan whose survey says what people read, of one question."""
    question = {"id": "a", "type": "yesno", "text": {"en": "A?", "de": "Ä?"}} | more
    raw = {"name": "Letters", "crowd": 2000, "colluding": 5, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(raw | {"privacy": {"epsilon": 3.0, "analysis": "local"}}))


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("", ("en", "Letters", "A?")),
        ('title = "B"\nlanguage = "de"', ("de", "B", "Ä?")),
        ('[questions]\na = "Otherwise?"', ("en", "Letters", "Otherwise?")),
    ],
)
def test_people_read_what_the_survey_says_unless_told_otherwise(tmp_path, said, read):
    terms = tmp_path / "collection.toml"
    stated = TERMS.partition("[questions]")[0].replace('title = "Habits"\n', "")
    terms.write_text(stated + said)
    wording = make_bundle(worded(), ShufflerTerms.load(terms)).bundle.wording
    assert (wording.language, wording.title, wording.questions["a"]) == read


def test_two_bundles_have_two_signing_keys(tmp_path):
    terms = tmp_path / "collection.toml"
    terms.write_text(TERMS)
    made = [make_bundle(INVITED.plan, ShufflerTerms.load(terms)).bundle for _ in range(2)]
    assert made[0].shuffler_key != made[1].shuffler_key


def test_an_invitation_can_be_used_once(folder, tmp_path):
    made, _ = folder
    output, page = tmp_path / "codes.csv", tmp_path / "codes.html"
    said = command("invitations", "3", "-o", output, "--shuffler", made, "--page", page)
    assert said["issued"] == 3
    assert output.stat().st_mode & 0o777 == page.stat().st_mode & 0o777 == 0o600
    rows = list(csv.DictReader(output.read_text().splitlines()))
    store = setup.open_store(ShufflerSettings(folder=made))
    codes = [code_field(row["code"]) for row in rows]
    assert [Link.parse(row["link"]).code.encode() for row in rows] == codes
    shown = page.read_text()
    assert all(row["code"] in shown for row in rows) and short(store.bundle.digest) in shown
    assert "--keep" in shown and "--withdraw" in shown, "without it nothing can be taken back"
    tags = [store.secrets.code_tag(code) for code in codes]
    assert not any(code in (made / "store.sqlite").read_bytes() for code in codes)
    prepared = store.prepare(*(upload(store.bundle, n) for n in range(2)))
    used = [replace(each, code=tags[0]) for each in prepared]
    assert [outcome.value for outcome in store.accept(used)] == ["stored", "code-used"]
    store.engine.dispose()


def test_check_finds_what_others_can_read(folder):
    made, _ = folder
    settings = load_settings(ShufflerSettings, made)
    store = setup.open_store(settings)
    (made / "store.key").chmod(0o644)
    found = {each.subject: each for each in setup.check(settings, store)}
    assert not found["permissions of store.key"].good
    assert found["permissions of signing.key"].good
    assert not found["the store's key"].good, "it is on the disk of the database"
    assert {"swap", "clock", "disk"} <= found.keys()
    store.engine.dispose()


def test_the_clock_is_confirmed_for_several_services_at_once(folder, tmp_path):
    made, _ = folder
    other = tmp_path / "other"
    other.mkdir()
    (other / "bundle.json").write_bytes((made / "bundle.json").read_bytes())
    now = datetime.now(UTC)
    said = command("confirm-clock", f"{now:{TIME}}", made, other)
    assert said["folders"] == [str(made), str(other)]
    for each in (made, other):
        assert SteadyClock(each / "clock.json").confirmed() >= now


def test_settings_of_the_environment_are_above_those_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "shuffler.toml").write_text("port = 1\npause = 3.5\n")
    monkeypatch.setenv("INCROWD_SHUFFLER_PORT", "2")
    settings = load_settings(ShufflerSettings, tmp_path)
    assert (settings.port, settings.pause) == (2, 3.5)
    assert ShufflerSettings(folder=tmp_path).port == 8080, "the constructor reads neither"


@pytest.mark.parametrize(
    ("text", "environment", "said"),
    [
        ("prot = 80", {}, r"shuffler\.prot: is not a known setting; did you mean port\?"),
        ("folder = '/else'", {}, r"shuffler\.folder: is not a known setting; known keys are"),
        ("", {"INCROWD_SHUFFLER_PROT": "1"}, "did you mean INCROWD_SHUFFLER_PORT"),
        ("", {"INCROWD_SHUFLER_PORT": "1"}, "did you mean INCROWD_SHUFFLER_PORT"),
        ("", {"INCROWD_SHUFFLER_FOLDER": "1"}, "is not a known setting; "),
        ("", {"INCROWD_SHUFFLER_PORT": "x"}, "INCROWD_SHUFFLER_PORT: got 'x'; should be a whole"),
        ("port = 'x'", {}, r"shuffler\.port: got 'x'; should be a whole"),
        ("port =", {}, r"settings: .*shuffler\.toml'; it is not TOML"),
    ],
)
def test_a_wrong_setting_is_refused_where_it_stands(tmp_path, monkeypatch, text, environment, said):
    (tmp_path / "shuffler.toml").write_text(text)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=said):
        load_settings(ShufflerSettings, tmp_path)


@pytest.mark.parametrize("name", ["INCROWD_COLLECTOR_PORT", "INCROWD_DEBUG", "_INCROWD_COMPLETE"])
def test_variables_of_the_other_service_and_of_all_commands_are_allowed(
    tmp_path, monkeypatch, name
):
    monkeypatch.setenv(name, "1")
    assert load_settings(ShufflerSettings, tmp_path).port == 8080


def test_a_password_in_a_misspelled_setting_is_not_shown(tmp_path):
    (tmp_path / "shuffler.toml").write_text('databse = "postgresql://u:hidden@h/n"')
    with pytest.raises(UsageError) as refused:
        load_settings(ShufflerSettings, tmp_path)
    assert "hidden" not in str(refused.value) and "did you mean database?" in str(refused.value)


def test_the_address_of_a_database_is_not_shown(tmp_path):
    (tmp_path / "shuffler.toml").write_text('database = ["postgresql://u:hidden@h/n"]')
    with pytest.raises(UsageError, match=r"shuffler\.database") as refused:
        load_settings(ShufflerSettings, tmp_path)
    assert "hidden" not in str(refused.value)
    assert "hidden" not in repr(
        ShufflerSettings(folder=tmp_path, database="postgresql://u:hidden@h/n")
    )


def test_a_file_about_a_collection_is_called_that(tmp_path):
    (tmp_path / "c.toml").write_text("title = ")
    with pytest.raises(UsageError, match=r"^collection: "):
        ShufflerTerms.load(tmp_path / "c.toml")
    (tmp_path / "c.toml").write_text(TERMS.replace("title", "titel"))
    with pytest.raises(UsageError, match="did you mean title"):
        ShufflerTerms.load(tmp_path / "c.toml")
