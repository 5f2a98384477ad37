"""What is said of invitations: lists of people, texts of letters, and files."""

import io
import sys
from datetime import UTC
from unittest import mock

from incrowd.collection.invitations import remaining
from incrowd.collection.mailing import AddressList, address_list, handed_out, letter_facts
from incrowd.presentation.letters import LetterStyle, check_fields, printed_letters
from incrowd.presentation.word_letters import word_letters
from incrowd.presentation.workbook import table_workbook
from incrowd.studio.inviting import InvitingState, _content, _create_more, _handed_out
from incrowd.studio.projects import Project
from tests.messages.shared import command, file
from tests.oracles.make_vectors import INVITED, OPEN

TWICE = "name;mail\nAda;a@x.example\nBo;b@x.example\nAda L.;A@x.example\n"


def listed(text):
    return lambda folder: address_list(file(folder, "people.csv", text))


def invited(*words):
    return lambda folder: command("invitations", "3", "-o", folder / "codes.csv", *words)


def too_many(_):
    facts, letter = letter_facts(OPEN), {"link": OPEN.link_address, "code": "", "digest": ""}
    with mock.patch("incrowd.presentation.word_letters.MOST_LETTERS", 1):
        word_letters(facts, LetterStyle("en", UTC), [letter] * 2)


def without_word(_):
    with mock.patch.dict(sys.modules, docx=None):
        word_letters(letter_facts(OPEN), LetterStyle("en", UTC), [])


def without_workbooks(_):
    with mock.patch.dict(sys.modules, openpyxl=None):
        table_workbook("invitations", ["code"], [])


def in_studio(act):
    """What a person who runs the shuffler does on the page, without any invitation left."""

    def call(folder):
        for name in ("publication.toml", "shuffler/bundle.json", "codes.csv"):
            (folder / name).parent.mkdir(exist_ok=True)
        file(folder, "publication.toml", 'here = "shuffler"\n')
        file(folder / "shuffler", "bundle.json", INVITED.encoded)
        file(folder, "codes.csv", "link,code,digest\n")
        act(Project(folder), InvitingState())

    return call


def without_codes(project, _):
    (project.path / "codes.csv").unlink()
    _handed_out(project, io.BytesIO(b"name\nAda\n"))


def more(number):
    return lambda project, _: _create_more(project, number)


def more_without_codes(project, _):
    (project.path / "codes.csv").unlink()
    _create_more(project, "3")


CASES = {
    "studio: more invitations: no number": in_studio(more("x")),
    "studio: more invitations: none here": in_studio(more_without_codes),
    "studio: a list and no invitations": in_studio(without_codes),
    "studio: letters and no invitations": in_studio(
        lambda project, state: _content(project, state, "en", "letters.html")
    ),
    "studio: an unknown file": in_studio(
        lambda project, state: _content(project, state, "en", "codes.csv")
    ),
    "list: no file": lambda folder: address_list(folder / "none.csv"),
    "list: nobody": listed("name,mail\n"),
    "list: reserved column": listed("name,link\nAda,x\n"),
    "list: a person twice": listed("name\nAda\nBo\nAda\n"),
    "list: an address twice": listed(TWICE),
    "list: bytes": lambda _: address_list(io.BytesIO(b"\x00\x01")),
    "list: more people than invitations": lambda _: handed_out(AddressList(("n",), (("a",),)), []),
    "codes: another file": lambda folder: remaining(file(folder, "codes.csv", "a,b\n1,2\n")),
    "letters: a name that nobody has": lambda _: check_fields("Dear {nmae}", ["name"]),
    "letters: no text": lambda _: printed_letters(
        letter_facts(OPEN), LetterStyle("en", UTC), [], text=" "
    ),
    "letters: too many for Word": too_many,
    "letters: no python-docx": without_word,
    "letters: no openpyxl": without_workbooks,
    "letters: zone": invited("--zone", "Mars"),
    "letters: no text file": invited("--text", "none.txt"),
    "letters: not text": lambda folder: invited("--text", file(folder, "t.txt", b"\xff\xfe\xfa"))(
        folder
    ),
    "letters: number and list": lambda folder: invited(
        "--people", file(folder, "people.csv", "name\nAda\n")
    )(folder),
    "letters: no bundle": lambda folder: command(
        "letters", folder / "none.json", "-o", folder / "letters"
    ),
    "letters: ending": invited("--letters", "letters.pdf"),
}
