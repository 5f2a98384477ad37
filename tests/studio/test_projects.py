import errno
import json
import os
from unittest import mock

import pytest

from incrowd import files
from incrowd.studio import projects
from incrowd.studio.document import version
from incrowd.studio.operations import (
    AddQuestion,
    MoveQuestion,
    RemoveQuestion,
    SetQuestion,
    SetValue,
)
from incrowd.studio.projects import ConflictError, Project, Projects
from tests.conftest import one_in

START = """\
# The first comment.
name = "A"
crowd = 1000

[privacy]
epsilon = 1.0

# About smoking.
[[question]]
id = "smokes"
type = "yesno"

[[question]]
id = "health"
type = "choice"
options = ["good", "poor"]  # two
"""


@pytest.fixture
def project(tmp_path):
    return Projects(tmp_path).create("A", START)


def changed(project, change):
    return project.change(change, expected=version(project.text()))


def test_a_change_of_an_older_version_is_refused_and_nothing_is_lost(project):
    seen = version(project.text())
    project.change(SetValue(("crowd",), 2000), expected=seen)
    text = project.text()
    for late in (SetValue(("rounds",), 2), RemoveQuestion("smokes"), MoveQuestion("smokes", 1)):
        with pytest.raises(ConflictError):
            project.change(late, expected=seen)
    for move in (project.undo, project.redo):
        with pytest.raises(ConflictError):
            move(seen)
    assert project.text() == text


def test_operations_on_the_version_before_follow_each_other(project):
    seen = version(project.text())
    for each in (
        SetValue(("crowd",), 2000),
        SetQuestion("smokes", {"text": "Do you smoke?"}),
        AddQuestion({"id": "age", "type": "yesno"}),
    ):
        seen = project.change(each, expected=seen).after.version
    text = project.text()
    assert "crowd = 2000" in text and "Do you smoke?" in text and '"age"' in text
    assert project.undo(seen) and '"age"' not in project.text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (SetValue(("crowd",), 2000), "crowd: was 1000 and was changed elsewhere to 2000"),
        (SetValue(("privacy", "delta"), 0.5), "privacy.delta: was nothing and was .* to 0.5"),
        (SetQuestion("smokes", {"text": "a"}), 'question.smokes.text: was nothing and .* to "a"'),
        (SetQuestion("health", {"options": ["x", "y"]}), 'question.health.options: was .*"good"'),
        (RemoveQuestion("smokes"), "question.smokes: was .* to nothing"),
        (MoveQuestion("smokes", 1), 'question: was .*"smokes", "health".* to .*"health", "smokes"'),
    ],
)
def test_a_conflict_says_what_was_changed(project, change, message):
    seen = version(project.text())
    project.change(change, expected=seen)
    with pytest.raises(ConflictError, match=message) as caught:
        project.change(SetValue(("crowd",), 3000), expected=seen)
    assert len(caught.value.problems) == 1
    assert caught.value.version == version(project.text())


def test_a_file_that_was_changed_by_another_program_is_a_version_of_its_own(project):
    seen = version(project.text())
    project.survey_path.write_text(START.replace("first comment", "second comment"))
    with pytest.raises(ConflictError, match="reload the page"):
        project.change(SetValue(("crowd",), 2000), expected=seen)
    changed(project, SetValue(("crowd",), 2000))
    assert "second comment" in project.text() and "crowd = 2000" in project.text()
    assert project.undo() and "second comment" in project.text()
    assert project.undo() and project.text() == START
    assert not project.undo()


def test_an_unknown_version_is_a_conflict(project):
    with pytest.raises(ConflictError, match="reload the page"):
        project.change(SetValue(("crowd",), 2000), expected="0" * 64)


def test_the_ends_of_lines_stay(project):
    project.survey_path.write_bytes(START.replace("\n", "\r\n").encode())
    changed(project, SetValue(("crowd",), 2000))
    expected = START.replace("1000", "2000").replace("\n", "\r\n")
    assert project.survey_path.read_bytes() == expected.encode()
    project.undo()
    assert project.survey_path.read_bytes() == START.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("content", [None, b"", b"x", b"99999999"])
def test_a_damaged_position_loses_no_version(project, content):
    changed(project, SetValue(("crowd",), 2000))
    position = project.hidden / "position"
    position.unlink() if content is None else position.write_bytes(content)
    changed(project, SetValue(("crowd",), 3000))
    texts = {each.read_text() for each in (project.hidden / "versions").iterdir()}
    assert {START, START.replace("1000", "2000"), START.replace("1000", "3000")} <= texts
    assert "crowd = 3000" in project.text()


class Killed(BaseException):
    """In the place of SIGKILL: nothing of ours handles it."""


def steps_of(monkeypatch, killed_at):
    """Count what changes the disk; kill at one of them, before it happens."""
    count = [0]

    def step():
        count[0] += 1
        if count[0] == killed_at:
            monkeypatch.undo()  # the dead do not clean up either
            raise Killed

    def before(function):
        def stepping(*arguments, **named):
            step()
            return function(*arguments, **named)

        return stepping

    monkeypatch.setattr(files, "settle", before(files.settle))
    monkeypatch.setattr(projects, "settle", before(projects.settle))
    for name in ("replace", "unlink", "chmod"):
        monkeypatch.setattr(projects.Path, name, before(getattr(projects.Path, name)))
    return count


def state(project):
    """What a person can still reach: the text, and those before and after it."""
    text, earlier, later = project.text(), [], []
    while project.undo():
        earlier.append(project.text())
    while project.redo():
        later.append(project.text())
    for _ in later[len(earlier) :]:
        project.undo()
    return text, earlier, later[len(earlier) :]


@pytest.mark.slow
@pytest.mark.parametrize("action", one_in(2, ["change", "undo", "redo", "change after undo"]))
def test_a_kill_at_any_step_leaves_the_old_or_the_new_text(tmp_path, monkeypatch, action):
    with mock.patch.object(os, "fsync"):  # slow, and of no use here
        killed_at_every_step(tmp_path, monkeypatch, action)


def killed_at_every_step(tmp_path, monkeypatch, action):
    for killed_at in range(1, 100):
        project = Projects(tmp_path).create(f"{action} {killed_at}", START)
        changed(project, SetValue(("crowd",), 2000))
        changed(project, SetValue(("crowd",), 3000))
        if action in ("redo", "change after undo"):
            project.undo()
        old = project.text()
        count = steps_of(monkeypatch, killed_at)
        try:
            if action == "undo":
                project.undo()
            elif action == "redo":
                project.redo()
            else:
                changed(project, SetValue(("crowd",), 4000))
        except Killed:
            pass
        monkeypatch.undo()
        new = {"undo": "2000", "redo": "3000"}.get(action, "4000")
        opened = Project(project.path)
        text, earlier, _ = state(opened)
        assert text in (old, START.replace("1000", new))
        assert START in (text, *earlier)
        steps = [START.replace("1000", each) for each in ("4000", "3000", "2000", "1000")]
        reached = [text, *earlier]
        assert reached == [each for each in steps if each in reached]
        changed(opened, SetValue(("crowd",), 5000))
        assert opened.undo() and opened.text() == text
        if count[0] < killed_at:
            break
    assert killed_at > 3


@pytest.mark.parametrize("place", range(3))
def test_a_full_disk_changes_nothing(project, monkeypatch, place):
    changed(project, SetValue(("crowd",), 2000))
    text, left = project.text(), [place]

    def full(file):
        if left[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1

    monkeypatch.setattr(files, "settle", full)
    monkeypatch.setattr(projects, "settle", full)
    with pytest.raises(OSError, match="No space left"):
        changed(project, SetValue(("crowd",), 3000))
    monkeypatch.undo()
    assert project.text() == text
    assert project.undo() and project.text() == START


def test_the_history_is_private(project):
    assert project.hidden.stat().st_mode & 0o777 == 0o700
    assert json.loads((project.hidden / "position").read_text()) == 0
