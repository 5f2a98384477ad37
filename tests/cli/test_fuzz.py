"""Files that somebody or something spoiled: every command says so, and ends as it should.

Valid files of every format are cut, flipped, and given values that nobody expects; others are made
up. Whatever comes, the exit code is 0, 1 or 2, there is no traceback and no fault of ours (which
INCROWD_DEBUG raises here), nothing is left behind, and time and memory are bounded. The draws are
the same in every run.
"""

import hashlib
import io
import json
import re
import resource
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import COMMANDS, check

pytestmark = pytest.mark.filterwarnings("default::incrowd.errors.IncrowdWarning")

GROWTH = 1 << 30  # bytes of memory that all examples of a test may add

QUICK, SLOW = 150, 10_000

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
        found = [0, 1, -1, value + 1, value - 1, value * 2, value // 2, 2**31 - 1, 2**32, 2**53]
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


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_spoiled_files(valid, name):
    fuzz(valid, name, -(-QUICK // len(COMMANDS)))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_many_spoiled_files(valid, name):
    fuzz(valid, name, -(-SLOW // len(COMMANDS)))
