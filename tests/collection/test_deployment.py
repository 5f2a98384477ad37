"""What docs/running.md and deploy/ say: settings, commands, units and images exist as told."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer

from incrowd.cli.app import app
from incrowd.cli.later import Later
from incrowd.collection.collector import app as collecting
from incrowd.collection.collector.dashboard import PATH
from incrowd.collection.mixer import app as mixing
from incrowd.collection.mixer import setup
from incrowd.collection.mixer.init import ShufflerTerms
from incrowd.collection.settings import (
    COLLECTOR_FILE,
    FIRST_MIXER_FILE,
    SHUFFLER_FILE,
    CollectorSettings,
    FirstMixerSettings,
    ShufflerSettings,
    load_collector_settings,
    load_first_mixer_settings,
    load_shuffler_settings,
)

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RUNNING = (ROOT / "docs" / "running.md").read_text()
PAGES = RUNNING + (ROOT / "docs" / "colleague.md").read_text()
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())
UNITS = sorted(DEPLOY.glob("*.service"))
IMAGES = sorted(DEPLOY.glob("Containerfile.*"))
MOST_EXPOSED = 15  # of systemd-analyze security, in tenths
HARDENED = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "PrivateDevices": "yes",
    "CapabilityBoundingSet": "",
    "LimitCORE": "0",
    "MemorySwapMax": "0",
    "UMask": "0077",
    "StateDirectoryMode": "0700",
    "RestartPreventExitStatus": "2",
}


def named(path):
    return path.name


def settings(role):
    """Every setting with its name in the environment; the shuffler's folder is an argument."""
    names = role.model_fields.keys() - {"folder"}
    return {role.model_config["env_prefix"] + name.upper(): name for name in names}


# --- settings ------------------------------------------------------------------------------------


FILE_NAMES = {
    ShufflerSettings: SHUFFLER_FILE,
    FirstMixerSettings: FIRST_MIXER_FILE,
    CollectorSettings: COLLECTOR_FILE,
}
LOAD = {
    ShufflerSettings: load_shuffler_settings,
    FirstMixerSettings: load_first_mixer_settings,
    CollectorSettings: load_collector_settings,
}


def test_a_first_mixer_has_the_settings_of_a_shuffler():
    """So there is one table for both."""
    assert FirstMixerSettings.model_fields.keys() == ShufflerSettings.model_fields.keys()
    assert f"`{FIRST_MIXER_FILE}`" in RUNNING and "`INCROWD_FIRST_MIXER_`" in RUNNING


@pytest.mark.parametrize("role", [ShufflerSettings, CollectorSettings])
def test_the_tables_of_settings_are_those_of_the_code(role):
    prefix = role.model_config["env_prefix"]
    rows = re.findall(rf"^\| `(\w+)` \| `({prefix}\w+)` \| (.*?) \|", RUNNING, re.MULTILINE)
    assert {variable: name for name, variable, _ in rows} == settings(role)
    for name, _, default in rows:
        known = role.model_fields[name].default
        if isinstance(known, (int, float)):
            assert float(default) == known, name
        elif isinstance(known, str):
            assert default == f"`{known}`", name
    assert f"`{FILE_NAMES[role]}`" in RUNNING


@pytest.mark.parametrize("path", [ROOT / "docs" / "running.md", *FILES], ids=named)
def test_every_variable_that_is_named_is_read(path):
    known = set().union(*map(settings, FILE_NAMES), {"INCROWD_FIRST_MIXER_"})
    said = set(re.findall(r"INCROWD_[A-Z_]+", path.read_text()))
    assert said <= known


@pytest.mark.parametrize("role", FILE_NAMES)
def test_variables_are_read_and_go_before_the_file(role, tmp_path, monkeypatch):
    (tmp_path / FILE_NAMES[role]).write_text("port = 1000\nhost = '127.0.0.9'\n")
    monkeypatch.setenv(role.model_config["env_prefix"] + "PORT", "2000")
    settings = LOAD[role](tmp_path)
    assert (settings.host, settings.port) == ("127.0.0.9", 2000)


def test_the_keys_of_a_collection_are_terms():
    stated = re.search(r"cat > collection.toml <<TOML\n(.*?)\n\[", RUNNING, re.DOTALL)[1]
    keys = set(re.findall(r"^(\w+) =", stated, re.MULTILINE))
    required = {name for name, field in ShufflerTerms.model_fields.items() if field.is_required()}
    assert required - {"questions"} <= keys <= ShufflerTerms.model_fields.keys()


# --- commands ------------------------------------------------------------------------------------


def checked_command(words):
    """The command that words call; options and arguments are such as it takes."""
    group = typer.main.get_command(app)
    while hasattr(group, "commands"):
        assert words and words[0] in group.commands, words
        group = group.commands[words.pop(0)]
        group = group.loaded() if isinstance(group, Later) else group
    options = {option for param in group.params for option in (*param.opts, *param.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= options, words
    return group


def test_every_command_of_the_pages_exists():
    """In line, as `incrowd shuffler check`, and in blocks."""
    said = re.findall(r"`incrowd ([^`]+)`", PAGES) + re.findall(r"^incrowd (.+)$", PAGES, re.M)
    assert len(said) > 10
    for command in said:
        checked_command([word for word in shlex.split(command.split("||")[0])])


def test_a_command_that_does_not_exist_is_found():
    with pytest.raises(AssertionError):
        checked_command(["shuffler", "walk"])
    with pytest.raises(AssertionError):
        checked_command(["shuffler", "run", "folder", "--fast"])


def test_addresses_in_the_table_are_served():
    text = Path(mixing.__file__).read_text() + Path(collecting.__file__).read_text()
    served = {*re.findall(r'Route\("(/\w+)"', text), PATH, mixing.UPLOAD}
    said = set(re.findall(r"^\| `(/\w+)` \|", RUNNING, re.MULTILINE))
    assert said == served - {"/bundle", "/upload", "/release"}
    for proxy in (DEPLOY / "nginx-shuffler.conf", DEPLOY / "nginx-collector.conf"):
        assert set(re.findall(r"location = (/\w+)", proxy.read_text())) <= served - said | {
            "/count"
        }


# --- units ---------------------------------------------------------------------------------------


def unit(path):
    """The sections of a unit: name and value, in their order; a name may come twice."""
    sections, current = {}, None
    for line in path.read_text().splitlines():
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            name, separator, value = line.partition("=")
            assert separator, line
            current.append((name, value))
    return sections


@pytest.mark.parametrize("path", UNITS, ids=named)
def test_a_unit_is_hardened_and_starts_a_command_that_exists(path):
    service = unit(path)["Service"]
    assert HARDENED.items() <= dict(service).items()
    assert "root" not in dict(service)["User"]
    program, *words = shlex.split(dict(service)["ExecStart"])
    assert Path(program).name == "incrowd"
    checked_command(words)
    folder = Path(words[-1])
    assert str(folder.parent) == "/var/lib", "it may write into its state folder only"
    assert folder.name in dict(service)["StateDirectory"].split()


def test_the_unit_gives_more_time_to_stop_than_the_program_takes():
    from incrowd.collection.service import STOP_SECONDS

    assert all(int(dict(unit(path)["Service"])["TimeoutStopSec"]) > STOP_SECONDS for path in UNITS)
    assert f"up to {STOP_SECONDS} seconds" in RUNNING


@pytest.mark.parametrize("path", UNITS, ids=named)
def test_systemd_reads_a_unit_and_finds_it_little_exposed(path, tmp_path):
    program = shutil.which("systemd-analyze")
    if not program:
        pytest.skip("systemd is not installed: no systemd-analyze is found")
    text = path.read_text().replace("/opt/incrowd/bin/incrowd", shutil.which("true"))
    copy = tmp_path / path.name
    copy.write_text(text)
    read = subprocess.run([program, "verify", "--man=no", copy], capture_output=True, text=True)
    assert path.stem.split("@")[0] not in read.stderr, read.stderr
    exposed = [program, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", copy]
    done = subprocess.run(exposed, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# --- images --------------------------------------------------------------------------------------


def instructions(path):
    """Of a container file: words in capitals and what follows, continued lines as one."""
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", path.read_text(), flags=re.MULTILINE))
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    assert all(re.fullmatch(r"[A-Z]+", word) for word, _ in lines)
    return lines


@pytest.mark.parametrize("path", IMAGES, ids=named)
def test_an_image_is_pinned_and_runs_a_command_that_exists_as_nobody_special(path):
    lines = instructions(path)
    last = dict(lines)
    assert [rest for word, rest in lines if word == "FROM"] == ["python:3.11-slim"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last["USER"]), "a number, and not root"
    copied = [name for word, rest in lines if word == "COPY" for name in rest.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert {"constraints.txt", "pyproject.toml", "src"} <= set(copied)
    installed = " ".join(rest for word, rest in lines if word == "RUN")
    assert "PIP_CONSTRAINT=/source/constraints.txt pip install" in installed
    words = re.findall(r'"([^"]*)"', last["ENTRYPOINT"] + last["CMD"])
    assert words.pop(0) == "incrowd"
    assert words[-1] in last["VOLUME"]
    checked_command(words)


@pytest.mark.parametrize("path", IMAGES, ids=named)
def test_an_image_looks_where_it_listens(path):
    lines = instructions(path)
    given = dict(
        pair.split("=", 1) for word, rest in lines if word == "ENV" for pair in shlex.split(rest)
    )
    role = path.suffix.strip(".").upper()
    port = given[f"INCROWD_{role}_PORT"]
    assert dict(lines)["EXPOSE"] == port
    look = next(rest for word, rest in lines if word == "HEALTHCHECK")
    assert f"http://127.0.0.1:{port}/ready" in look
    role = ShufflerSettings if role == "SHUFFLER" else CollectorSettings
    kept = {
        name: value
        for name, value in given.items()
        if name.startswith(role.model_config["env_prefix"])
    }
    assert kept.keys() <= settings(role).keys()


# --- PostgreSQL ----------------------------------------------------------------------------------


def postgres_settings():
    lines = (DEPLOY / "postgresql.conf").read_text().splitlines()
    return dict(line.split(" = ") for line in lines if line and not line.startswith("#"))


def test_what_check_asks_of_postgresql_is_in_its_settings():
    given = postgres_settings()
    for name, allowed in setup.QUIET.items():
        assert given[name] in allowed, name


def test_postgresql_knows_these_settings_and_may_be_given_them(postgres):
    import psycopg

    with psycopg.connect(f"host={postgres.folder} user=tester dbname=postgres") as connection:
        asked = "SELECT name, vartype, enumvals FROM pg_settings"
        known = {name: (kind, values) for name, kind, values in connection.execute(asked)}
    for name, value in postgres_settings().items():
        kind, values = known[name]
        assert kind != "bool" or value in ("on", "off"), name
        assert kind != "integer" or re.fullmatch(r"-?\d+", value), name
        assert kind != "enum" or value in values, name
