"""Every message that the package can make is made by a call of one table, and reads as English.

`python -m tests.messages` (or this file with `pytest -s`) prints them all, to be read by a person.
"""

import ast
import re

import pytest

from tests.messages.grammar import english_faults, faults, german_faults
from tests.messages.listing import heard, lines
from tests.messages.recorder import SOURCE, made_in, sites
from tests.oracles.source import nodes_of

# Places that no call reaches, and why.
NOT_REACHED: dict[str, str] = {}


def test_messages_read_as_english():
    print("\n".join(lines()))
    found = {
        said.name: wrong
        for said in heard()
        if (wrong := list(faults(said.error, typed=said.name.startswith("commands: "))))
    }
    assert found == {}


def test_every_place_that_makes_a_message_is_reached_by_the_table():
    reached = frozenset().union(*(said.sites for said in heard()))
    missed = [str(site) for site in sites() if site not in reached]
    assert [site for site in missed if not any(known in site for known in NOT_REACHED)] == []
    assert [known for known in NOT_REACHED if not any(known in site for site in missed)] == []


def test_every_call_of_the_table_makes_a_message():
    assert [said.name for said in heard() if not said.sites] == []
    names = [said.name for said in heard()]
    assert len(names) == len(set(names))


def compared(source):
    """The comparisons with the text of an error: what decides is its class."""
    nodes = nodes_of(source)
    handlers = [node for node in nodes if isinstance(node, ast.ExceptHandler)]
    caught = "|".join({node.name for node in handlers if node.name}) or "error"
    text = re.compile(rf"\b(str\(({caught})\)|({caught})\.args\b)|\.allowed\b")
    for node in nodes:
        if isinstance(node, ast.Compare) and text.search(ast.unparse(node)):
            yield ast.unparse(node)


def test_no_decision_is_taken_on_the_text_of_an_error():
    found = {file: [*compared(file.read_text())] for file in SOURCE.rglob("*.py")}
    assert {str(file): taken for file, taken in found.items() if taken} == {}


def test_a_decision_on_a_text_would_be_seen():
    for text in ("'x' in str(error)", "error.args[0] == 'x'", "error.problems[0].allowed == 'x'"):
        code = f"try:\n    pass\nexcept OSError as error:\n    found = {text}\n"
        assert list(compared(code)), text


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("candidates", "got 0; words; name at least one"),
        ("answers", "rows 1 to 131,072 fit; are as far as it was checked; use them"),
        ("path", "got '/x'; is no file; name another"),
        ("options", "got 3; has three; use two"),
        ("noise", "got 0.5; it is too large"),
        ("noise", "got 0.5; should be less than a half."),
        ("noise", "got 0.5; should be less;; than a half"),
        ("noise", "got 0.5; Should be less than a half"),
        ("noise", "got None; should be less than a half"),
        ("noise", "got 0.5; randomise, and use less"),
        ("crowd", "got 1; use --accept-smaller-crowd"),
        ("", "got 1; should be 2"),
        ("crowd", "; should be 2"),
        ("crowd", "got 1 people; should be 2"),
    ],
)
def test_a_message_that_reads_badly_is_refused(field, message):
    assert [*english_faults(field, message)]
    assert not [*english_faults("crowd", "got 1; should be at least 2")]


@pytest.mark.parametrize(
    "message",
    [
        "got 1; should be 2",
        "3 ist zu wenig; the crowd is 5",
        "3 ist zu wenig; nötig sind 5.",
        "3 ist zu wenig;; nötig sind 5",
        "1 Zeilen sind zu wenig; nötig sind 2",
        "3 ist zu wenig; fragen Sie die Teilnehmer:innen",
    ],
)
def test_a_german_message_that_reads_badly_is_refused(message):
    assert [*german_faults(message, "got 1; should be 2")]
    assert not [*german_faults("3 ist zu wenig; nötig sind 5", "got 3; should be 5")]


def test_a_message_without_a_call_is_seen():
    tree = ast.parse(
        "def f(x):\n"
        "    try:\n"
        "        yield Problem('a', x, 'should be 1')\n"
        "    except OSError:\n"
        "        raise\n"
        "    raise UsageError.of('a', x, 'should be 1')\n"
        "    raise typer.Exit()\n"
        "    raise unwritable(x) from None\n"
        "    return ReportsError.of('a', x, 'should be 1')\n"
    )
    assert sorted(node.lineno for node in made_in(tree)) == [3, 6, 8, 9]
