"""Projects: each is a folder with a survey and everything that was made from it.

The files are those that the commands read and write. Every version of the survey is kept in
`.studio/versions`, so that any change can be undone, and nothing is lost if the file is edited
elsewhere in the meantime.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from incrowd.errors import MISSING, InWords, Problem, UsageError, unreadable
from incrowd.files import (
    BEGUN,
    PRIVATE_FOLDER,
    mode_of,
    new_file,
    private_folder,
    settle,
    write_bytes,
)
from incrowd.reports.locking import locked
from incrowd.studio.edits import SurveyChange, conflicts, edited
from incrowd.studio.survey_text import in_toml, parsed, without_comment
from incrowd.survey import Survey
from incrowd.survey.toml import MOST_BYTES

SURVEY = "survey.toml"
PLAN = "plan.json"
STUDIO = ".studio"
ABANDONED = 3600.0  # seconds since it was changed, for what is written in less
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class ConflictError(UsageError):
    """The survey was changed in another window, or by another program, since the page was shown."""


Mark = tuple[str, str]  # a comment, and the id of the question that it is about, or ""


class Changed(NamedTuple):
    """The text of a survey before and after a change."""

    before: str
    after: str


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
            with self.survey_path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                shown = f"it is longer than {MOST_BYTES >> 20} MiB; write a shorter one"
                raise UsageError.of("survey", str(self.survey_path), shown)
            return content.decode("utf-8")  # with the ends of its lines
        except UnicodeDecodeError:
            shown = "it is not UTF-8; save it as UTF-8"
            raise UsageError.of("survey", str(self.survey_path), shown) from None
        except OSError as error:
            raise UsageError.of(
                "survey", str(self.survey_path), f"{unreadable(error)}; restore the file"
            ) from None

    def save(self, text: str, *, expected: str) -> None:
        """Write a new version of the survey.

        expected: the `version` of the text that was changed. Raises ConflictError if the file has
        another one by now; OSError if the disk is full, and then the survey has not changed.
        """
        with self._locked():
            if version(self._text_or_empty()) != expected:
                raise ConflictError.of(
                    "survey", str(self.survey_path), "it was changed elsewhere; reload the page"
                )
            self._save(text)

    def change(
        self, change: SurveyChange, *, seen: str, marks: Sequence[Mark] = (), insist: bool = False
    ) -> Changed:
        """Make a change, and return the texts before and after it.

        seen: the `version` that the page showed. If the survey was changed elsewhere since, the
        change is made in the newest text, unless what it replaces was changed as well: then this
        raises ConflictError, with both values of each part, unless the person insists. marks:
        comments that the change makes needless. Raises SurveyError if the file is not TOML.
        """
        with self._locked():
            text = self._text_or_empty()
            if version(text) != seen and not insist:
                self._check_unchanged(change, text, seen)
            result = edited(text, change)
            for comment, id in marks:
                result = without_comment(result, comment, id)
            self._save(result)
            return Changed(text, result)

    def _check_unchanged(self, change: SurveyChange, text: str, seen: str) -> None:
        """Check that what a change replaces is as it was in the version that the page showed."""
        before = self.seen(seen)
        if before is None:
            raise ConflictError.of(
                "survey", str(self.survey_path), "it was changed elsewhere; reload the page"
            )
        differing = [
            Problem(
                name,
                InWords(f"was {in_toml(was)} and was changed elsewhere to {in_toml(now)}"),
                "keep it, or save your changes",
            )
            for name, was, now in conflicts(change, parsed(before), parsed(text))
        ]
        if differing:
            raise ConflictError(*differing)

    def seen(self, seen: str) -> str | None:
        """The text of a version, the newest first; None if it is no longer there."""
        for path in sorted((self.hidden / "versions").glob("*.toml"), reverse=True):
            if version(text := path.read_bytes().decode("utf-8")) == seen:
                return text
        return None

    def _save(self, text: str) -> None:
        now = self._text_or_empty()
        number = self._current(now)
        if text != now:
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

    def current_version(self) -> str:
        """The version of the survey, which is kept from now on."""
        with self._locked():
            text = self._text_or_empty()
            self._current(text)
            return version(text)

    def _move(self, step: int) -> bool:
        with self._locked():
            number = self._current(self._text_or_empty()) + step
            if not self._version(number).exists():
                return False
            text = self._version(number).read_bytes().decode("utf-8")
            self._write_position(number)
            self._write(text)
            return True

    def _text_or_empty(self) -> str:
        return self.text() if self.survey_path.exists() else ""

    def _write(self, text: str) -> None:
        target = self.survey_path.resolve()  # if it is a link, the survey is elsewhere
        write_bytes(target, text.encode(), mode=mode_of(target))

    def _version(self, number: int) -> Path:
        return self.hidden / "versions" / f"{number:06}.toml"

    def _write_position(self, number: int) -> None:
        write_bytes(self.hidden / "position", str(number).encode())

    def _current(self, text: str) -> int:
        """The number of the version in the survey file.

        A text that is not the version that was saved last was written by another program, or just
        before the studio was killed; it becomes a version of its own.
        """
        number = self._position()
        for each in (number, number + 1, number - 1):
            if self._version(each).exists() and self._version(each).read_bytes() == text.encode():
                if each != number:
                    self._write_position(each)
                return each
        return self._append(number, text) if text else number

    def _position(self) -> int:
        """The number of the version that was saved last; -1 if there is none."""
        try:
            return int((self.hidden / "position").read_bytes())
        except (OSError, ValueError):  # not there, or damaged: the last version of all
            paths = (self.hidden / "versions").glob("*.toml")
            return max((int(each.stem) for each in paths if each.stem.isdecimal()), default=-1)

    def _append(self, number: int, text: str) -> int:
        """Write a version after a version; the versions that were undone before go."""
        following = number + 1
        later = following
        while self._version(later).exists():
            later += 1
        with new_file(self.hidden / "versions") as new:
            new.file.write(text.encode())
            settle(new.file)  # if the disk is full, no version is lost
            for each in range(later - 1, following - 1, -1):  # from the last: no gap if killed
                self._version(each).unlink()
            new.publish(self._version(following))
        self._write_position(following)
        return following

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time change the project."""
        private_folder(self.hidden)
        private_folder(self.hidden / "versions")
        with locked(self.hidden / "project"):
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
            raise UsageError.of("project", name, "this folder has no such survey; open another one")
        return Project(path)

    def create(self, title: str, text: str, files: Mapping[str, Path] | None = None) -> Project:
        """A new project whose folder is named after a title, with the text of its survey.

        files: others that are moved into the project, by their names there. The project is created
        completely or not at all.
        """
        if not title.strip():
            raise UsageError.of("name", MISSING, "enter a name for the survey")
        stem = folder_name(title)
        names = [stem, *(f"{stem}-{number}" for number in range(2, 10_000))]
        path = next(self.folder / name for name in names if not (self.folder / name).exists())
        with self.temporary() as temporary:
            Project(temporary).save(text, expected=version(""))
            for name, file in (files or {}).items():
                file.replace(temporary / name)
            temporary.rename(path)
        return Project(path)

    def sweep(self) -> None:
        """Remove what processes that were killed had begun to write, a while ago."""
        folders = [self.folder]
        for name in self.names():
            project = self.open(name)
            folders += [project.path, project.hidden, project.hidden / "versions"]
        for path in (path for folder in folders for path in folder.glob(f"{BEGUN}*")):
            with suppress(OSError):  # another process may remove it, too
                if path.lstat().st_mtime < time.time() - ABANDONED:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    @contextmanager
    def temporary(self) -> Iterator[Path]:
        """A private folder beside the projects, which is removed at the end of the block."""
        path = self.folder / f"{BEGUN}{secrets.token_hex(8)}"
        path.mkdir(mode=PRIVATE_FOLDER)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def version(text: str) -> str:
    """The version of a text: a page sends back the one that it shows."""
    return hashlib.sha256(text.encode()).hexdigest()


def folder_name(title: str) -> str:
    """The name of a folder for a title: lower-case letters, digits and hyphens."""
    ascii_text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", ascii_text).strip("-")[:48].strip("-") or "survey"
