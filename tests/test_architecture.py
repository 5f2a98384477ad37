"""The map of docs/architecture.md shows the house as it is."""

import re
from pathlib import Path

from tests.oracles.vocabulary import SOURCE

ROOT = Path(__file__).parent.parent
MAP = (ROOT / "docs" / "architecture.md").read_text()
ROOMS = MAP.partition("## Rooms")[2].partition("\n## ")[0]


def test_the_map_lists_every_room():
    listed = re.findall(r"^\| (.+?) \|", ROOMS, re.MULTILINE)
    rooms = {name.strip("/") for cell in listed for name in re.findall(r"`(.+?)`", cell)}
    there = {path.name for path in SOURCE.iterdir() if path.name[0] not in "_."} - {"py.typed"}
    assert rooms == there


def test_every_file_that_the_map_names_is_there():
    paths = set(re.findall(r"`((?:src|tests|clients|vectors)/[\w./-]*)`", MAP))
    recipes = {path for path in paths if path.startswith("tests/test_recipes_")}
    assert len(paths) > 20 and len(recipes) == 4
    assert {path for path in paths if not (ROOT / path).exists()} == set()
