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
BUILT = CLIENT / "dist" / "incrowd.js"
PACKAGED = ROOT / "src" / "incrowd" / "collection" / "page" / "static" / "incrowd-sdk.js"
MOST_BYTES = 14_500
NAMED = ("package.json", "tsconfig.json")
STALE = "clients/js/dist is stale: run `npm run build` in clients/js"


def of_sources():
    """What build.js writes into the first line."""
    sources = [*sorted((CLIENT / "src").iterdir()), *map(CLIENT.joinpath, NAMED)]
    found = hashlib.sha256()
    for file in sources:
        name = file.relative_to(CLIENT).as_posix()
        found.update(f"{name}\n".encode() + file.read_bytes() + b"\n")
    return found.hexdigest()


def test_the_built_client_is_of_these_sources():
    assert re.search(r"Sources ([0-9a-f]{64}) ", BUILT.read_text())[1] == of_sources(), STALE
    assert PACKAGED.read_bytes() == BUILT.read_bytes(), STALE


@pytest.mark.skipif(not installed(), reason="the packages of clients/js are not installed")
def test_building_again_gives_the_same_bytes(tmp_path):
    (program,), _ = node()
    again = tmp_path / "incrowd.js"
    subprocess.run([program, "build.js", again], cwd=CLIENT, check=True)
    assert again.read_bytes() == BUILT.read_bytes(), STALE


def test_it_has_at_most_13_and_a_half_kilobytes_with_its_dependency():
    """With a module more it would be found: its own sources again, in the clear."""
    data = BUILT.read_bytes()
    assert len(gzip.compress(data, 9)) <= MOST_BYTES
    larger = data + (CLIENT / "src" / "bundle.ts").read_bytes()
    assert len(gzip.compress(larger, 9)) > MOST_BYTES


def test_the_one_dependency_has_an_exact_version():
    package = json.loads((CLIENT / "package.json").read_text())
    assert list(package["dependencies"]) == ["hpke"]
    named = package["dependencies"] | package["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in named.values())

    assert package["version"] == incrowd.__version__.replace("rc", "-rc.")  # as npm writes it
    assert not (CLIENT / "package-lock.json").exists()  # it would say where packages come from
