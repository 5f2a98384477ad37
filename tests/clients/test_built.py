"""The built client, which pages and the package take: it is small, and made from these sources."""

import gzip
import hashlib
import json
import re
import subprocess

import pytest

import incrowd
from tests.oracles.node import CLIENT, installed, node

ROOT = CLIENT.parents[1]
STATIC = ROOT / "src" / "incrowd" / "collection" / "page" / "static"
DIST = CLIENT / "dist"
BUILT, X_WING, MIXERS = DIST / "incrowd.js", DIST / "x-wing.js", DIST / "mixers.js"
PACKAGED = {BUILT: STATIC / "incrowd-sdk.js"}
PACKAGED |= {file: STATIC / file.name for file in (X_WING, MIXERS)}
MOST_BYTES, MOST_TOGETHER = 16_000, 30_000
NAMED = ("package.json", "tsconfig.json")
STALE = "clients/js/dist is stale: run `npm run build` in clients/js"


def modules_of_client():
    return (CLIENT / "src").rglob("*.ts")


def of_sources():
    """What build.js writes into the first line."""
    modules = sorted(file.relative_to(CLIENT).as_posix() for file in modules_of_client())
    found = hashlib.sha256()
    for name in (*modules, *NAMED):
        file = CLIENT / name
        found.update(f"{name}\n".encode() + file.read_bytes() + b"\n")
    return found.hexdigest()


@pytest.mark.parametrize("built", PACKAGED, ids=lambda path: path.name)
def test_the_built_client_is_of_these_sources(built):
    assert re.search(r"Sources ([0-9a-f]{64}) ", built.read_text())[1] == of_sources(), STALE
    assert PACKAGED[built].read_bytes() == built.read_bytes(), STALE
    named = re.search(r"with (.*), MIT", built.read_text())
    if named is None:
        assert built == MIXERS
        return
    named = named[1].split(", ")
    for file in (built, PACKAGED[built]):
        licenses = file.with_name(f"{file.name}.LICENSES.txt").read_text()
        assert re.findall(r"^(@?[a-z/-]+) \d+\.\d+\.\d+$", licenses, re.MULTILINE) == named
        assert licenses.count("Permission is hereby granted") == len(named)


@pytest.mark.skipif(not installed(), reason="the packages of clients/js are not installed")
def test_building_again_gives_the_same_bytes(tmp_path):
    (program,), _ = node()
    subprocess.run([program, "build.js", tmp_path], cwd=CLIENT, check=True)
    for built in PACKAGED:
        assert (tmp_path / built.name).read_bytes() == built.read_bytes(), STALE


def test_it_has_at_most_16_kilobytes_with_its_dependency():
    """With a module more it would be found: its own sources again, in the clear."""
    data = BUILT.read_bytes()
    assert len(gzip.compress(data, 9)) <= MOST_BYTES
    larger = data + (CLIENT / "src" / "bundle.ts").read_bytes()
    assert len(gzip.compress(larger, 9)) > MOST_BYTES


def test_it_has_no_methods_that_only_a_recipient_needs():
    methods = (b"Decap", b"Open", b"DeriveKeyPair", b"SerializePrivateKey")
    assert [name for name in methods if re.search(rb"\b%s[(:]" % name, BUILT.read_bytes())] == []


def test_x_wing_and_two_mixers_are_loaded_on_demand():
    """The client names no other file, and those files name none."""
    files = [path.read_bytes() for path in (BUILT, X_WING, MIXERS)]
    assert sum(len(gzip.compress(data, 9)) for data in files) <= MOST_TOGETHER
    client, *others = [re.findall(rb"\bimport\b.*?\)|\bfrom *[\"'].*", data) for data in files]
    assert set(client) == {b'import("./x-wing.js")', b'import("./mixers.js")'}
    assert others == [[], []]


def test_nothing_of_the_client_is_loaded_twice():
    """Callers recognize errors by their class, so that there must be one; and sealing is large."""
    marks = {b'="IncrowdError"', b"application/vnd.incrowd.report request"}
    client, mixers = (BUILT.read_bytes(), MIXERS.read_bytes())
    assert {mark for mark in marks if mark in client} == marks
    assert {mark for mark in marks if mark in mixers} == set()


def test_the_dependencies_have_exact_versions():
    package = json.loads((CLIENT / "package.json").read_text())
    assert list(package["dependencies"]) == ["@panva/hpke-noble", "hpke"]
    sources = {file.name: file.read_text() for file in modules_of_client()}
    assert [name for name, text in sources.items() if "@panva" in text] == ["x-wing.ts"]
    named = package["dependencies"] | package["devDependencies"] | package["overrides"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in named.values())

    assert package["version"] == incrowd.__version__.replace("rc", "-rc.")  # as npm writes it
    assert not (CLIENT / "package-lock.json").exists()  # it would say where packages come from
