"""What is written to files is codes and numbers: no sentence stands in them but the author's.

A plan, a ledger, a bundle, reports, a receipt and a tally, all made by the commands.
"""

import json

import numpy as np
import pyarrow.parquet
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from incrowd.collection.protocol.bundle import Bundle
from tests.oracles.make_vectors import RECEIVER
from tests.oracles.releases import all_sealed, release
from tests.oracles.terms import stated

CROWD, PEOPLE = 40, 60
# What the author of a survey, or whoever runs a collection, writes; and the names of formats.
AUTHORS = {
    ("format",),
    ("incrowd.format",),
    *(("survey", key) for key in ("name", "language")),
    *(("question", key) for key in ("text", "texts", "help", "helps", "labels", "options", "id")),
    *(("wording", key) for key in ("title", "introduction", "questions")),
    ("period",),
    ("strata",),
    ("asked", "survey"),  # the name of an earlier one
}
SURVEY = """
name = "A survey of some habits"
crowd = {crowd}
rounds = {rounds}
[privacy]
analysis = "blanket"
epsilon = {epsilon}
delta = 0.01
[[question]]
id = "ill"
type = "yesno"
text = "Were you ill last week, at home?"
help = "A cold counts as well."
[[question]]
id = "kept"
type = "choice"
options = ["none of the time", "some of the time", "all of the time"]
memoized = {memoized}
"""


def sentences(value, path=()):
    """The paths and values of all texts with two spaces or more; lists have no step."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from sentences(inner, (*path, key))
            if key.count(" ") > 1:
                yield (*path, key), key
    elif isinstance(value, list):
        for inner in value:
            yield from sentences(inner, path)
    elif isinstance(value, str) and value.count(" ") > 1:
        yield path, value


def stored(value):
    """Those that no author wrote."""
    return [
        (path, text)
        for path, text in sentences(value)
        if not any(
            path[place : place + len(named)] == named
            for named in AUTHORS
            for place in range(len(path))
        )
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def files(folder):
    """Every file, by what it is."""
    from typer.testing import CliRunner

    from incrowd.cli.app import app

    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.stdout

    def plan(name, *more, **asked):
        (folder / f"{name}.toml").write_text(SURVEY.format(**asked))
        made = folder / f"{name}.json"
        run("plan", folder / f"{name}.toml", "-o", made, "--no-side-by-side", "--json", *more)
        return made

    ledger = folder / "ledger.json"
    first = plan("first", crowd=CROWD, rounds=2, epsilon=4.0, memoized="true")
    run("ledger", ledger, "--new")
    for how in ([], ["--local-only"]):
        run("ledger", ledger, first, "--as-planned", *how)
    asked = {"crowd": CROWD, "rounds": 1, "epsilon": 20.0, "memoized": "false"}
    second = plan("second", "--ledger", ledger, **asked)
    answers = folder / "answers.csv"
    answers.write_text("ill,kept\n" + "yes,none of the time\nno,some of the time\n" * PEOPLE)
    run("randomize", second, answers, "-o", folder / "reports", "--simulation-seed", 3)
    run("tally", second, folder / "reports", "-o", folder / "tally.json", "--pairs")
    terms = stated(codes=False, colluding=0, title="Habits of our town", strata=None)
    about = terms.model_dump(exclude_none=True, exclude={"questions"})
    toml = "".join(f"{name} = {json.dumps(value)}\n" for name, value in about.items())
    (folder / "terms.toml").write_text(f'{toml}[questions]\nkept = "How often did you cough?"\n')
    run("shuffler", "init", folder / "shuffler", second, folder / "terms.toml")
    bundle = Bundle.parse((folder / "shuffler" / "bundle.json").read_bytes())
    keys = [path.read_bytes() for path in (folder / "shuffler").iterdir()]
    signing = next(
        key
        for key in map(Ed25519PrivateKey.from_private_bytes, (k for k in keys if len(k) == 32))
        if key.public_key().public_bytes_raw().hex() == bundle.shuffler_key
    )
    rng = np.random.default_rng(1)
    plain = [bundle.shape.dummy] * (bundle.places * PEOPLE)
    for number in range(0, len(plain), bundle.places):
        plain[number] = bundle.shape.report(0, rng.integers(0, 2, 1, np.uint8).tobytes())
    (folder / "private.key").write_bytes(RECEIVER.secret)
    data = release(all_sealed(plain, bundle), bundle, key=signing)
    (folder / "0.release").write_bytes(data)
    opened = folder / "opened"
    words = "--bundle", folder / "shuffler" / "bundle.json", "--key", folder / "private.key"
    run("open", folder / "0.release", *words, "-o", opened)
    parquet = [*(folder / "reports").rglob("*.parquet"), *opened.rglob("*.parquet")]
    metadata = [pyarrow.parquet.read_metadata(path).metadata for path in parquet]
    return {
        "plan": json.loads(first.read_text()),
        "plan of a ledger": json.loads(second.read_text()),
        "ledger": json.loads(ledger.read_text()),
        "bundle": json.loads(bundle.encoded),
        "receipt": json.loads((opened / "receipt.json").read_text()),
        "tally": json.loads((folder / "tally.json").read_text()),
        "reports": [
            {key.decode(): value.decode() for key, value in each.items() if key != b"ARROW:schema"}
            for each in metadata
        ],
    }


NAMES = ["plan", "plan of a ledger", "ledger", "bundle", "receipt", "tally", "reports"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_file_holds_a_sentence(files, name):
    assert stored(files[name]) == []


@pytest.mark.slow
def test_the_files_hold_what_could_be_sentences(files):
    """Assumptions, worst pairs and rejected reports; and the author's own texts are found."""
    codes = [each["code"] for each in files["plan of a ledger"]["plan"]["guarantee"]["assumptions"]]
    assert {"whole-crowd", "earlier-permanent-linked", "earlier-linked"} <= {*codes}
    assert files["plan"]["plan"]["guarantee"]["worst"]
    assert sum(files["receipt"]["rejected"].values()) == 0 and files["receipt"]["dummies"]
    found = {text for _, text in sentences(files["bundle"])}
    assert {"Were you ill last week, at home?", "none of the time"} <= found
    assert stored({"why": "this is a sentence"}) and stored({"these are three words": 1})
    assert not stored({"code": "whole-crowd", "kind": "bit flip"})


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_format_is_number_one(files, name):
    def formats(value):
        for key, inner in value.items() if isinstance(value, dict) else ():
            if key in ("format", "incrowd.format"):
                yield inner
            yield from formats(inner)
        for inner in value if isinstance(value, list) else ():
            yield from formats(inner)

    found = [*formats(files[name])]
    assert found and all(text.startswith("incrowd ") and text.endswith(" 1") for text in found)
