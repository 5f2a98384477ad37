"""Every kind of file and frame gives the answers that the CSV file gives."""

import csv
import gzip
import io
import tomllib
from itertools import permutations

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pyreadstat
import pytest

import incrowd
from incrowd.encoding.answers import load_batches, texts
from incrowd.encoding.formats.csv import SEPARATORS
from incrowd.encoding.records import EncodedAnswers
from tests.conftest import GOOD, slowly

ROWS = 60
SURVEY = incrowd.Survey.of(
    GOOD | {"question": [question | {"optional": True} for question in GOOD["question"]]}
)
CYCLE = np.arange(ROWS)
SAID = {
    "a": [["yes", "no", None][n % 3] for n in CYCLE],
    "b": [["x", "y", "z", None][n % 4] for n in CYCLE],
    "c": [["u;v", "w", "none"][n % 3] for n in CYCLE],
    "d": [[0.0, 2.5, 7.0, None][n % 4] for n in CYCLE],
    "id": [f"{n:03}" for n in CYCLE],
    "other": [n / 7 for n in CYCLE],
}


def frame():
    return pandas.DataFrame(SAID)


def encoded(answers, survey=SURVEY, **options):
    """The set bits of every question: what is randomized."""
    people = EncodedAnswers.of(survey, incrowd.load_answers(answers, survey, **options))
    return {id: (each.rows.tolist(), each.places.tolist()) for id, each in people.encoded.items()}


def by_hand():
    """The same, from the rows above and the vocabulary of the survey alone."""
    found = {}
    for question in SURVEY.questions:
        places = []
        for row, said in enumerate(SAID[question.id]):
            if said is None:
                set_bits = [len(question.answers) - 1]
            elif question.id == "d":
                set_bits = [sum(said >= edge for edge in question.edges) - 1]
            else:
                set_bits = sorted(question.answers.index(s) for s in said.split(";") if s != "none")
            places += [(row, place) for place in set_bits]
        found[question.id] = tuple(map(list, zip(*places, strict=True)))
    return found


def categories():
    """As polars has them: a dictionary whose places are unsigned."""
    return polars.DataFrame(SAID).with_columns(polars.col("a", "b", "c").cast(polars.Categorical))


def enums():
    listed = {"a": ["yes", "no"], "b": ["x", "y", "z", "of nobody"]}
    columns = [polars.col(name).cast(polars.Enum(options)) for name, options in listed.items()]
    return polars.DataFrame(SAID).with_columns(columns)


def enums_of_duckdb():
    said = duckdb.from_arrow(pa.table(SAID))
    return said.select("* REPLACE (b::ENUM ('x', 'y', 'z') AS b)")


FRAMES = {
    "pandas": frame,
    "pandas with its own types": lambda: frame().convert_dtypes(),
    "pandas with categories": lambda: frame().astype({"b": "category"}),
    "polars": lambda: polars.DataFrame(SAID),
    "polars with categories": categories,
    "polars with enums": enums,
    "duckdb with enums": enums_of_duckdb,
    "polars, lazy": lambda: polars.LazyFrame(SAID),
    "duckdb": lambda: duckdb.from_arrow(pa.table(SAID)),
    "an Arrow table": lambda: pa.table(SAID),
    "a batch": lambda: pa.RecordBatch.from_pydict(SAID),
    "a stream": lambda: pa.table(SAID).to_reader(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_gives_the_answers(name):
    assert encoded(FRAMES[name]()) == by_hand()


def of_sav(path):
    labels = {"b": {1: "x", 2: "y", 3: "z", 9: "refused"}}
    codes = frame().assign(b=frame()["b"].map({"x": 1, "y": 2, "z": 3}).fillna(9))
    pyreadstat.write_sav(codes, path, variable_value_labels=labels, missing_ranges={"b": [9]})


def of_dta(path):
    labels = {"b": {1: "x", 2: "y", 3: "z"}}
    codes = frame().assign(b=frame()["b"].map({"x": 1, "y": 2, "z": 3}))
    pyreadstat.write_dta(codes.fillna({"a": ""}), path, variable_value_labels=labels)


FILES = {
    "a.csv": lambda path: frame().to_csv(path, index=False),
    "semicolons.csv": lambda path: frame().to_csv(
        path, index=False, sep=";", quoting=csv.QUOTE_NONNUMERIC
    ),
    "a.tsv": lambda path: frame().to_csv(path, index=False, sep="\t"),
    "bars.txt": lambda path: frame().to_csv(path, index=False, sep="|"),
    "sep.csv": lambda path: path.write_text("sep=;\n" + frame().to_csv(index=False, sep=";")),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(frame().to_csv(index=False).encode())),
    "bom.csv": lambda path: frame().to_csv(path, index=False, encoding="utf-8-sig"),
    "no-ending": lambda path: frame().to_csv(path, index=False),
    "a.jsonl": lambda path: frame().to_json(path, orient="records", lines=True),
    "a.json": lambda path: frame().to_json(path, orient="records"),
    "lines": lambda path: frame().to_json(path, orient="records", lines=True),
    "a.parquet": lambda path: pa.parquet.write_table(pa.table(SAID), path),
    "data": lambda path: pa.parquet.write_table(pa.table(SAID), path),
    "a.feather": lambda path: pa.feather.write_feather(pa.table(SAID), path),
    "polars.arrow": lambda path: categories().write_ipc(path),
    "polars.parquet": lambda path: categories().write_parquet(path),
    "a.sav": of_sav,
    "a.zsav": lambda path: pyreadstat.write_sav(frame(), path, compress=True),
    "a.dta": of_dta,
    "old.dta": lambda path: frame().fillna({"a": "", "b": ""}).to_stata(path, version=114),
    "a.xlsx": lambda path: frame().to_excel(path, index=False),
}


# Read by a process of its own each, which takes half a second.
BINARY = ["a.parquet", "data", "a.feather", "polars.arrow", "polars.parquet"]
BINARY += ["a.sav", "a.zsav", "a.dta", "old.dta", "a.xlsx"]
AT_ONCE = [name for name in FILES if name not in BINARY]
VARIANTS = ["data", "polars.arrow", "polars.parquet", "a.zsav", "old.dta"]


@pytest.mark.parametrize(
    "name",
    [*AT_ONCE, "a.parquet", "a.feather", "a.sav", "a.dta", "a.xlsx", *slowly(*VARIANTS)],
)
def test_a_file_gives_the_answers(name, tmp_path):
    """In batches, as answers that do not fit in memory are read."""
    FILES[name](tmp_path / name)
    tables = [table for table, _ in load_batches(tmp_path / name, SURVEY, 7).tables]
    assert [table.num_rows for table in tables] == [7] * 8 + [4]
    assert encoded(pa.concat_tables(tables)) == by_hand()


def all_but(*names):
    return [name for name in BINARY if name not in names]


@pytest.mark.parametrize(
    "name", [*AT_ONCE, "a.feather", *slowly(*(name for name in BINARY if name != "a.feather"))]
)
def test_bytes_give_the_answers(name, tmp_path):
    FILES[name](tmp_path / name)
    assert encoded(tmp_path / name) == by_hand()
    with (tmp_path / name).open("rb") as file:
        assert encoded(io.BytesIO(file.read())) == by_hand()


def test_an_arrow_stream_in_a_file_is_read(tmp_path):
    with pa.ipc.new_stream(tmp_path / "a.arrows", pa.table(SAID).schema) as stream:
        stream.write_table(pa.table(SAID))
    assert encoded(tmp_path / "a.arrows") == by_hand()


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "cp1252"])
def test_another_encoding_is_read_by_its_name(tmp_path, encoding):
    survey = incrowd.Survey.of(
        GOOD | {"question": [{"id": "a", "type": "choice", "options": ["é", "ß"]}], "table": []}
    )
    (tmp_path / "a.csv").write_text("a;ü\né;1\nß;2\n", encoding=encoding)
    assert encoded(tmp_path / "a.csv", survey, encoding=encoding) == {"a": ([0, 1], [0, 1])}


@pytest.mark.parametrize(
    "name",
    [*AT_ONCE, "a.xlsx", *slowly(*(name for name in BINARY if name not in ("a.xlsx", "a.zsav")))],
)
def test_ids_keep_their_digits_in_every_format(tmp_path, name):
    FILES[name](tmp_path / name)
    read = incrowd.load_answers(tmp_path / name, SURVEY, id="id")
    assert texts(read, "id").to_pylist() == SAID["id"]


@pytest.mark.parametrize(("separator", "inside"), [*permutations(SEPARATORS, 2)])
def test_the_separator_is_that_which_finds_the_questions(tmp_path, separator, inside):
    """A header with more of another separator, all of them inside of a name."""
    header, cells = ["a", "b", "c", "d", inside.join("xyzvwut")], ["yes", "x", "u", "1", "0"]
    (tmp_path / "a.csv").write_text("\n".join(map(separator.join, [header, cells])) + "\n")
    assert incrowd.load_answers(tmp_path / "a.csv", SURVEY).num_rows == 1


GAPS = "a,b\n1.0,x\n0.0,y\n,z\n"


def test_what_pandas_writes_for_yes_and_no_with_gaps_is_read(tmp_path):
    survey = incrowd.Survey.of(GOOD | {"question": [SURVEY.question("a")], "table": []})
    (tmp_path / "a.csv").write_text(GAPS)
    again = pandas.DataFrame({"a": [1, 0, None]})
    again.to_csv(tmp_path / "b.csv", index=False)
    wanted = {"a": ([0, 1, 2], [1, 0, 2])}
    for answers in (tmp_path / "a.csv", tmp_path / "b.csv", again, again.astype("Int64")):
        assert encoded(answers, survey) == wanted
    mixed = pandas.DataFrame({"a": [True, "no", None]})
    assert encoded(mixed, survey) == wanted


def test_a_point_is_no_digit_of_options_that_are_fractions():
    """1.0 is the option 1 where all are whole numbers, and another version where they are not."""
    options = {"id": "a", "type": "choice", "options": ["1", "2"]}
    survey = incrowd.Survey.of(GOOD | {"question": [options], "table": []})
    assert encoded(pa.table({"a": ["1.0", "2"]}), survey) == {"a": ([0, 1], [0, 1])}
    versions = options | {"options": ["1", "1.1"]}
    survey = incrowd.Survey.of(GOOD | {"question": [versions], "table": []})
    with pytest.raises(incrowd.AnswersError, match=r"row 1, a: got '1.0'"):
        encoded(pa.table({"a": ["1.0", "1.1"]}), survey)


BESIDE_WORDS = {  # options, values, and the answers to 1.0, 3.0 and 2
    "a word": (["1", "2", "3", "none"], {}, [0, 2, 1]),
    "merged numbers": (["1", "2 or 3"], {"2": "2 or 3", "3": "2 or 3"}, [0, 1, 1]),
    "a merged number and another": (["1 or 2", "3"], {"1": "1 or 2", "2": "1 or 2"}, [0, 1, 0]),
}


@pytest.mark.parametrize("name", BESIDE_WORDS)
def test_a_point_is_no_digit_of_whole_numbers_beside_words(name):
    options, values, wanted = BESIDE_WORDS[name]
    asked = {"id": "a", "type": "choice", "options": options, "values": values}
    survey = incrowd.Survey.of(GOOD | {"question": [asked], "table": []})
    assert encoded(pa.table({"a": ["1.0", "3.0", "2"]}), survey)["a"][1] == wanted


def test_every_route_is_randomized_alike(tmp_path):
    plan = incrowd.plan(SURVEY)
    frame().to_csv(tmp_path / "a.csv", index=False)
    wanted = incrowd.randomize(plan, tmp_path / "a.csv", simulation_seed=1)
    for made in FRAMES.values():
        found = incrowd.randomize(plan, made(), simulation_seed=1)
        assert [bytes(each.packed) for each in found] == [bytes(each.packed) for each in wanted]
        assert [share.tolist() for share in incrowd.truth(plan, made())] == [
            share.tolist() for share in incrowd.truth(plan, tmp_path / "a.csv")
        ]
    assert incrowd.simulate(SURVEY.model_copy(update={"crowd": 50}), frame(), trials=2).trials == 2


def test_a_file_that_is_open_as_text_is_read(tmp_path):
    frame().to_csv(tmp_path / "a.csv", index=False)
    with (tmp_path / "a.csv").open() as file:
        assert encoded(file) == by_hand()
    options = [{"id": "a", "type": "choice", "options": ["é", "ß"]}]
    survey = incrowd.Survey.of(GOOD | {"question": options, "table": []})
    text = io.StringIO("a\né\nß\n")
    assert encoded(text, survey, encoding="latin-1") == {"a": ([0, 1], [0, 1])}


def test_nan_of_polars_is_no_answer_if_the_survey_says_so():
    question = {"id": "d", "type": "number", "edges": [0, 5], "optional": True}
    given = polars.DataFrame({"d": [7.5, float("nan"), None]})
    survey = incrowd.Survey.of(GOOD | {"question": [question], "table": []})
    with pytest.raises(incrowd.AnswersError, match=r'null, or add missing = \["nan"\]'):
        encoded(given, survey)
    told = incrowd.Survey.of(GOOD | {"question": [question | {"missing": ["nan"]}], "table": []})
    assert encoded(given, told) == {"d": ([0, 1, 2], [1, 2, 2])}


def of_commas(text, tmp_path, **question):
    """What is read of a column with semicolons beside it."""
    asked = {"id": "d", "type": "number", "edges": [0, 3.5, 4], "optional": True} | question
    survey = incrowd.Survey.of(GOOD | {"question": [asked], "table": []})
    (tmp_path / "a.csv").write_text("d;e\n" + "".join(f"{cell};x\n" for cell in text.split()))
    return encoded(tmp_path / "a.csv", survey)


def test_decimals_after_a_comma_are_read_beside_semicolons(tmp_path):
    wanted = {"d": ([0, 1, 2, 3, 4], [1, 2, 0, 1, 2])}
    assert of_commas("3,75 4 0,5 3,500 4,25", tmp_path) == wanted
    assert of_commas("3,75 4 0,5 k.A. 4,25", tmp_path, missing=["k.A."])["d"][1] == [1, 2, 0, 3, 2]


def test_codes_that_became_fractions_are_read_beside_semicolons(tmp_path):
    """What pandas and R write for 3 in a column with gaps; an option of its own stays one."""
    asked = {"id": "d", "type": "choice", "options": ["1", "2", "3"], "optional": True}
    survey = incrowd.Survey.of(GOOD | {"question": [asked], "table": []})
    (tmp_path / "a.csv").write_text("d;e\n3,0;x\n1,0;x\n;x\n2,0;x\n")
    assert encoded(tmp_path / "a.csv", survey) == {"d": ([0, 1, 2, 3], [2, 0, 3, 1])}
    asked = asked | {"options": ["1,5", "2,5"]}
    survey = incrowd.Survey.of(GOOD | {"question": [asked], "table": []})
    (tmp_path / "a.csv").write_text("d;e\n2,5;x\n1,5;x\n")
    assert encoded(tmp_path / "a.csv", survey) == {"d": ([0, 1], [1, 0])}


def test_codes_with_a_comma_stay_what_they_are(tmp_path):
    """As beside commas, where such cells stand in quotation marks."""
    codes = {"values": {"1,5": 0.5}, "missing": ["9,9"]}
    assert of_commas("1,5 9,9 4", tmp_path, **codes)["d"] == ([0, 1, 2], [0, 3, 2])


def test_a_column_is_decided_once(tmp_path, monkeypatch):
    """Thousands of rows further down nothing else tells that 3,500 are no thousands."""
    monkeypatch.setattr("incrowd.encoding.formats.csv.ROW_BYTES", 64)
    found = of_commas("3,75 " * 40 + "3,500 " * 40, tmp_path)
    assert found["d"][1] == [1] * 80


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("3,500 1,250", "can mean 3500 or 3.500"),
        ("3,5 1.234", "with a point before the decimals"),
        ("1.234,5 3,5", "with a point before the decimals"),
        ("1,234,567 3,5", "without commas between thousands"),
    ],
)
def test_what_may_be_thousands_is_not_guessed(text, hint, tmp_path):
    with pytest.raises(incrowd.AnswersError, match=hint):
        of_commas(text, tmp_path)


@pytest.mark.parametrize(
    ("numbers", "hint"),
    [
        (("1,5", "2,25"), "with a point before the decimals"),
        (("12,34", "1,234"), "with a point before the decimals"),
        (("12,345", "1,234,567"), "without commas between thousands"),
        (("1,234.5", "12,345"), "without commas between thousands"),
        (("12,345", "3,456"), "without commas: '12,345' can mean 12345 or 12.345"),
    ],
)
def test_advice_on_commas_is_never_wrong_by_a_factor_of_a_thousand(tmp_path, numbers, hint):
    """What the commas separate follows from all numbers, or both readings are named."""
    survey = incrowd.Survey.of(
        {
            "name": "a",
            "crowd": 100,
            "privacy": {"epsilon": 1.0},
            "question": [{"id": "n", "type": "number", "edges": [0, 10, 100]}],
        }
    )
    (tmp_path / "a.csv").write_text("n\n" + "".join(f'"{number}"\n' for number in numbers))
    findings = incrowd.check(survey, tmp_path / "a.csv").findings
    assert any(hint in str(finding) for finding in findings), [*map(str, findings)]


def test_a_draft_of_decimals_after_a_comma_takes_them(tmp_path):
    lines = [f"{row % 60},{row % 7};{'yes' if row % 3 else 'no'}" for row in range(200)]
    (tmp_path / "a.csv").write_text("\n".join(["d;a", *lines]))
    draft = incrowd.draft(tmp_path / "a.csv")
    survey = incrowd.Survey.of(tomllib.loads(draft.toml))
    assert [question.type for question in survey.questions] == ["number", "yesno"]
    assert len(encoded(tmp_path / "a.csv", survey)["d"][0]) == 200


def workbook(path):
    """The answers on the second of two sheets."""
    with pandas.ExcelWriter(path) as book:
        pandas.DataFrame({"what": ["hello"]}).to_excel(book, sheet_name="read me", index=False)
        frame().to_excel(book, sheet_name="Wave 2", index=False)
    return path


@pytest.mark.slow
def test_a_sheet_of_a_workbook_is_read_by_its_name(tmp_path):
    path = workbook(tmp_path / "a.xlsx")
    assert encoded(path, sheet="Wave 2") == by_hand()
    assert {each.id for each in incrowd.draft(path, sheet="Wave 2").questions} >= {
        "a",
        "b",
        "c",
        "d",
    }
    with pytest.raises(incrowd.AnswersError, match="use sheet='Wave 2'"):
        encoded(path)
