"""The lock of the images fits each platform, and the container file the rules of hadolint."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from releasing import lock
from releasing.commands import CheckError

ROOT = Path(__file__).parents[2]
HADOLINT = Path(sys.executable).with_name("hadolint")
needs_tools = pytest.mark.skipif(
    not (lock.UV.exists() and HADOLINT.exists()), reason="make release-check installs uv, hadolint"
)


def test_the_lock_is_of_the_python_in_the_image(tmp_path):
    assert re.fullmatch(r"3\.\d+", lock.python_of_image(ROOT))
    assert (ROOT / lock.LOCK).read_text().startswith(lock.HEAD)
    (tmp_path / "deploy").mkdir()
    (tmp_path / lock.CONTAINERFILE).write_text("FROM python\n")
    with pytest.raises(CheckError, match="ARG BASE"):
        lock.python_of_image(tmp_path)


@pytest.mark.slow
@needs_tools
def test_the_lock_is_complete_for_every_platform(tmp_path):
    copy = shutil.copy(ROOT / lock.LOCK, tmp_path)
    assert lock.problems(Path(copy), lock.python_of_image(ROOT)) == []


@pytest.mark.slow
@needs_tools
def test_a_lock_with_the_files_of_one_platform_alone_is_rejected(tmp_path):
    requirement = re.search(r"^httptools==\S+", (ROOT / lock.LOCK).read_text(), re.M)[0]
    python = lock.python_of_image(ROOT)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    pip += ["--platform=manylinux2014_x86_64", f"--python-version={python}", f"--dest={tmp_path}"]
    subprocess.run([*pip, requirement], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (tmp_path / "lock.txt").write_text(f"{requirement} --hash=sha256:{digest}\n")
    (problem,) = lock.problems(tmp_path / "lock.txt", python)
    assert re.fullmatch("httptools: no wheel for aarch64-.* has a hash of the lock", problem)


@pytest.mark.slow
@needs_tools
def test_locking_again_gives_the_same_versions():
    pins = re.compile(r"^[\w.-]+==\S+", re.M)
    assert pins.findall(lock.locked(ROOT)) == pins.findall((ROOT / lock.LOCK).read_text())


@needs_tools
def test_hadolint_accepts_the_container_file_and_rejects_a_careless_one(tmp_path):
    assert subprocess.run([HADOLINT, ROOT / lock.CONTAINERFILE]).returncode == 0
    careless = (ROOT / lock.CONTAINERFILE).read_text().replace(":3.11-slim\n", ":latest\n")
    (tmp_path / "Containerfile").write_text(careless.replace("USER 10001:10001", "USER root"))
    done = subprocess.run([HADOLINT, tmp_path / "Containerfile"], capture_output=True, text=True)
    assert done.returncode == 1 and "DL3002" in done.stdout
