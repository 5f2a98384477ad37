"""`incrowd second-mixer init`, `run` and `check`, from the keys to the end."""

import json
import tomllib
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner

from incrowd.cli.second_mixer import app
from incrowd.collection.mixer.second.keeper import keep_bundle, load_keys, make_keys
from incrowd.collection.protocol.sealed import X25519, X_WING, KeyConfiguration
from incrowd.collection.settings import SecondMixerSettings, load_settings
from incrowd.errors import UsageError
from tests.collection.mixer.second.conftest import settings_in
from tests.oracles import mixers

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def bundle_with(public):
    """The bundle of the oracle, with other keys of the second mixer."""
    of = mixers.bundle()
    given = {name: getattr(of, name) for name in type(of).model_fields}
    return type(of).model_validate(given | {"second": {"address": of.second.address, **public}})


def init(folder, *options):
    done = CliRunner().invoke(app, ["init", str(folder), *options])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(("options", "kem"), [((), X_WING), (("--classical",), X25519)])
def test_keys_are_made_and_fit_the_bundle_that_names_them(tmp_path, options, kem):
    public = tomllib.loads(init(tmp_path / "s", *options))
    assert KeyConfiguration.parse(bytes.fromhex(public["key_configuration"])).kem is kem
    settings = SecondMixerSettings(folder=tmp_path / "s")
    assert tomllib.loads(settings.public_file.read_text()) == public
    assert {path.stat().st_mode & 0o777 for path in settings.private_files} == {0o600}
    path = tmp_path / "bundle.json"
    path.write_bytes(mixers.bundle().encoded)
    with pytest.raises(UsageError, match="does not match"):
        keep_bundle(settings, path, NOW)
    assert not settings.bundle_file.exists(), "a wrong bundle is not kept"
    bundle = bundle_with(public)
    path.write_bytes(bundle.encoded)
    assert keep_bundle(settings, path, NOW).digest == bundle.digest
    assert load_keys(settings, bundle).envelopes.public == bundle.second_key.public
    assert keep_bundle(settings, None, NOW).digest == bundle.digest


def test_keys_are_made_once(tmp_path):
    settings = SecondMixerSettings(folder=tmp_path)
    make_keys(settings)
    before = [path.read_bytes() for path in settings.private_files]
    with pytest.raises(UsageError, match="already exists"):
        make_keys(settings)
    assert [path.read_bytes() for path in settings.private_files] == before


def test_the_secret_can_be_elsewhere(tmp_path):
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "second-mixer.toml").write_text(f'secret = "{tmp_path / "memory" / "key"}"\n')
    assert "key" in json.loads(init(folder, "--json"))
    assert (tmp_path / "memory" / "key").exists() and not (folder / "private.key").exists()
    assert load_settings(SecondMixerSettings, folder).secret_file == tmp_path / "memory" / "key"


def test_check_says_what_there_is(tmp_path):
    settings_in(tmp_path / "s")
    done = CliRunner().invoke(app, ["check", str(tmp_path / "s"), "--json"])
    subjects = {each["subject"] for each in json.loads(done.stdout)}
    assert {"the private key", "batch", "leftover files", "disk", "clock"} <= subjects
