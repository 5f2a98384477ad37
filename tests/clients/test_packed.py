"""The npm package: what it states, what it contains, and that a stranger can use it."""

import json
import re
import shutil

import pytest

from releasing import npm
from releasing.commands import CheckError
from tests.oracles.node import BROWSER, CLIENT, has_browser, installed, node

ROOT = CLIENT.parents[1]
PACKAGE = json.loads((CLIENT / "package.json").read_text())
needs_packages = pytest.mark.skipif(
    not installed(), reason="the packages of clients/js are not installed"
)


def test_the_package_states_what_an_index_shows():
    assert {"name", "version", "description", "keywords", "license", "author"} <= PACKAGE.keys()
    assert PACKAGE["type"] == "module" and PACKAGE["sideEffects"] is False
    assert "private" not in PACKAGE and PACKAGE["engines"] == {"node": ">=20"}
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_nothing_of_the_package_is_an_address_that_may_not_exist():
    assert not PACKAGE.keys() & {"repository", "homepage", "bugs", "funding"}
    links = re.findall(r"\]\(([^)]*)\)", (CLIENT / "README.md").read_text())
    assert links and all(link.startswith("https://github.com/p") for link in links), (
        "npm shows the page without the files beside it; the only links are to packages it needs"
    )


def test_every_export_has_types_and_is_packed():
    expected = npm.expected(CLIENT)
    targets = [
        target
        for export in PACKAGE["exports"].values()
        for target in (export.values() if isinstance(export, dict) else [export])
    ]
    assert "./lib/index.d.ts" in targets
    assert {target.removeprefix("./") for target in targets} <= expected
    assert list(PACKAGE["exports"]["."]) == ["types", "default"], "the first that fits counts"
    assert not [name for name in expected if re.search("test|src/|tsconfig|node_modules", name)]


@pytest.fixture
def copied(tmp_path):
    """A copy of the client, which building may write into."""
    copy = tmp_path / "clients" / "js"
    ignored = shutil.ignore_patterns("node_modules", "lib")
    shutil.copytree(CLIENT, copy, ignore=ignored)
    (copy / "node_modules").symlink_to(CLIENT / "node_modules")
    (tmp_path / "src" / "incrowd" / "collection" / "page" / "static").mkdir(parents=True)
    return copy


@pytest.mark.slow
@needs_packages
def test_the_packed_client_answers_a_survey_from_an_empty_folder(copied, tmp_path):
    archive = npm.pack(copied, tmp_path)
    npm.publish_dry(copied)
    (empty := tmp_path / "empty").mkdir()
    output = npm.use(archive, empty, ROOT / "vectors", BROWSER if has_browser() else None)
    pages = ["answered from a page"] if has_browser() else []
    assert output.splitlines() == ["answered from Node", *pages]
    types = empty / "node_modules" / "incrowd" / "lib" / "index.d.ts"
    assert "fetchSurvey" in types.read_text()
    (program,), _ = node()
    (empty / "typed.ts").write_text('import { parseLink } from "incrowd"\nparseLink(3)\n')
    compiler = CLIENT / "node_modules" / "typescript" / "bin" / "tsc"
    options = ("--noEmit", "--module", "nodenext", "--target", "es2022", "--types", "")
    with pytest.raises(CheckError, match="not assignable to parameter of type 'string'"):
        npm.run(program, compiler, *options, "typed.ts", folder=empty)
    (empty / "typed.ts").write_text('import { parseLink } from "incrowd"\nparseLink("3")\n')
    npm.run(program, compiler, *options, "typed.ts", folder=empty)


@pytest.mark.slow
@needs_packages
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda package: package["files"].append("test"), "the package contains test/"),
        (lambda package: package["files"].remove("dist"), "dist/incrowd.js is missing"),
    ],
)
def test_a_file_too_many_or_too_few_is_named(copied, tmp_path, change, problem):
    package = json.loads(json.dumps(PACKAGE))
    change(package)
    (copied / "package.json").write_text(json.dumps(package))
    with pytest.raises(CheckError, match=problem):
        npm.pack(copied, tmp_path)
