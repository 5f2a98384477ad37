"""A file that breaks the library that parses it is refused by its name, and nothing else ends."""

import gc
import io
import json
import random
import signal
import subprocess
import sys
import time
import zipfile

import pandas
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest

import incrowd
from incrowd import errors
from incrowd.catalog.sentences import FileDigest, Keyword, sentence
from incrowd.encoding import limits
from incrowd.encoding.answers import load_batches, load_data
from incrowd.encoding.formats import isolated, problems
from incrowd.encoding.formats.registry import FORMATS
from incrowd.encoding.sources import source_of
from tests.conftest import run, slowly, slowly_except
from tests.oracles.hostile_reader import HOSTILE, MAGIC

SURVEY = incrowd.Survey.of(
    {
        "name": "A",
        "crowd": 100,
        "privacy": {"epsilon": 2.0, "analysis": "local"},
        "question": [{"id": "a", "type": "yesno"}],
    }
)
DAMAGED = "the Hostile file is damaged or incomplete; save it again"
FAILURES = {
    "crash": r"ended unexpectedly \(SIGSEGV\), so it is damaged or too large; save it again",
    "crash later": r"ended unexpectedly \(SIGSEGV\)",
    "leave": r"ended unexpectedly \(exit code 3\)",
    "take_memory": "more than 256 MiB of memory; save it as CSV, or set the variable INCROWD_READ_",
    "loop": "more than 1 second; save it as CSV, or set the variable INCROWD_READ_SECONDS to more",
    "sleep": "more than 1 second",
    "fail": DAMAGED,
    "fail later": DAMAGED,
    "invalid": "it cannot be read: In column 0: Invalid",
}


@pytest.fixture(autouse=True)
def low_limit(monkeypatch):
    monkeypatch.setitem(FORMATS, "hostile", HOSTILE)
    monkeypatch.setenv(limits.MEMORY, "256")


@pytest.fixture(autouse=True)
def started(monkeypatch):
    """The processes that were started. None is left at the end."""
    processes = []

    class Noted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            processes.append(self)

    monkeypatch.setattr(isolated.subprocess, "Popen", Noted)
    yield processes
    if any(process.returncode is None for process in processes):
        gc.collect()  # exceptions and their frames refer to them
    assert [process for process in processes if process.returncode is None] == []


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """A file whose reader acts so."""

    def written(act):
        if act in ("loop", "sleep"):
            monkeypatch.setenv(limits.SECONDS, "1")
        path = tmp_path / "survey data.hostile"
        path.write_bytes(MAGIC + act.encode())
        return path

    return written


@pytest.mark.parametrize("act", slowly_except(FAILURES, "crash", "sleep", "fail"))
def test_a_reader_that_fails_is_an_error_that_names_the_file(hostile, act):
    path = hostile(act)
    with pytest.raises(incrowd.AnswersError, match=FAILURES[act]) as error:
        incrowd.load_answers(path, SURVEY)
    assert str(error.value).startswith(f"answers: got '{path}'; ")


@pytest.mark.slow
@pytest.mark.parametrize("act", ["crash", *slowly("take_memory")])
def test_the_command_line_survives_a_reader_that_fails(hostile, tmp_path, act):
    for command in (("init",), ("check", survey_file(tmp_path))):
        said = run(*command, hostile(act))
        assert said.returncode == 2, said
        assert "survey data.hostile" in said.stderr and "Traceback" not in said.stderr


def survey_file(folder):
    path = folder / "survey.toml"
    path.write_text(
        'name = "A"\ncrowd = 100\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
        '[[question]]\nid = "a"\ntype = "yesno"\n'
    )
    return path


@pytest.mark.slow
def test_the_answers_are_not_what_a_library_prints(hostile):
    assert incrowd.load_answers(hostile("chatter"), SURVEY)["a"].to_pylist() == ["yes", "no"]


@pytest.mark.slow
def test_only_what_is_held_in_memory_counts_against_the_limit(hostile):
    """280 MB altogether: a batch at a time they are read; as a draft they would be held."""
    source = source_of(hostile("many"))
    read = load_batches(source, SURVEY, rows=1 << 20)
    assert sum(table.num_rows for table, _ in read.tables) == 40 << 20
    with pytest.raises(incrowd.AnswersError, match="more than 256 MiB of memory"):
        load_data(source)


@pytest.mark.slow
def test_bytes_of_a_pipe_are_read_without_a_file(hostile):
    content = hostile("").read_bytes()
    assert incrowd.load_answers(io.BytesIO(content), SURVEY).num_rows == 2
    with pytest.raises(incrowd.AnswersError, match=r"got 'these bytes'.*SIGSEGV"):
        incrowd.load_answers(io.BytesIO(MAGIC + b"crash"), SURVEY)


@pytest.mark.slow
def test_pieces_that_nobody_wants_end_their_process(hostile, started):
    tables = load_batches(hostile("many"), SURVEY, rows=1 << 20).tables
    next(tables)
    [process] = started
    assert process.poll() is None
    del tables
    gc.collect()
    assert process.returncode is not None


@pytest.mark.parametrize("text", ["much", "-1", "1.5", "12"])
def test_a_limit_is_a_whole_number(hostile, monkeypatch, text):
    monkeypatch.setenv(limits.MEMORY, text)
    with pytest.raises(incrowd.UsageError, match=f"INCROWD_READ_MIB: got '{text}'; should be a w"):
        incrowd.load_answers(hostile(""), SURVEY)


READING = """
import sys
from incrowd.encoding.formats.registry import FORMATS
from tests.oracles.hostile_reader import HOSTILE
FORMATS["hostile"] = HOSTILE
import incrowd
incrowd.draft(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [*slowly(signal.SIGINT, signal.SIGTERM), signal.SIGKILL])
def test_the_reader_ends_with_the_program(tmp_path, how):
    """However the program ends: Ctrl-C, a stopped job of the studio, a kill. The reader loops."""
    path, pid = tmp_path / "a.hostile", tmp_path / "pid"
    path.write_bytes(MAGIC + f"loop {pid}".encode())
    program = subprocess.Popen([sys.executable, "-c", READING, path], stderr=subprocess.DEVNULL)
    until(lambda: pid.exists() and pid.read_text())
    program.send_signal(how)
    assert program.wait(30) != 0
    until(lambda: state(pid.read_text()) in ("", "Z"))


def until(true):
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def state(pid):
    """The state of a process; Z if it has ended, and nothing if it is gone."""
    ps = ["ps", "-o", "stat=", "-p", pid]
    return subprocess.run(ps, capture_output=True, text=True, check=False).stdout.strip()[:1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_is_replaced_while_it_is_read_is_refused(tmp_path, ending):
    path, other = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
    write = pa.csv.write_csv if ending == "csv" else pa.parquet.write_table
    write(pa.table({"a": ["yes"] * 3000}), path)
    write(pa.table({"a": ["no"] * 3000}), other)
    tables = load_batches(path, SURVEY, rows=1000).tables
    next(tables)
    other.replace(path)
    with pytest.raises(incrowd.AnswersError, match=f"{path}'; it was changed while it was read"):
        list(tables)


@pytest.mark.parametrize("format", [None, "csv"])
def test_a_device_without_an_end_is_not_read_forever(format):
    with pytest.raises(incrowd.AnswersError, match=r"'/dev/zero'; .* at most 256 MiB of it"):
        incrowd.load_answers("/dev/zero", SURVEY, format=format)


# --- real files -----------------------------------------------------------------------------------

FRAME = pandas.DataFrame(
    {
        "a": [1.0, 2, 1, 9] * 5,
        "text": ["yes", "no", "", "a longer text " * 20] * 5,
        "number": [1.5, 2.5, None, 4] * 5,
        "day": pandas.to_datetime(["2020-01-01", None, "2021-06-30", "1999-12-31"] * 5),
    }
)
LABELS = {"a": {1: "yes", 2: "no", 9: "refused"}}
WRITERS = {
    "sav": lambda path: pyreadstat.write_sav(
        FRAME, path, variable_value_labels=LABELS, missing_ranges={"a": [9]}
    ),
    "zsav": lambda path: pyreadstat.write_sav(
        FRAME, path, compress=True, variable_value_labels=LABELS
    ),
    "dta": lambda path: pyreadstat.write_dta(FRAME, path, variable_value_labels=LABELS),
    "xlsx": lambda path: FRAME.to_excel(path, index=False),
    "parquet": lambda path: pa.parquet.write_table(pa.Table.from_pandas(FRAME), path),
    "feather": lambda path: pa.feather.write_feather(pa.Table.from_pandas(FRAME), path),
}


def mutated(content, draw):
    """Some bytes changed, and for one in five the end cut off; the first ones name the format."""
    content = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8, 30))):
        content[draw.randrange(4, len(content))] = draw.randrange(256)
    kept = draw.randrange(8, len(content)) if draw.random() < 0.2 else len(content)
    return bytes(content[:kept])


def inflated(content, draw):
    """A workbook whose first sheet is mutated before it is packed."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as before,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            part = before.read(name)
            after.writestr(name, mutated(part, draw) if "sheet1" in name else part)
    return file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("ending", WRITERS)
def test_no_mutation_of_a_file_ends_the_program(tmp_path, monkeypatch, ending):
    """100 of each kind. Each is read, or refused by its name."""
    monkeypatch.setenv(limits.SECONDS, "20")
    WRITERS[ending](tmp_path / f"whole.{ending}")
    content, draw = (tmp_path / f"whole.{ending}").read_bytes(), random.Random(35)
    refused = 0
    for number in range(100):
        path = tmp_path / f"{number}.{ending}"
        changed = inflated if ending == "xlsx" and number % 2 else mutated
        path.write_bytes(changed(content, draw))
        try:
            incrowd.draft(path)
        except incrowd.IncrowdError as error:
            refused += 1
            unnamed = "no column can become a question", "rows with answers are needed"
            said = str(error)
            assert str(path) in said or any(text in said for text in unnamed)
    assert refused > 10


@pytest.mark.slow
def test_a_column_without_a_name_is_not_read(tmp_path):
    """pyreadstat reports the name None where the list of long names has blanks."""
    path = tmp_path / "a.sav"
    pyreadstat.write_sav(pandas.DataFrame({"bbbb": [1.0, 2], "a": [1.0, 0]}), path)
    before, name, after = path.read_bytes().rpartition(b"BBBB=bbbb")
    path.write_bytes(before + b"BBBB=    " + after)
    about = pyreadstat.read_sav(path, metadataonly=True)[1]
    assert about.column_names == [None, "a"] and name
    assert incrowd.load_answers(path, SURVEY)["a"].to_pylist() == ["1", "0"]
    assert [column.id for column in incrowd.draft(path).columns] == ["a"]


@pytest.mark.slow
def test_a_workbook_is_read_in_bounded_memory(tmp_path):
    """Rows whose only cell is far to the right, where the stated dimensions do not reach: all rows
    are read, and the cells between take no memory."""
    path = tmp_path / "a.xlsx"
    FRAME[["text"]].to_excel(path, index=False)
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = next(name for name in parts if "sheet1" in name)
    head, body, _ = parts[sheet].partition(b"<sheetData>")
    row = b'<row r="%d"><c r="XFD%d" t="inlineStr"><is><t>yes</t></is></c></row>'
    rows = b"".join(row % (number, number) for number in range(2, 2500))
    name = b'<c r="%s1" t="inlineStr"><is><t>%s</t></is></c>'
    header = b'<row r="1">' + name % (b"A", b"a") + name % (b"XFD", b"b") + b"</row>"
    parts[sheet] = head + body + header + rows + b"</sheetData></worksheet>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in parts.items():
            book.writestr(name, part)
    assert path.stat().st_size < 100_000
    assert load_data(source_of(path)).table.num_rows == 2498  # 41 million cells with the gaps


def error_with(**arguments):
    return errors.AnswersError(
        errors.Problem(
            ("a.xlsx", errors.Place("row", 5), 2, errors.Of("a")), "encoding.damaged", **arguments
        )
    )


def test_an_error_arrives_as_it_was_sent():
    nested = sentence("encoding.first-options", options=("x", "y"), number=2)
    for value in (nested, Keyword("encoding", "latin-1"), FileDigest("00"), [1, None], {"a": True}):
        sent = error_with(value=value, format="Excel")
        arrived = problems.error_of(json.loads(json.dumps(problems.as_json(sent))))
        assert (type(arrived), arrived.problems) == (type(sent), sent.problems)


GOOD = ["sentence", "encoding.damaged", ["table", ["value", "a"], ["format", "b"]]]


@pytest.mark.parametrize(
    "message",
    [
        ["sentence", "encoding.no-such-code", ["table"]],
        ["sentence", "../../secret.key", ["table"]],
        ["sentence", ["encoding.damaged"], ["table"]],
        ["sentence", "encoding.damaged", ["table", ["value", "a"]]],
        ["sentence", "encoding.wide-rows", ["table", ["value", "a"], ["megabytes", "b"]]],
        ["sentence", "encoding.damaged", {"value": "a", "format": "b"}],
        ["eval", "1"],
        "text",
        [],
    ],
)
def test_what_is_no_error_of_ours_is_refused(message):
    told = {"error": "AnswersError", "problems": [[["tuple", "a"], message]]}
    with pytest.raises(problems.INVALID):
        problems.error_of(told)
    problems.error_of(told | {"problems": [[["tuple", "a"], GOOD]]})
    for kind in ("SystemExit", "Problem", "visible", ["AnswersError"]):
        with pytest.raises(problems.INVALID):
            problems.error_of({"error": kind, "problems": [[["tuple", "a"], GOOD]]})
