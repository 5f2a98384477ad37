"""The file formats are those of docs/formats.md, all of them number 1, except for bundle 2."""

import ast
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

import incrowd
from incrowd.reports.tally_files import save_tally
from tests.conftest import people, plan_of
from tests.oracles.source import nodes_of

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "formats.md").read_text()
NAME = re.compile(r"incrowd [a-z ]+ (\d+)")
TWO_MIXERS = {  # of surveys with two mixers, whose bundle has the number 2
    f"incrowd {name} 2"
    for name in (
        "bundle",
        "key test",
        "entry",
        "slot",
        "inner",
        "outer",
        "batch",
        "release",
        "invitations",
    )
}
LISTED = {NAME.match(name)[0] for name in re.findall(r"^\| `(incrowd .+?)` \|", PAGE, re.MULTILINE)}


def named_in(source):
    """Every name of a format among the constants of a Python file."""
    texts = {
        node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
        for node in nodes_of(source)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    }
    return {match[0] for text in texts if len(text) < 60 and (match := NAME.match(text))}


def test_the_page_lists_every_format_and_its_number():
    named = set().union(*(named_in(f.read_text()) for f in (ROOT / "src").rglob("*.py")))
    assert named == LISTED
    second = {name for name in named if NAME.match(name)[1] != "1"}
    assert second == TWO_MIXERS


def test_the_client_has_the_same_formats():
    sources = "\n".join(f.read_text() for f in (ROOT / "clients" / "js" / "src").rglob("*.ts"))
    named = {match[0] for match in NAME.finditer(sources)}
    assert {"incrowd plan 1", "incrowd bundle 1"} <= named <= LISTED


def test_another_number_is_found():
    assert named_in('FORMAT = "incrowd plan 2"') == {"incrowd plan 2"}
    assert named_in('DOMAIN = b"incrowd store 1 "') == {"incrowd store 1"}


def format_of(file):
    """What a file says that it is."""
    if file.suffix == ".parquet":
        return pa.parquet.read_metadata(file).metadata[b"incrowd.format"].decode()
    if file.suffix == ".json":
        return re.search(r'"format": ?"(.+?)"', file.read_text())[1]
    return file.read_text().splitlines()[0]


def test_files_say_what_the_page_says(tmp_path):
    """Files of the library; bundles are in the vectors, receipts are tested with the collector."""
    plan = plan_of("bits")
    reports = incrowd.randomize(plan, people(1000), simulation_seed=1)
    (tmp_path / "plan.json").write_text(plan.dumps())
    incrowd.new_ledger(tmp_path / "ledger.json")
    incrowd.save_reports(reports, tmp_path / "reports.parquet")
    save_tally(incrowd.count(plan, reports), tmp_path / "tally.json")
    incrowd.DeviceKey.create().save(tmp_path / "device key")
    for file in tmp_path.iterdir():
        assert format_of(file) == f"incrowd {file.stem} 1"
    bundles = json.loads((ROOT / "vectors" / "bundles.json").read_text())
    assert '"format":"incrowd bundle 1"' in json.dumps(bundles).replace("\\", "").replace(": ", ":")
