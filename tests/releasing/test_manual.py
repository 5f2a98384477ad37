"""Several versions of the manual list each other; what is not released says so."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from releasing import manual
from tests.oracles.node import BROWSER, has_browser, node

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_versions_are_listed_with_the_latest_release_first():
    names = ["1.2.0", "1.10.0", "dev", "2.0.0rc1"]
    assert [each["label"] for each in manual.labels(names)] == [
        "1.10.0 (latest)",
        "2.0.0rc1",
        "1.2.0",
        "dev (not released)",
    ]
    assert [each["name"] for each in manual.labels(names)] == ["1.10.0", "2.0.0rc1", "1.2.0", "dev"]
    assert manual.labels(["1.0.0rc1"]) == [{"name": "1.0.0rc1", "label": "1.0.0rc1 (latest)"}]


def test_a_version_without_a_date_is_in_the_folder_of_what_is_not_released():
    assert manual.folder_of("1.0.0", "2027-01-31") == "1.0.0"
    assert manual.folder_of("1.0.0", "unreleased") == manual.folder_of("1.0.0", None) == "dev"


@pytest.fixture
def site(tmp_path):
    """A manual of one page, with the script of the real one."""
    (site := tmp_path / "site").mkdir()
    (site / "versions.js").write_text((DOCS / "versions.js").read_text())
    head = '<!doctype html><title>a</title><script src="versions.js"></script>'
    (site / "index.html").write_text(f'{head}<header><div class="md-header__title"></div></header>')
    return site


def listed(path):
    return json.loads(re.search(r"^const VERSIONS = (.*)$", path.read_text(), re.M)[1])


def test_every_version_lists_those_that_were_added_later(site, tmp_path):
    folder = tmp_path / "published"
    for name in ("1.0.0", "dev", "1.1.0", "1.1.0"):
        manual.add(site, folder, name)
    expected = ["1.1.0", "1.0.0", "dev"]
    for name in expected:
        assert [each["name"] for each in listed(folder / name / "versions.js")] == expected
    links = re.findall(r'href="([^"]+)"', (folder / "index.html").read_text())
    assert links == [f"{name}/index.html" for name in expected]
    assert all((folder / link).exists() for link in links)
    assert listed(site / "versions.js") == [], "what was built is not changed"


def test_the_manual_has_the_script_the_banner_and_the_version():
    text = (ROOT / "mkdocs.yml").read_text()
    settings = yaml.safe_load(text)
    assert settings["extra_javascript"] == ["versions.js"]
    assert "docs/version_label.py" in settings["hooks"]
    banner = (ROOT / settings["theme"]["custom_dir"] / "main.html").read_text()
    assert "has not been released" in banner


LOOK = """
import { pathToFileURL } from "node:url"
const [chromium, page] = process.argv.slice(2)
const { launch } = await import(pathToFileURL(chromium))
const browser = await launch()
const tab = await browser.newPage()
await tab.goto(pathToFileURL(page).href)
const options = await tab.locator("select.versions option").allInnerTexts()
const chosen = await tab.locator("select.versions").inputValue()
const other = tab.waitForURL(/1\\.0\\.0.index\\.html$/)
await tab.selectOption("select.versions", "1.0.0")
await other
console.log(JSON.stringify({ options, chosen, url: tab.url() }))
await browser.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(not has_browser(), reason="Chromium is not installed")
def test_a_reader_changes_the_version_without_a_server(site, tmp_path):
    for name in ("1.0.0", "dev"):
        manual.add(site, tmp_path / "published", name)
    (tmp_path / "look.mjs").write_text(LOOK)
    (program,), _ = node()
    page = tmp_path / "published" / "dev" / "index.html"
    command = [program, tmp_path / "look.mjs", BROWSER / "chromium.mjs", page]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["options"] == ["1.0.0 (latest)", "dev (not released)"] and seen["chosen"] == "dev"
    assert seen["url"].endswith("/published/1.0.0/index.html")


@pytest.mark.slow
def test_the_hook_states_the_version_of_the_changelog():
    pytest.importorskip("mkdocs", reason="make docs installs it")
    code = (
        "import sys; sys.path.insert(0, 'docs'); import version_label as hook\n"
        "from mkdocs.config.base import load_config\n"
        "config = load_config('mkdocs.yml'); hook.on_config(config)\n"
        "print(config.site_name, config.extra['released'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    version = re.search(r"^## (\S+) - ", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert done.stdout.split("\n")[0] == f"incrowd {version} False", done.stderr
