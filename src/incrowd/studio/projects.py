"""Projects: each is a folder with a survey and everything that was made from it.

The files are those that the commands read and write. Every version of the survey is kept in
`.studio/versions`, so that any change can be undone, and nothing is lost if the file is edited
elsewhere in the meantime.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from incrowd.errors import MISSING, UsageError, unreadable
from incrowd.files import BEGUN, PRIVATE_FOLDER, write_bytes
from incrowd.survey import Survey

SURVEY = "survey.toml"
PLAN = "plan.json"
STUDIO = ".studio"
_DEFAULT_MODE = 0o644
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class ConflictError(UsageError):
    """The survey was changed in another window, or by another program, since the page was shown."""


@dataclass(frozen=True)
class Project:
    """The folder of one survey."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.path.name

    @property
    def survey_path(self) -> Path:
        """The survey file."""
        return self.path / SURVEY

    @property
    def plan_path(self) -> Path:
        """The plan, once the survey was certified."""
        return self.path / PLAN

    @property
    def hidden(self) -> Path:
        """The folder of what only the studio reads."""
        return self.path / STUDIO

    def survey(self) -> Survey:
        """The survey. Raises SurveyError with every mistake."""
        return Survey.load(self.survey_path)

    def text(self) -> str:
        """The text of the survey file. Raises UsageError if it cannot be read."""
        try:
            return self.survey_path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            shown = "it is not UTF-8; save it as UTF-8"
            raise UsageError.of("survey", str(self.survey_path), shown) from None
        except OSError as error:
            raise UsageError.of("survey", str(self.survey_path), unreadable(error)) from None

    def save(self, text: str, *, expected: str) -> None:
        """Write a new version of the survey.

        expected: the `version` of the text that was changed. Raises ConflictError if the file has
        another one by now; OSError if the disk is full, and then nothing has changed.
        """
        with self._locked():
            number = self._current(self._text_or_empty())
            if version(self._text_or_empty()) != expected:
                raise ConflictError.of(
                    "survey", str(self.survey_path), "it was changed elsewhere; look at it again"
                )
            if text == self._text_or_empty():
                return
            self._append(number, text)
            self._write(text)

    def undo(self) -> bool:
        """Go back to the version before; return whether there is one."""
        return self._move(-1)

    def redo(self) -> bool:
        """Go forward to the version that was undone; return whether there is one."""
        return self._move(1)

    def can_move(self) -> tuple[bool, bool]:
        """Whether there is a version before the current one, and one after it."""
        with self._locked():
            number = self._current(self._text_or_empty())
            return self._version(number - 1).exists(), self._version(number + 1).exists()

    def _move(self, step: int) -> bool:
        with self._locked():
            number = self._current(self._text_or_empty()) + step
            if not self._version(number).exists():
                return False
            text = self._version(number).read_text(encoding="utf-8")
            self._write_position(number)
            self._write(text)
            return True

    def _text_or_empty(self) -> str:
        return self.text() if self.survey_path.exists() else ""

    def _write(self, text: str) -> None:
        write_bytes(self.survey_path, text.encode(), mode=_DEFAULT_MODE)

    def _version(self, number: int) -> Path:
        return self.hidden / "versions" / f"{number:06}.toml"

    def _write_position(self, number: int) -> None:
        write_bytes(self.hidden / "position", str(number).encode())

    def _current(self, text: str) -> int:
        """The number of the version in the survey file.

        A text that is not the version that was saved last was written by another program, or just
        before the studio was killed; it becomes a version of its own.
        """
        position = self.hidden / "position"
        number = int(position.read_text()) if position.exists() else -1
        for each in (number, number + 1, number - 1):
            if self._version(each).exists() and self._version(each).read_bytes() == text.encode():
                if each != number:
                    self._write_position(each)
                return each
        return self._append(number, text) if text else number

    def _append(self, number: int, text: str) -> int:
        """Write a version after a version; the versions that were undone before go."""
        following = number + 1
        later = following
        while self._version(later).exists():
            later += 1
        for each in range(later - 1, following - 1, -1):  # from the last: no gap if killed
            self._version(each).unlink()
        write_bytes(self._version(following), text.encode())
        self._write_position(following)
        return following

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time change the project."""
        (self.hidden / "versions").mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        with (self.hidden / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@dataclass(frozen=True)
class Projects:
    """All projects of a folder."""

    folder: Path

    def names(self) -> tuple[str, ...]:
        """The names of all projects, in order."""
        return tuple(
            sorted(
                each.name
                for each in self.folder.iterdir()
                if (each / SURVEY).exists() and _NAME.fullmatch(each.name)
            )
        )

    def open(self, name: str) -> Project:
        """A project. Raises UsageError if there is none with this name."""
        path = self.folder / name
        if not _NAME.fullmatch(name) or not (path / SURVEY).exists():
            raise UsageError.of("project", name, "there is no such survey in this folder")
        return Project(path)

    def create(self, title: str, text: str) -> Project:
        """A new project whose folder is named after a title, with the text of its survey."""
        if not title.strip():
            raise UsageError.of("name", MISSING, "name the survey")
        stem = folder_name(title)
        names = [stem, *(f"{stem}-{number}" for number in range(2, 10_000))]
        path = next(self.folder / name for name in names if not (self.folder / name).exists())
        temporary = self.folder / f"{BEGUN}{path.name}"
        temporary.mkdir(mode=PRIVATE_FOLDER)
        try:
            Project(temporary).save(text, expected=version(""))
            temporary.rename(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return Project(path)


def version(text: str) -> str:
    """The version of a text: a page sends back the one that it shows."""
    return hashlib.sha256(text.encode()).hexdigest()


def folder_name(title: str) -> str:
    """The name of a folder for a title: lower-case letters, digits and hyphens."""
    ascii_text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:48].strip("-") or "survey"
