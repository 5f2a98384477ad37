"""The first page is typed with the wheels that were built, and nothing of an index."""

import sys
import zipfile
from pathlib import Path

import pytest

from releasing.commands import CheckError
from releasing.first_page import is_installed, type_literally

PAGE = "pip install incrowd\nincrowd > written.txt\npip install 'incrowd[more]'\n"


def wheel(folder, name, requires=(), script=None):
    """A wheel of one empty module, and of a command that states the version."""
    module, info = name.replace("-", "_"), f"{name.replace('-', '_')}-7.0rc1.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", "Version: 7.0rc1"]
    metadata += ["Provides-Extra: more", *(f"Requires-Dist: {each}" for each in requires)]
    files = {
        f"{module}_module.py": "def main():\n    print('incrowd 7.0rc1')\n",
        f"{info}/METADATA": "\n".join([*metadata, ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if script:
        files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script}\n"
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    path = folder / f"{module}-7.0rc1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    return path


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Two wheels of which one needs the other, on a machine that reaches no index."""
    for variable in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    needed = ["incrowd-accountant==7.0rc1"]
    return {
        "incrowd": wheel(tmp_path, "incrowd", needed, "incrowd = incrowd_module:main"),
        "incrowd-accountant": wheel(tmp_path, "incrowd-accountant"),
    }


@pytest.mark.slow
def test_pip_installs_the_wheels_that_were_built(wheels, tmp_path):
    type_literally(PAGE, Path(sys.executable), wheels, "7.0rc1", tmp_path)
    assert (tmp_path / "work" / "written.txt").read_text() == "incrowd 7.0rc1\n"
    assert not (tmp_path / "venv").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (f"{PAGE}incrowd-typo\n", "incrowd-typo: command not found"),
        ("echo nothing\n", "the page does not install incrowd-7.0rc1-py3-none-any.whl"),
    ],
)
def test_a_page_that_does_not_work_is_named(wheels, tmp_path, page, problem):
    with pytest.raises(CheckError, match=problem):
        type_literally(page, Path(sys.executable), wheels, "7.0rc1", tmp_path)


def test_files_of_the_same_name_with_another_content_are_not_the_wheel(tmp_path):
    built = wheel(tmp_path, "incrowd")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(tmp_path / "packages")
    assert is_installed(built, tmp_path / "packages")
    (tmp_path / "packages" / "incrowd_module.py").write_text("import os\n")
    assert not is_installed(built, tmp_path / "packages")
    (tmp_path / "packages" / "incrowd_module.py").unlink()
    assert not is_installed(built, tmp_path / "packages")
