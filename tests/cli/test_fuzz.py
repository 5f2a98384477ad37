"""Files that somebody or something spoiled: every command says so, and ends as it should.

Valid files of every format are cut, flipped, and given values that nobody expects; others are made
up. Whatever comes, the exit code is 0, 1 or 2, there is no traceback and no fault of ours (which
INCROWD_DEBUG raises here), nothing is left behind, and time and memory are bounded. The draws are
the same in every run.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import incrowd
from incrowd.cli.app import main
from incrowd.plans.ledger import Ledger
from incrowd.reports.folder import save_reports
from incrowd.tally.files import save_tally

pytestmark = pytest.mark.filterwarnings("default::incrowd.errors.IncrowdWarning")

SECONDS = 30  # of a command; most take a tenth of one
GROWTH = 1 << 30  # bytes of memory that all examples of a test may add
MOST = 4 << 30  # bytes of address space of a process, threads and libraries included
QUICK, SLOW = 300, 10_000

ASKED = {
    "question": [
        {"id": "a", "type": "yesno"},
        {"id": "b", "type": "choice", "options": ["x", "007", "7"], "optional": True},
        {"id": "c", "type": "multi", "options": ["u", "v"], "at_most": 1},
        {"id": "d", "type": "number", "edges": [0, 1.5]},
    ],
    "table": [{"questions": ["a", "b"]}],
}
WORD = {"question": [{"id": "t", "type": "text", "block": 4, "cohorts": 2}]}
KEPT = {
    "question": [
        {
            "id": "a",
            "type": "yesno",
            "randomizer": {"kind": "rappor", "f": 0.5, "memoised": True},
        }
    ]
}
TOML = """name = "fuzz"
crowd = 40
colluding = 1
[privacy]
epsilon = 4.0
delta = 1e-2
analysis = "blanket"
[[question]]
id = "a"
type = "yesno"
optional = true
[[question]]
id = "b"
type = "choice"
options = ["x", "007", "7"]
[[question]]
id = "d"
type = "number"
edges = [0, 1.5]
randomizer = { kind = "k-ary", epsilon = 1.5 }
[[table]]
questions = ["a", "b"]
[[message]]
questions = ["a", "b"]
copies = 2
[[message]]
questions = ["d"]
"""


def survey_of(asked, name, **promise):
    promise = {"epsilon": 4.0, "delta": 1e-2} | promise
    return incrowd.Survey.of({"name": name, "crowd": 40, "privacy": promise} | asked)


def answers(rows=40):
    """Valid answers to all the questions, with ids."""
    cycle = np.arange(rows)
    said = {"id": [f"{row:03}" for row in cycle], "a": np.where(cycle % 2, "yes", "no")}
    said |= {"b": np.array(["x", "007", "7"])[cycle % 3], "c": np.array(["u", "none"])[cycle % 2]}
    return pa.table(said | {"d": cycle % 3 * 1.0, "t": np.where(cycle % 2, "oslo", "paris")})


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    """A folder with one valid file of every format."""
    folder = tmp_path_factory.mktemp("valid")
    (folder / "survey.toml").write_text(TOML)
    table = answers()
    pa.csv.write_csv(table, folder / "answers.csv")
    pa.parquet.write_table(table, folder / "answers.parquet")
    key = incrowd.DeviceKey(bytes(range(32)))
    key.save(folder / "key")
    for name, asked in (("plan", ASKED), ("word", WORD), ("kept", KEPT)):
        made = incrowd.plan(survey_of(asked, name))
        (folder / f"{name}.json").write_text(made.dumps())
        drawn = incrowd.randomize(made, table, simulation_seed=1, id="id", device_key=key)
        reports = [replace(report, seed=None) for report in drawn]
        save_reports(reports, folder / f"{name}.parquet")
        if name == "plan":
            save_tally(incrowd.count(made, reports), folder / "tally.json")
    first = incrowd.plan(survey_of(WORD, "first", epsilon=0.5, delta=1e-4))
    (folder / "ledger.json").write_text(Ledger(asked=(first.asked,)).dumps())
    (folder / "new.json").write_text(Ledger().dumps())
    (folder / "words.txt").write_text("oslo\nparis\nrom\n")
    return folder


# What each format is called, and the commands that read it: {} is the spoiled file, the other
# names are those of valid files, "out" is a file to write.
COMMANDS = {
    "survey.toml": ["plan {} --no-side-by-side -o out.json"],
    "plan.json": [
        "verify {}",
        "randomize {} answers.csv -o out.parquet",
        "estimate {} plan.parquet",
        "ledger new.json {} --as-planned",
    ],
    "ledger.json": ["ledger {}", "plan survey.toml --no-side-by-side --ledger {} -o out.json"],
    "tally.json": ["estimate plan.json {} -o out.json", "tally plan.json {} -o out.json"],
    "plan.parquet": [
        "estimate plan.json {} -o out.csv",
        "verify plan.json {}",
        "tally plan.json {} -o out.json",
        "postprocess plan.json {} --table a,b",
        "compare plan.json {} a b",
    ],
    "answers.csv": [
        "randomize plan.json {} -o out.parquet --id id",
        "randomize word.json {} -o out.parquet",
        "randomize kept.json {} -o out.parquet --id id --device-key key",
    ],
    "answers.parquet": [
        "randomize plan.json {} -o out.parquet --id id",
        "randomize word.json {} -o out.parquet",
        "randomize kept.json {} -o out.parquet --id id --device-key key",
    ],
    "key": ["randomize kept.json answers.csv -o out.parquet --id id --device-key {}"],
    "words.txt": ["estimate word.json word.parquet --words t={} -o out.html"],
}


# --- how files are spoiled ---------------------------------------------------------------------

EXTREMES = [
    b"0",
    b"-1",
    b"2",
    b"1e999",
    b"1e308",
    b"5e-324",
    b"1e30",
    b"NaN",
    b"-Infinity",
    b"null",
    b"true",
    b'""',
    b'"x"',
    b"[]",
    b"{}",
    b"9223372036854775808",
    b"9" * 5000,
    b"0x" + b"f" * 6000,
    b"[" * 3000 + b"]" * 3000,
    b'{"a":' * 3000 + b"1" + b"}" * 3000,
    b"[" * 100_000,
    b"a" + b".a" * 20_000 + b" = 1",
    b"x" * 1_200_000,
    b"\xff",
    b"\x00",
    b"\xed\xa0\x80",
    "۷".encode(),
    b'"',
    b"\n",
]
TOKEN = re.compile(rb'"[^"\n]*"|[-+.\w]+')


@st.composite
def spoiled_bytes(draw, content):
    """A file with bytes flipped, left out, repeated, or put in."""
    data = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 40)))
        match draw(st.sampled_from(["flip", "cut", "drop", "repeat", "put"])):
            case "flip" if start < len(data):
                data[start] ^= 1 << draw(st.integers(0, 7))
            case "cut":
                del data[start:]
            case "drop":
                del data[start:end]
            case "repeat":
                data[start:start] = data[start:end]
            case "put":
                data[start:start] = draw(st.binary(max_size=40))
    return bytes(data)


@st.composite
def spoiled_tokens(draw, content):
    """A file of text with words or numbers replaced by extreme ones."""
    for _ in range(draw(st.integers(1, 3))):
        tokens = list(TOKEN.finditer(content))
        if not tokens:
            break
        token = draw(st.sampled_from(tokens))
        replacement = draw(st.sampled_from(EXTREMES))
        content = content[: token.start()] + replacement + content[token.end() :]
    return content


NUMBERS = st.one_of(
    st.integers(-2, 50),
    st.sampled_from([2**31 - 1, 2**31, 2**53, 2**63, -(2**63) - 1, 10**400]),
    st.floats(),
)
NAMES = st.sampled_from(["a", "b", "x", "007", "yesno", "0", "shuffle", "blanket", "local", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | NAMES | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


def near(value):
    """Values of the same kind, that a careless hand could have written, or anything."""
    found = []
    if is_number(value):
        found = [0, 1, -1, value + 1, value - 1, value * 2, value / 2, 2**31 - 1, 2**32, 2**53]
        found += [2**63, 10**30, 10**400, 5e-324, 1e-300, 1e300, 0.5, float("nan"), float("inf")]
    if isinstance(value, str):
        found = [value[::-1], value[:1], value * 2, "", "a", "b", "local", "outlier", "multi", "é"]
    if isinstance(value, list):
        found = [[], value * 2, value[::-1], value[:1], [value]]
    return st.one_of(VALUES, *[st.sampled_from(found)] * 8) if found else VALUES


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


@st.composite
def spoiled_data(draw, data):
    """Nested data with parts replaced, removed or repeated."""
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        known = list(places(data)) or [({"": data}, "")]
        numbers = [(holder, place) for holder, place in known if is_number(holder[place])]
        holder, place = draw(st.sampled_from(draw(st.sampled_from([known, numbers or known]))))
        match draw(st.sampled_from(["replace"] * 6 + ["remove", "repeat"])):
            case "replace":
                holder[place] = draw(near(holder[place]))
            case "remove":
                del holder[place]
            case "repeat" if isinstance(holder, list):
                holder.append(holder[place])
    return data


@st.composite
def spoiled_json(draw, content):
    """JSON that is spoiled inside; mostly with a digest that fits."""
    data = draw(spoiled_data(json.loads(content)))
    return json.dumps(signed(data) if draw(st.integers(0, 5)) else data).encode()


@st.composite
def spoiled_toml(draw, content):
    """TOML that is spoiled inside."""
    data = draw(spoiled_data(tomllib.loads(content.decode())))
    lines = [f"{json.dumps(key)} = {as_toml(value)}" for key, value in data.items()]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def as_toml(value):
    """A value of TOML, in one line."""
    if isinstance(value, dict):
        items = (f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, float):
        return str(value)
    return '""' if value is None else json.dumps(value)


def places(data):
    """Every place in nested lists and tables: what holds it, and where."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for place, value in list(items):
        yield data, place
        if isinstance(value, dict | list):
            yield from places(value)


def signed(data):
    """With the digest of its content, as somebody makes who wants to be believed."""
    if "digest" not in data:
        return data
    rest = {key: value for key, value in data.items() if key != "digest"}
    content = rest.get("plan") if set(rest) == {"plan"} else rest
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return data
    return rest | {"digest": hashlib.sha256(text.encode()).hexdigest()}


@st.composite
def made_up_table(draw, content):
    """A Parquet file whose columns have the right names and any types; or reports in disguise."""
    table = pa.parquet.read_table(io.BytesIO(content))
    rows, columns = draw(st.integers(0, 50)), {}
    for name in table.column_names:
        kept = table.column(name)
        made = draw(st.sampled_from(COLUMNS))(rows)
        columns[name] = draw(st.sampled_from([made, made, kept.slice(0, rows)]))
    rows = min(map(len, columns.values()), default=0)
    made = pa.table({name: column[:rows] for name, column in columns.items()})
    metadata = dict(table.schema.metadata or {})
    for key in draw(st.lists(st.sampled_from(sorted(metadata)), max_size=2)) if metadata else []:
        metadata[key] = draw(st.sampled_from([b"", b"-1", b"9" * 5000, b"0", b"1", b"\xff", b"x"]))
    file = io.BytesIO()
    how = draw(st.sampled_from(["none", "zstd", "snappy"]))
    made = made.replace_schema_metadata(metadata)
    pa.parquet.write_table(made, file, compression=how, row_group_size=draw(st.integers(1, 60)))
    return file.getvalue()


COLUMNS = [
    lambda rows: pa.array(range(rows), pa.int64()),
    lambda rows: pa.array([2**64 - 1] * rows, pa.uint64()),
    lambda rows: pa.array([1.1, float("nan")] * rows, pa.float64()),
    lambda rows: pa.array([True, None] * rows),
    lambda rows: pa.nulls(rows),
    lambda rows: pa.array(["yes", "", None, "7"] * rows),
    lambda rows: pa.array(["yes", "x"] * rows).dictionary_encode(),
    lambda rows: pa.array(["u" * 100_000] * rows),
    lambda rows: pa.array([["u"], [], None, ["u", "u", None]] * rows),
    lambda rows: pa.array([[["u"]]] * rows),
    lambda rows: pa.array([{"x": "yes"}] * rows, pa.struct({"x": pa.string()})),
    lambda rows: pa.array([b"\xff", b""] * rows),
    lambda rows: pa.array([b"\xff\x00"] * rows, pa.binary(2)),
    lambda rows: pa.array(range(rows), pa.timestamp("us")),
    lambda rows: pa.array([None] * rows, pa.decimal128(5, 2)),
    lambda rows: pa.array(["yes"] * rows, pa.large_string()),
    lambda rows: pa.array([("a", "b")] * rows, pa.list_(pa.string(), 2)),
    lambda rows: pa.array([b"\xff\xfe"] * rows, pa.binary()).view(pa.string()),
]


def spoiled(name, content):
    """All the ways to spoil a file of that name."""
    ways = [spoiled_bytes(content), spoiled_bytes(content)]
    if name.endswith(".parquet"):
        return st.one_of(*ways, made_up_table(content), made_up_table(content))
    ways += [spoiled_tokens(content), spoiled_tokens(content)]
    inside = {".json": spoiled_json, ".toml": spoiled_toml}.get(Path(name).suffix)
    return st.one_of(*ways, *[inside(content)] * 12) if inside else st.one_of(*ways)


# --- what has to hold --------------------------------------------------------------------------


def said(arguments):
    """Exit code and standard error of a command in this process; a fault of ours is raised."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["incrowd", *arguments]),
        mock.patch.dict(os.environ, {"INCROWD_DEBUG": "1"}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        bounded_time(arguments),
    ):
        try:
            main()
        except SystemExit as end:
            return end.code or 0, err.getvalue()
    return 0, err.getvalue()


@contextlib.contextmanager
def bounded_time(what):
    def late(*_):
        raise AssertionError(f"more than {SECONDS} s: {what}")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(valid, name, content, command, run=said):
    """One command on one spoiled file."""
    with tempfile.TemporaryDirectory(dir=valid.parent) as place:
        folder = Path(place)
        (folder / name).write_bytes(content)
        os.chmod(folder / name, 0o600)
        for other in {"new.json"} & set(command.split()):
            (folder / other).write_bytes((valid / other).read_bytes())
        before = {file.name: file.read_bytes() for file in folder.iterdir()}
        words = [filled(word, folder, valid, name) for word in command.split()]
        code, error = run(words)
        assert code in (0, 1, 2), (code, error)
        assert "Traceback" not in error and "fault in incrowd" not in error, error
        assert code == 0 or error.strip()
        after = {file.name: file for file in folder.iterdir()}
        assert set(after) - set(before) == (set(OUT.findall(command)) if code == 0 else set())
        assert code == 0 or {n: after[n].read_bytes() for n in before} == before


OUT = re.compile(r"\bout[.]\w+")


def filled(word, folder, valid, name):
    """A word of a command, with the paths of its files."""
    word = word.replace("{}", str(folder / name))
    if word.startswith("out."):
        return str(folder / word)
    if (folder / word).exists():
        return str(folder / word)
    return str(valid / word) if (valid / word).exists() else word


def fuzz(valid, name, examples):
    content, commands = (valid / name).read_bytes(), COMMANDS[name]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(spoiled(name, content), st.sampled_from(commands))
    def each(data, command):
        check(valid, name, data, command)

    each()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory
    assert grown * 1024 < GROWTH


@pytest.mark.parametrize("name", COMMANDS)
def test_spoiled_files(valid, name):
    fuzz(valid, name, -(-QUICK // len(COMMANDS)))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_many_spoiled_files(valid, name):
    fuzz(valid, name, -(-SLOW // len(COMMANDS)))


def in_a_process(arguments):
    """Exit code and standard error of a command in a process of its own, of bounded memory."""
    code = "from incrowd.cli import main; main()"
    most = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MOST}, {MOST})); "
    command = [sys.executable, "-c", most + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    return done.returncode, done.stderr


def in_survey(crowd):
    return TOML.replace("crowd = 40", f"crowd = {crowd}").encode()


HARD = [
    ("survey.toml", in_survey("9" * 5000)),
    ("survey.toml", in_survey("0x" + "f" * 6000)),
    ("survey.toml", in_survey("[" * 100_000)),
    ("survey.toml", in_survey("{a=" * 100_000)),
    ("survey.toml", in_survey("1e30")),
    ("survey.toml", in_survey(10**30)),
    ("survey.toml", b"a" + b".a" * 100_000 + b" = 1\n" + TOML.encode()),
    ("survey.toml", b"[a" + b' . "a"' * 100_000 + b"]\n" + TOML.encode()),
    ("survey.toml", TOML.encode() + b"[[table]]\nquestions = [['a'], {a = 1}]"),
    ("plan.json", b"[" * 1_000_000),
    ("ledger.json", b'{"format":' * 100_000),
    ("tally.json", b"[" * 1_000_000),
    ("answers.csv", b"id,a,b,c,d,t\n" + b"x" * 3_000_000),
    ("words.txt", b"\xff\xfe"),
]


@pytest.mark.parametrize("number", range(len(HARD)))
def test_hard_files(valid, number):
    """What was a fault, or took more and more time and memory: refused in 4 GiB and 30 s."""
    name, content = HARD[number]

    def refused(arguments):
        code, error = in_a_process(arguments)
        assert code == 2 and error.startswith("error: ")
        return code, error

    check(valid, name, content, COMMANDS[name][0], refused)


@pytest.mark.parametrize(
    ("name", "command"), [(name, command) for name in COMMANDS for command in COMMANDS[name]]
)
def test_files_that_are_not_spoiled(valid, name, command):
    """The wrong variant: what the tests spoil works as it is, so that they look at more than
    the first line."""
    with tempfile.TemporaryDirectory(dir=valid.parent) as place:
        for copied in (name, "new.json"):
            (Path(place) / copied).write_bytes((valid / copied).read_bytes())
            os.chmod(Path(place) / copied, 0o600)
        words = [filled(word, Path(place), valid, name) for word in command.split()]
        code, error = said(words)
        assert code == 0, error
