"""The code, the files and the clients use the words of docs/vocabulary.md."""

import json
import re
import tomllib
from collections import Counter

import pytest

from incrowd.survey import Survey
from tests.oracles.vocabulary import PAGE, SOURCE, banned, bound, counted, uses

ROOT = PAGE.parent.parent
SECTION = PAGE.read_text().partition("## One word, one thing")[2].partition("\n## ")[0]
ROWS = [
    [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("| ") and not line.startswith("| word")
]


def all_keys(value):
    """Every key of nested data."""
    if isinstance(value, dict):
        return set(value).union(*map(all_keys, value.values()))
    return set().union(*map(all_keys, value)) if isinstance(value, list) else set()


def in_toml():
    text = "\n".join(
        page.read_text() for page in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    )
    blocks = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    keys = {*Survey.model_fields, *Survey.model_fields["privacy"].annotation.model_fields}
    for block in blocks:
        keys |= all_keys(tomllib.loads(block))
    return keys


def in_json():
    keys = set()
    for file in (ROOT / "vectors").glob("*.json"):
        data = json.loads(file.read_text())
        keys |= all_keys(data)
        for text in re.findall(r'"(\{\\".*?[^\\])"', file.read_text()):  # JSON in JSON
            keys |= set(re.findall(r'\\"(\w+)\\":', text))
    return keys


def in_python():
    texts = [file.read_text() for file in SOURCE.rglob("*.py")]
    return {name for text in texts for name in bound(text)}


def in_typescript():
    text = "\n".join(file.read_text() for file in (ROOT / "clients" / "js" / "src").rglob("*.ts"))
    return set(re.findall(r"\w+", text))


@pytest.mark.parametrize(
    ("column", "names"), [(2, in_toml), (3, in_json), (4, in_python), (5, in_typescript)]
)
def test_names_of_the_glossary_exist(column, names):
    stated = {name for row in ROWS for name in row[column]}
    assert len(stated) > 8
    assert stated <= names()


def test_every_word_has_one_row():
    words = [line.split("|")[1].strip() for line in SECTION.splitlines() if line.startswith("| ")]
    assert len(words) == len(ROWS) + 1
    assert [word for word, times in Counter(words).items() if times > 1] == []


def german_texts():
    """Every German text of the package, by its file and its key."""
    for file in sorted((SOURCE / "catalog" / "de").glob("*.toml")):
        yield from ((file.name, *pair) for pair in tomllib.loads(file.read_text("utf-8")).items())
    pages = (SOURCE / "collection" / "page" / "strings" / "de.json",)
    for file in (*sorted((SOURCE / "studio" / "german").glob("*.json")), *pages):
        yield from ((file.name, *pair) for pair in json.loads(file.read_text("utf-8")).items())


def german_words():
    """The rows of the table of German words: those that are used, and those that are not."""
    section = PAGE.read_text("utf-8").partition("## German")[2].partition("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| ") and not line.startswith("| word"):
            _, used, unused = (cell.strip() for cell in line.strip("|").split("|"))
            yield used.split(", "), unused.split(", ") if unused else []


def texts_with(words, texts):
    """The texts that have one of some words, with any ending of a noun."""
    found = re.compile(rf"\b({'|'.join(words)})(e?[ns]?)\b")
    return [text for text in texts if found.search(text[-1])]


def test_german_texts_use_the_words_of_the_vocabulary():
    texts, rows = [*german_texts()], [*german_words()]
    assert len(rows) > 20 and len(texts) > 1000
    assert [word for used, _ in rows for word in used if not texts_with([word], texts)] == []
    assert texts_with([word for _, unused in rows for word in unused], texts) == []


@pytest.mark.parametrize("text", ["der Bericht", "zwei Berichte", "des Bundles", "der Seed"])
def test_a_german_word_that_is_not_used_is_seen(text):
    unused = [word for _, words in german_words() for word in words]
    assert texts_with(unused, [(text,)]) and not texts_with(unused, [("die Meldung im Bündel",)])


def test_no_module_binds_a_banned_name():
    assert counted(banned()) == {}


def test_every_way_to_bind_a_banned_name_is_found():
    words = banned()
    assert {"found", "said", "Asked", "unlinked"} <= words
    source = """
found = 1
self.kept = 2
for said in (): ...
def made(told, *, known=1): ...
class Asked: ...
import a as moved
[own for own in ()]
with a as apart: ...
try: ...
except ValueError as _found: ...
"""
    assert uses(source, words).total() == 11
    assert uses("print(found, data.kept)\nfoundation = 1", words).total() == 0
