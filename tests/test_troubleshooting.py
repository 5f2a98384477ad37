"""The messages that the page of troubles explains exist in these words."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CATALOG = sorted((ROOT / "src" / "incrowd" / "catalog" / "en").glob("*.toml"))
PAGE = ROOT / "docs" / "troubleshooting.md"
PLACE = re.compile(r"\{[^{}]*\}")
FEWEST = 14  # characters of its own that a text has, or it would be found in anything


def texts(content):
    """Every text of a file of the catalog."""
    for value in content.values():
        yield from texts(value) if isinstance(value, dict) else [value]


def pattern(text):
    """What a message looks like, whatever its arguments are."""
    return ".*?".join(map(re.escape, PLACE.split(text.replace("{{", "").replace("}}", ""))))


def runs(text):
    """Every run of clauses of a text that follow each other."""
    clauses = re.split(r"(; |: (?=[a-z`]))", text)
    for start in range(0, len(clauses), 2):
        for end in range(start, len(clauses), 2):
            run = "".join(clauses[start : end + 1])
            if len(PLACE.sub("", run)) >= FEWEST:
                yield re.compile(pattern(run))


RUNS = [
    run for file in CATALOG for text in texts(tomllib.loads(file.read_text())) for run in runs(text)
]


def exists(message):
    """Whether a message is a text of the catalog, or clauses of it that follow each other."""
    return any(run.fullmatch(message) for run in RUNS)


def quoted():
    return re.findall(r"^```text\n(.+)\n```$", PAGE.read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize("message", quoted())
def test_a_message_of_the_page_exists(message):
    makefile = (ROOT / "Makefile").read_text()
    assert exists(message) or message in makefile


def test_other_words_are_noticed():
    assert len(quoted()) >= 20
    assert exists("the collection has not opened yet")
    assert not exists("the collection is not open yet")
    assert not exists("got 'a.csv'; it is not a survey")
