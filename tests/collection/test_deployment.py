"""What docs/running.md and deploy/ say: settings, commands, units and images exist as told."""

import importlib.metadata
import inspect
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from incrowd.cli.app import app
from incrowd.cli.later import Later
from incrowd.collection import service as base
from incrowd.collection.collector import app as collecting
from incrowd.collection.collector.dashboard import PATH
from incrowd.collection.inviter import app as inviting
from incrowd.collection.inviter.init import MixersTerms
from incrowd.collection.mixer import app as mixing
from incrowd.collection.mixer import setup
from incrowd.collection.mixer.init import ShufflerTerms
from incrowd.collection.mixer.second import app as second_mixing
from incrowd.collection.mixer.store import writing
from incrowd.collection.protocol.problem import KINDS
from incrowd.collection.settings import SERVICES, load_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
RUNNING = (ROOT / "docs" / "running.md").read_text()
MIXERS = (ROOT / "docs" / "mixers.md").read_text()
PAGES = RUNNING + MIXERS + (ROOT / "docs" / "colleague.md").read_text()
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())
UNITS = sorted(DEPLOY.glob("*.service"))
COMMANDS = {role.command: role for role in SERVICES}
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
    "LimitNOFILE": "65536",
    "MemoryMax": "4G",
    "TasksMax": "512",
}


def named(path):
    return path.name


def settings(role):
    """Every setting with its name in the environment; the shuffler's folder is an argument."""
    names = role.model_fields.keys() - {"folder"}
    return {role.prefix() + name.upper(): name for name in names}


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", SERVICES)
def test_the_tables_of_settings_are_those_of_the_code(role):
    prefix = role.prefix()
    rows = re.findall(rf"^\| `(\w+)` \| `({prefix}\w+)` \| (.*?) \|", PAGES, re.MULTILINE)
    assert {variable: name for name, variable, _ in rows} == settings(role)
    for name, _, default in rows:
        known = role.model_fields[name].default
        if isinstance(known, bool):
            assert default == str(known).lower(), name
        elif isinstance(known, (int, float)):
            assert float(default) == known, name
        elif isinstance(known, str):
            assert default == f"`{known}`", name
    assert f"`{role.command}.toml`" in PAGES


PAGE_FILES = [ROOT / "docs" / name for name in ("running.md", "mixers.md")]


@pytest.mark.parametrize("path", [*PAGE_FILES, *FILES], ids=named)
def test_every_variable_that_is_named_is_read(path):
    prefixes = {role.prefix() for role in SERVICES}
    known = {variable for role in SERVICES for variable in settings(role)} | prefixes
    said = set(re.findall(r"INCROWD_[A-Z_]+", path.read_text()))
    assert said <= known


@pytest.mark.parametrize("role", SERVICES)
def test_variables_are_read_and_go_before_the_file(role, tmp_path, monkeypatch):
    role.file(tmp_path).write_text("port = 1000\nhost = '127.0.0.9'\n")
    monkeypatch.setenv(role.prefix() + "PORT", "2000")
    settings = load_settings(role, tmp_path)
    assert (settings.host, settings.port) == ("127.0.0.9", 2000)


@pytest.mark.parametrize(("page", "terms"), [(RUNNING, ShufflerTerms), (MIXERS, MixersTerms)])
def test_the_keys_of_a_collection_are_terms(page, terms):
    stated = re.search(r"cat > collection.toml <<TOML\n(.*?)\nTOML", page, re.DOTALL)[1]
    values, *tables = stated.split("\n[")
    keys = set(re.findall(r"^(\w+) =", values, re.MULTILINE))
    keys |= {table.partition("]")[0] for table in tables}
    required = {name for name, field in terms.model_fields.items() if field.is_required()}
    assert required - {"questions"} <= keys <= terms.model_fields.keys()


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


SENT = {"/upload", "/tokens", "/batch", "/release", "/invitations"}  # what others send


def served(*services):
    """The addresses that services have."""
    text = "".join(Path(service.__file__).read_text() for service in services)
    uploads = {mixing.UPLOAD} if mixing in services else set()
    own = set(re.findall(r'\.route\("(/\w+)"', text))
    return uploads | own | set(re.findall(r'"(/\w+)": self\.', inspect.getsource(base)))


def test_addresses_in_the_table_are_served():
    said = set(re.findall(r"^\| `(/\w+)` \|", RUNNING, re.MULTILINE))
    assert said == (served(mixing, collecting) | {PATH}) - SENT - {"/bundle"}


OPEN = {"people": (mixing, inviting), "parties": (second_mixing, collecting)}


@pytest.mark.parametrize("who", OPEN)
def test_a_proxy_opens_what_is_sent_and_nothing_else(who):
    """Both proxies, for services that people send to, and for those that only parties send to."""
    public = {"/bundle", "/count"} if who == "people" else set()
    wanted = served(*OPEN[who]) & (SENT | public)
    nginx = (DEPLOY / f"nginx-{who}.conf").read_text()
    assert set(re.findall(r"location = (/\w+)", nginx)) == wanted
    caddy = (DEPLOY / f"Caddyfile.{who}").read_text()
    [paths] = re.findall(r"^\t+(?:@people )?path (.*)$", caddy, re.MULTILINE)
    assert set(paths.split()) == wanted


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


INSTANCES = {"incrowd@": sorted(COMMANDS), "incrowd-shuffler@": ["8080"]}


def test_every_unit_has_instances():
    assert {path.stem for path in UNITS} == INSTANCES.keys()


@pytest.mark.parametrize(
    ("path", "instance"),
    [(path, instance) for path in UNITS for instance in INSTANCES[path.stem]],
    ids=str,
)
def test_a_unit_is_hardened_and_starts_a_command_that_exists(path, instance):
    pairs = unit(path)["Service"]
    service = [(name, value.replace("%i", instance)) for name, value in pairs]
    assert HARDENED.items() <= dict(service).items()
    assert "root" not in dict(service)["User"]
    program, *words = shlex.split(dict(service)["ExecStart"])
    assert Path(program).name == "incrowd"
    checked_command(words)
    folder = Path(words[-1])
    if folder.suffix:  # the folder is that of the settings, which are named after the service
        assert folder.name == f"{instance}.toml"
        folder = folder.parent
    assert str(folder.parent) == "/var/lib", "it may write into its state folder only"
    assert folder.name in dict(service)["StateDirectory"].split()


def test_the_unit_of_a_package_is_the_same():
    template = ROOT / "src/incrowd/studio/templates/package_incrowd@.service"
    assert template.read_text() == (DEPLOY / "incrowd@.service").read_text()


def test_the_unit_gives_more_time_to_stop_than_the_program_takes():
    from incrowd.collection.serving import STOP_SECONDS

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


def stages():
    """Of the container file: the instructions of each stage, after those it is built from."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = [line.split(None, 1) for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    assert all(re.fullmatch(r"[A-Z]+", word) for word, _ in lines)
    (word, given), *lines = lines
    assert word == "ARG", "the base image can be stated with its digest"
    variable, image = given.split("=")
    found = {}
    for word, rest in lines:
        if word == "FROM":
            base, _, name = rest.split()
            base = image if base == f"${{{variable}}}" else base
            found[name] = [*found.get(base, [(word, base)])]
        else:
            found[name].append((word, rest))
    return found


IMAGES = {name: lines for name, lines in stages().items() if name != "incrowd"}


def test_every_service_has_an_image():
    assert IMAGES.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_is_pinned_and_runs_a_command_that_exists_as_nobody_special(name):
    lines = IMAGES[name]
    last = dict(lines)
    assert [rest for word, rest in lines if word == "FROM"] == ["python:3.11-slim"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last["USER"]), "a number, and not root"
    copied = [name for word, rest in lines if word == "COPY" for name in rest.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    parts = {"deploy/requirements.txt", "pyproject.toml", "setup.py", "packages", "src"}
    assert parts <= set(copied)
    everything = " ".join(rest for word, rest in lines if word == "RUN")
    installed = [step for step in everything.split("&& ") if "pip install" in step]
    assert len(installed) == 2 and "--require-hashes -r /source/requirements.txt" in installed[0]
    words = installed[1].split(" && ")[0].split()
    assert {"--no-deps", "--no-build-isolation"} <= set(words), "no other package"
    assert {"/source/packages/accountant", "/source"} <= set(words)
    words = re.findall(r'"([^"]*)"', last["ENTRYPOINT"] + last["CMD"])
    assert words.pop(0) == "incrowd" and words[0] == name
    assert words[-1] in last["VOLUME"]
    checked_command(words)


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_looks_where_it_listens(name):
    lines, role = IMAGES[name], COMMANDS[name]
    given = dict(
        pair.split("=", 1) for word, rest in lines if word == "ENV" for pair in shlex.split(rest)
    )
    prefix = role.prefix()
    port = given[f"{prefix}PORT"]
    assert dict(lines)["EXPOSE"] == port and given[f"{prefix}HOST"] == "0.0.0.0"
    look = next(rest for word, rest in lines if word == "HEALTHCHECK")
    assert f"http://127.0.0.1:{port}/ready" in look
    ours = {variable for variable in given if variable.startswith("INCROWD_")}
    assert ours <= settings(role).keys()
    assert ("secret" in role.model_fields) == (f"{prefix}SECRET" in ours)


# --- compose -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def composed():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


@pytest.mark.parametrize("name", ["shuffler", "collector"])
def test_a_composed_service_is_the_image_with_its_volumes_and_limits(composed, name):
    service, lines = composed["services"][name], dict(IMAGES[name])
    build = service["build"]
    assert build["target"] == name and (DEPLOY / build["context"] / build["dockerfile"]).exists()
    mounted = dict(volume.split(":") for volume in service["volumes"])
    assert mounted.keys() <= composed["volumes"].keys()
    secret = "secret" in COMMANDS[name].model_fields
    assert set(mounted.values()) == {"/data"} | ({"/secret"} if secret else set())
    address, outside, inside = service["ports"][0].split(":")
    assert address == "127.0.0.1" and inside == lines["EXPOSE"]
    assert int(outside) == COMMANDS[name].model_fields["port"].default
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
    assert service["mem_limit"] == service["memswap_limit"], "no swap"
    assert service["ulimits"] == {"core": 0, "nofile": int(HARDENED["LimitNOFILE"])}
    assert str(service["pids_limit"]) == HARDENED["TasksMax"]
    from incrowd.collection.serving import STOP_SECONDS

    assert int(service["stop_grace_period"].rstrip("s")) > STOP_SECONDS


@pytest.mark.parametrize("name", ["shuffler", "collector"])
def test_podman_gets_the_health_check_of_the_image(composed, name):
    """Its own format of images has none, so that the file states it once more."""
    stated = composed["services"][name]["healthcheck"]
    options, command = dict(IMAGES[name])["HEALTHCHECK"].split("CMD ", 1)
    assert stated["test"] == ["CMD", *json.loads(command)]
    given = dict(option.removeprefix("--").split("=") for option in options.split())
    assert {name.replace("-", "_"): value for name, value in given.items()} == {
        name: value for name, value in stated.items() if name != "test"
    }
    pages = (DEPLOY / "Containerfile").read_text() + RUNNING + MIXERS
    for command in re.findall(r"podman build.*", pages):
        assert "--format docker" in command


# --- Prometheus ----------------------------------------------------------------------------------


SOURCES = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
METRICS = set(re.findall(r"\"(incrowd_[a-z_]+)\"", SOURCES))


def test_every_metric_of_an_alert_exists():
    [group] = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    rules = " ".join(rule["expr"] for rule in group["rules"])
    said = {name.removesuffix("_total") for name in re.findall(r"\bincrowd_[a-z_]+", rules)}
    assert said and said <= METRICS
    assert "incrowd_failing" in said
    assert set(re.findall(r"state=\"(\w+)\"", rules)) <= {writing.RELEASED}
    assert set(re.findall(r"kind=\"([\w-]+)\"", rules)) <= KINDS.keys()
    for rule in group["rules"]:
        assert rule["alert"] in RUNNING, "the manual states what to do"


def test_prometheus_scrapes_each_service_that_has_metrics_at_its_port():
    stated = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    ports = {}
    for job in stated["scrape_configs"]:
        [target] = job["static_configs"][0]["targets"]
        ports[job["job_name"]] = target
    assert ports == {
        f"incrowd-{name}": f"127.0.0.1:{settings.model_fields['port'].default}"
        for name, settings in COMMANDS.items()
    }
    for service in (mixing, collecting, inviting, second_mixing):
        assert "/metrics" in served(service)
    assert all((DEPLOY / file).exists() for file in stated["rule_files"])


@pytest.mark.parametrize(("what", "file"), [("config", "prometheus.yml"), ("rules", "alerts.yml")])
def test_promtool_reads_the_files(what, file):
    program = shutil.which("promtool")
    if not program:
        pytest.skip("promtool is not installed")
    done = subprocess.run([program, "check", what, DEPLOY / file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- packages ------------------------------------------------------------------------------------


PINS = DEPLOY / "requirements.txt"


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins():
    """Of each package its version and hashes; nothing else is in the file."""
    text = re.sub(r"^#.*\n", "", PINS.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        requirement, *options = line.split()
        name, version = requirement.split("==")
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", option) for option in options)
        found[canonical(name)] = version, options
    return found


def closure(name, extras=frozenset(), seen=None):
    """What a package needs on this machine, with what that needs, from what is installed."""
    seen = set() if seen is None else seen
    for text in importlib.metadata.requires(name) or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if not marker or any(marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            needed = canonical(requirement.name), frozenset(requirement.extras)
            if needed not in seen:
                seen.add(needed)
                closure(requirement.name, requirement.extras, seen)
    return {name for name, _ in seen}


def test_every_package_of_a_service_has_the_pinned_version_and_hashes():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    stated = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    stated = {canonical(name): version for name, version in stated.items()}
    found = pins()
    assert {name: version for name, (version, _) in found.items()} == {
        name: stated[name] for name in found
    }
    needed = closure("incrowd", {"collect"}) - {"incrowd-accountant"}  # of the same repository
    assert needed | {"setuptools"} == found.keys()
    assert all(hashes for _, hashes in found.values())


def test_the_file_with_hashes_names_no_place_where_packages_come_from():
    assert not re.search(r"://|--(index|extra-index|find-links|trusted)", PINS.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("changed", [False, True])
def test_pip_accepts_these_hashes_and_no_others(tmp_path, changed):
    """Of a few small packages: it has to download each."""
    few = ("h11", "idna", "mdurl", "rfc8785")
    found = pins()
    lines = []
    for name in few:
        version, hashes = found[name]
        if changed and name == "idna":
            hashes = [f"--hash=sha256:{'0' * 64}"]
        lines.append(" ".join((f"{name}=={version}", *hashes)))
    file = tmp_path / "few.txt"
    file.write_text("\n".join(lines))
    download = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
    done = subprocess.run(
        [*download, "-r", file, "-d", tmp_path / "files"], capture_output=True, text=True
    )
    assert (done.returncode == 0) == (not changed), done.stderr
    assert not changed or "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr


FIXED = {  # the first version without a known hole that reaches a service or the studio
    "starlette": "1.3.1",
    "jinja2": "3.1.6",
    "httptools": "0.6.3",
    "python-multipart": "0.0.27",
}


def test_lower_bounds_exclude_versions_with_known_holes():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    listed = map(Requirement, [*project["dependencies"], *extras["collect"], *extras["studio"]])
    bounds = {canonical(each.name): each.specifier for each in listed}
    for name, version in FIXED.items():
        [bound] = [each.version for each in bounds[name] if each.operator == ">="]
        assert Version(bound) >= Version(version), name


# --- PostgreSQL ----------------------------------------------------------------------------------


def postgres_settings():
    lines = (DEPLOY / "postgresql.conf").read_text().splitlines()
    return dict(line.split(" = ") for line in lines if line and not line.startswith("#"))


def test_what_check_asks_of_postgresql_is_in_its_settings():
    given = postgres_settings()
    for name, allowed in setup.QUIET.items():
        assert given[name] in allowed, name


@pytest.mark.slow
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
