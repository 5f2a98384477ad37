"""The first page becomes a script, Pythons are found, and versions that differ are named."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from releasing import first_page, pythons, versions
from releasing.commands import CheckError, run

ROOT = Path(__file__).parents[2]
PAGE = """# Begin

```sh
pip install incrowd
cat > a.txt <<'END'
no prompt
END
```

```text
output
```

<!-- fresh -->
```console
$ incrowd plan a.toml \\
    -o plan.json
wrote plan.json
$ cat plan.json
{}
```

```toml
crowd = 3
```
"""


def test_the_commands_of_a_page_are_its_blocks_without_output():
    assert first_page.commands(PAGE) == (
        "pip install incrowd\ncat > a.txt <<'END'\nno prompt\nEND\n"
        "incrowd plan a.toml \\\n    -o plan.json\ncat plan.json\n"
    )


def interpreter(path, version, code=0):
    """A stand-in for an interpreter that says its version."""
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho {version}\nexit {code}\n")
    path.chmod(0o755)
    return path


def test_each_version_has_an_interpreter_that_works(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    installed = tmp_path / ".pyenv" / "versions"
    interpreter(installed / "3.11.2" / "bin" / "python", "3.11", code=1)
    good = interpreter(installed / "3.11.9" / "bin" / "python", "3.11")
    interpreter(installed / "3.12.0" / "bin" / "python", "3.10")
    on_path = interpreter(tmp_path / "bin" / "python3.13", "3.13")
    found = pythons.interpreters(["3.11", "3.12", "3.13", "3.14"], tmp_path)
    assert found == {"3.11": good, "3.13": on_path}


def test_this_python_is_supported_and_works():
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert version in pythons.supported(ROOT / "pyproject.toml")
    assert pythons.works(Path(sys.executable), version)
    assert not pythons.works(Path(sys.executable), "3.10")


@pytest.fixture
def copied(tmp_path):
    """A repository that has only what states a version."""
    stating = ("CHANGELOG.md", "CITATION.cff", "clients/js/package.json", "pyproject.toml")
    for name in ("src/incrowd/version.py", *stating):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_versions_agree_and_nothing_is_released_yet():
    assert versions.problems(ROOT, None) == []
    assert versions.of_changelog(ROOT)[1] == "unreleased"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("CITATION.cff", "\nversion: 1", "\nversion: 2"),
        ("CHANGELOG.md", "## 1", "## 2"),
        ("clients/js/package.json", '"version": "1', '"version": "2'),
        ("pyproject.toml", "accountant==1", "accountant==2"),
    ],
)
def test_another_version_in_one_place_is_named(copied, file, old, new):
    text = (copied / file).read_text()
    assert old in text
    (copied / file).write_text(text.replace(old, new, 1))
    [problem] = versions.problems(copied, None)
    assert problem.startswith(f"{file} states 2")


def test_a_tag_needs_its_version_and_a_date(copied):
    version = versions.of_package(copied)
    wrong = versions.problems(copied, "v0.9")
    assert f"the tag states v0.9, and the package v{version}" in wrong
    assert "has no date" in versions.problems(copied, f"v{version}")[0]
    text = (copied / "CHANGELOG.md").read_text()
    (copied / "CHANGELOG.md").write_text(text.replace(" - unreleased", " - 2027-01-31", 1))
    assert versions.problems(copied, f"v{version}") == []


@pytest.mark.parametrize(
    ("python", "npm"),
    [("1.0.0rc1", "1.0.0-rc.1"), ("1.2.3", "1.2.3"), ("2.0.0a10", "2.0.0-a.10")],
)
def test_npm_writes_a_version_with_a_hyphen(python, npm):
    assert versions.in_npm(python) == npm


def test_the_client_states_the_version_as_npm_does():
    package = json.loads((ROOT / "clients" / "js" / "package.json").read_text())
    assert package["version"] == versions.in_npm(versions.of_package(ROOT))


def test_a_command_that_fails_shows_what_it_wrote(tmp_path):
    assert run("echo", "fine", folder=tmp_path) == "fine\n"
    for command, words in {
        ("sh", "-c", "echo why; exit 3"): "failed with exit code 3:\n    why",
        ("no-such-program",): "no-such-program is not installed",
    }.items():
        with pytest.raises(CheckError, match=words):
            run(*command, folder=tmp_path)
    with pytest.raises(CheckError, match="did not end within 0 seconds"):
        run("sleep", "5", folder=tmp_path, seconds=0.1)
