"""What the documents say is run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import incrowd

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_every_public_name_is_in_the_docs():
    text = " ".join(f.read_text() for f in (ROOT / "docs").glob("*.md"))
    assert [name for name in incrowd.__all__ if f"`{name}" not in text] == []


def test_the_python_of_the_readme_runs(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks("python"):
        subprocess.run([sys.executable, "-c", block], check=True, cwd=tmp_path)
    assert (tmp_path / "report.html").exists()


def test_the_survey_of_the_readme_can_be_planned(tmp_path):
    (tmp_path / "s.toml").write_text(blocks("toml")[0])
    assert incrowd.plan(incrowd.Survey.load(tmp_path / "s.toml")).messages[0].noise_numerator


def test_the_commands_of_the_readme_run(tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    lines = re.findall(r"^    incrowd (.+)$", README, flags=re.MULTILINE)
    assert len(lines) >= 5
    for line in lines:
        arguments = shlex.split(line.replace("--trials 1000", "--trials 3"))
        command = [sys.executable, "-c", "from incrowd.cli import main; main()", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_versions_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"#.*|[A-Za-z0-9_.-]+==[\w.+!]+", line) for line in lines if line)


def test_no_path_of_a_machine_is_committed():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout
    home = os.path.expanduser("~")
    for name in listed.split():
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        assert f"{ROOT}/".encode() not in content, name
        assert len(home) < 5 or f"{home}/".encode() not in content, name
