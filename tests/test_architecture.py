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
    assert len(paths) > 20 and len(recipes) == 5
    assert {path for path in paths if not (ROOT / path).exists()} == set()


def test_the_layers_of_interviews_are_those_of_their_imports():
    section = MAP.partition("### Interviews")[2].partition("\n###")[0]
    rows = re.findall(r"^\| [^|`]+ \|([^|]+)\|$", section, re.MULTILINE)
    layers = [set(re.findall(r"`(\w+)\.py`", row)) for row in rows if "`" in row]
    room = SOURCE / "interviews"
    modules = {path.stem for path in room.glob("*.py")} - {"__init__"}
    assert sorted(name for layer in layers for name in layer) == sorted(modules)
    layer_of = {name: place for place, layer in enumerate(layers) for name in layer}
    uses = {
        (name, used)
        for name in modules
        for used in re.findall(
            r"from incrowd\.interviews\.(\w+)", (room / f"{name}.py").read_text()
        )
    }
    assert {pair for pair in uses if layer_of[pair[0]] < layer_of[pair[1]]} == set()
