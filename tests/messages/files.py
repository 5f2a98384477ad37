"""What is said of files and frames of answers, of codes, and of drafts: forty mistakes and more.

Each stands with a part of its message, which tests/encoding/test_mistakes.py looks for.
"""

import gzip
import io
import json
import os
import sys
import zipfile
from unittest import mock

import openpyxl
import pandas
import pyarrow as pa
import pyarrow.parquet
import pyreadstat

import incrowd
from incrowd.encoding.answers import load_data
from incrowd.encoding.formats import excel
from incrowd.encoding.formats import parquet as parquet_files
from incrowd.encoding.formats.reader import Request
from incrowd.encoding.formats.registry import FORMATS
from incrowd.encoding.sources import source_of
from tests.messages.shared import YESNO, command, file, survey, survey_file
from tests.oracles import hostile_reader

CHOICE = {"id": "c", "type": "choice", "options": ["good", "bad"]}
NUMBER = {"id": "d", "type": "number", "edges": [0, 1]}
CODED = YESNO | {"values": {"1": "yes", "2": "no"}, "missing": ["-99"]}
SAV = b"$FL2@(#) SPSS DATA FILE" + b"\x00" * 200


def load(name, content, *questions, **options):
    """A file of that name and content, read for a survey."""
    return lambda folder: incrowd.load_answers(
        file(folder, name, content), survey(*questions), **options
    )


def of(frame, *questions):
    """A frame that is randomized for a survey."""
    return lambda _: incrowd.randomize(incrowd.plan(survey(*questions)), frame, simulation_seed=1)


def asked(**changed):
    return lambda _: survey(YESNO | changed)


def choice(**changed):
    return lambda _: survey(CHOICE | changed)


def zipped(name):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(name, "application/vnd.oasis.opendocument.spreadsheet")
    return made.getvalue()


def parquet():
    made = io.BytesIO()
    pa.parquet.write_table(pa.table({"a": ["yes"]}), made)
    return made.getvalue()


def labeled(folder):
    """A file whose labels the question does not know."""
    path, frame = folder / "a.sav", pandas.DataFrame({"a": [1.0, 2.0]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"a": {1: "Ja", 2: "Nein"}})
    incrowd.randomize(incrowd.plan(survey()), path, simulation_seed=1)


def book(folder):
    """A workbook of two sheets."""
    made = openpyxl.Workbook()
    made.create_sheet("Wave 2")
    made.save(folder / "a.xlsx")
    return folder / "a.xlsx"


def sheets(*tables):
    """A workbook with these rows, sheet by sheet."""

    def made(folder):
        written = openpyxl.Workbook()
        written.remove(written.active)
        for rows in tables:
            sheet = written.create_sheet(f"Part {len(written.worksheets) + 1}")
            for row in rows:
                sheet.append(row)
        written.save(folder / "a.xlsx")
        return folder / "a.xlsx"

    return made


def rezipped(changed):
    """A workbook whose parts are changed by a function of names and contents."""

    def made(folder):
        path = sheets([["a"], ["yes"]])(folder)
        with zipfile.ZipFile(path) as old:
            parts = {name: old.read(name) for name in old.namelist()}
        with zipfile.ZipFile(path, "w") as new:
            for name, part in changed(parts).items():
                new.writestr(name, part)
        return path

    return made


def strict(parts):
    workbook = parts["xl/workbook.xml"].replace(
        b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
        b"http://purl.oclc.org/ooxml/spreadsheetml/main",
    )
    return parts | {"xl/workbook.xml": workbook}


TABLE = [["a", "b", "c"], *[["yes", "x", 1], ["no", "y", 2]] * 3]


def read_here(module, made, **options):
    """A file that this process reads, not one of its own."""

    def call(folder):
        source = source_of(made(folder), **options)
        list(module.READER.content(source, Request(("a",))).pieces)

    return call


def one_long_row(folder):
    path = folder / "a.parquet"
    pa.parquet.write_table(pa.table({"a": ["y" * 5_000_000]}), path)
    return path


def replaced(folder):
    """A file that is changed after its beginning was read."""
    source = source_of(file(folder, "a.csv", "a\nyes\n"))
    file(folder, "a.csv", "a\nyes\nno\n")
    incrowd.load_answers(source, survey())


def endless(_):
    with mock.patch.dict(os.environ, INCROWD_READ_MIB="256"):
        incrowd.load_answers("/dev/zero", survey())


def hostile(act, **limits):
    """A file whose reader acts so."""

    def call(folder):
        path = file(folder, "a.hostile", hostile_reader.MAGIC + act.encode())
        known = mock.patch.dict(FORMATS, {"hostile": hostile_reader.HOSTILE})
        with known, mock.patch.dict(os.environ, limits):
            load_data(source_of(path))

    return call


def without(module, name, content):
    def call(folder):
        file(folder, f"{module}.py", f"raise ModuleNotFoundError(name={module!r})")
        with mock.patch.object(sys, "path", [str(folder), *sys.path]):
            incrowd.load_answers(file(folder, name, content), survey())

    return call


def options_file(content, **more):
    def call(folder):
        if content is not None:
            file(folder, "options.txt", content)
        question = {"options_file": "options.txt"} | more
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in question.items())
        text = 'name = "A"\ncrowd = 100\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
        path = file(folder, "s.toml", f'{text}[[question]]\nid = "c"\ntype = "choice"\n{lines}\n')
        return incrowd.Survey.load(path)

    return call


def options_and_more(folder):
    """A survey with two lists that are not there, and other mistakes beside them."""
    keys = ('id = "{}"', 'type = "choice"', 'options_file = "{}.txt"', 'values = {{ 1 = "x" }}')
    asked = "\n".join(["[[question]]", *keys, ""])
    head = 'name = "A"\ncrowd = 1\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
    table = '[[table]]\nquestions = ["c", "nobody"]\n'
    text = head + asked.format("c", "c") + asked.format("d", "d") + table
    return incrowd.Survey.load(file(folder, "s.toml", text))


def too_many_options(folder):
    with mock.patch("incrowd.survey.options_files.MOST_BYTES", 10):
        options_file("aaaa\nbbbb\ncccc\ndddd\n")(folder)


XML_OF_LIMESURVEY = "<?xml version='1.0'?><document><LimeSurveyDocType>Survey</LimeSurveyDocType>"


def long_form(folder):
    with mock.patch("incrowd.drafts.form.MOST_MIB", 0):
        incrowd.draft(file(folder, "a.csv", "type,name,label\nint,age,Age?\n"))


def twice(folder):
    path = file(folder, "data.csv", "a\nyes\nno\n")
    command("init", path, "-o", survey_file(folder))


# The name of a mistake -> what makes it, and a part of what is said.
MISTAKES = {
    "SPSS called CSV": (load("a.csv", SAV), "ends in .csv, but contains SPSS data; rename it"),
    "Parquet called CSV": (load("a.csv", parquet()), "ends in .csv, but contains Parquet data"),
    "Parquet without an ending is no SPSS": (
        load("answers", parquet(), format="sav"),
        "is declared as SPSS, but contains Parquet data; leave out the format",
    ),
    "text called Parquet": (load("a.parquet", "a\nyes\n"), "ends in .parquet, but contains text"),
    "bytes called SPSS": (load("a.sav", b"\x01\x02\x00\x09"), "contains binary data"),
    "JSON called CSV": (load("a.csv", '{"a": "yes"}\n'), "ends in .csv, but contains JSON"),
    "CSV called JSON": (load("a.jsonl", "a\nyes\n"), "ends in .jsonl, but contains other text"),
    "no text and of no kind": (load("a.dat", b"\x01\x02\x00\x09"), "is not recognized; name a CSV"),
    "an old workbook": (load("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1"), "an old Excel file; save it"),
    "an OpenDocument table": (load("a.ods", zipped("mimetype")), "an OpenDocument table; save it"),
    "a zip archive": (load("a.zip", zipped("a.csv")[:40]), "it is a zip archive; unpack it"),
    "a page of the web": (load("a.csv", "<!DOCTYPE html><p>"), "it is a web page; save its table"),
    "a PDF": (load("a.pdf", "%PDF-1.7"), "it is a PDF file; name a CSV"),
    "a SAS file": (
        load("a.xpt", "HEADER RECORD*******LIBRARY"),
        "it is a SAS file; save its table",
    ),
    "a portable SPSS file": (load("a.por", "ASCII SPSS PORT FILE"), "portable SPSS file; save it"),
    "a pickle": (load("a.pkl", b"\x80\x04\x95\x00"), "a Python pickle, which can run programs"),
    "an empty file": (load("a.csv", ""), "it is empty; name a CSV"),
    "a compressed SPSS file": (
        load("a.sav.gz", gzip.compress(SAV)),
        "only text files may be compressed",
    ),
    "half an SPSS file": (
        load("a.sav", SAV),
        "the SPSS file is damaged or incomplete; save it again",
    ),
    "half a workbook": (
        load("a.xlsx", zipped("[Content_Types].xml")),
        "the Excel file is damaged or incomplete; save it again",
    ),
    "a sheet with another spelling": (
        lambda folder: incrowd.load_answers(book(folder), survey(), sheet="wave 2"),
        "a.xlsx has no such sheet; did you mean Wave 2? use one of Sheet, Wave 2",
    ),
    "the same, read in this process": (
        read_here(excel, book, sheet="wave 2"),
        "a.xlsx has no such sheet; did you mean Wave 2? use one of Sheet, Wave 2",
    ),
    "a sheet without a table": (
        read_here(excel, sheets([["Please read"]], TABLE)),
        "the sheet 'Part 1' has no table; use sheet='Part 2'; the sheets are Part 1, Part 2",
    ),
    "a sheet without names": (
        read_here(excel, sheets(TABLE[1:])),
        "looks like answers, not like names of columns: 'yes, x, 1'; add a row of names",
    ),
    "a cell below a table": (
        read_here(excel, sheets([*TABLE, [None], [None, "see page 2"]])),
        "row 9 has a single cell, 'see page 2', apart from the table; drop it if it is not",
    ),
    "another table below a table": (
        read_here(excel, sheets([*TABLE, [None], ["n", "x", "people"], ["yes", "x", "all"]])),
        "rows 9 to 10 below the table seem to be another table, not people: 'n, x, people'; drop",
    ),
    "a strict workbook": (
        read_here(excel, rezipped(strict)),
        "it is a strict Open XML workbook; save it as an ordinary Excel workbook",
    ),
    "a binary workbook": (
        read_here(excel, rezipped(lambda parts: parts | {"xl/workbook.bin": b""})),
        "it is a binary Excel workbook; save it as .xlsx or CSV",
    ),
    "answers without names": (
        load("a.csv", "yes,31\nno,45\nyes,22\n"),
        "looks like answers, not like names of columns: 'yes, 31'; add a row of names",
    ),
    "a column without a name": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "same,\n1,2\n1,3\n")),
        "column 2: it has no name; write one above it",
    ),
    "a file whose reader crashes": (hostile("crash"), "ended unexpectedly (SIGSEGV), so it is dam"),
    "a file whose reader crashes later": (
        hostile("crash later"),
        "the process that reads it ended",
    ),
    "a file whose cells are invalid": (hostile("invalid"), "it cannot be read: In column 0"),
    "a table with a very long row": (
        read_here(parquet_files, one_long_row),
        "it has rows of 5 MB; should be a file with a row for each person",
    ),
    "a file that is changed while it is read": (replaced, "it was changed while it was read; run"),
    "a device without an end": (
        endless,
        "it is not a file on a disk, so at most 256 MiB of it are read; save it as a file, or set",
    ),
    "a file whose reader raises": (hostile("fail"), "the Hostile file is damaged or incomplete"),
    "a file that takes too much memory": (
        hostile("take_memory", INCROWD_READ_MIB="256"),
        "reading it takes more than 256 MiB of memory; save it as CSV, or set the variable INCROWD",
    ),
    "a table that takes too much memory": (
        hostile("many", INCROWD_READ_MIB="256"),
        "reading it takes more than 256 MiB of memory; save it as CSV, or set the variable INCROWD",
    ),
    "a file that takes too much time": (
        hostile("loop", INCROWD_READ_SECONDS="1"),
        "reading it takes more than 1 second; save it as CSV, or set the variable INCROWD_READ_SE",
    ),
    "a limit that is not a number": (
        hostile("", INCROWD_READ_MIB="2 GB"),
        "INCROWD_READ_MIB: got '2 GB'; should be a whole number of at least 256",
    ),
    "a sheet of a CSV file": (
        load("a.csv", "a\nyes\n", sheet="Wave 2"),
        "a.csv has no sheets; leave it out",
    ),
    "half an Arrow file": (load("a.feather", b"ARROW1\x00\x00"), "it cannot be read: "),
    "Windows-1252": (
        load("a.csv", "a\nI don’t\n".encode("cp1252")),
        "use encoding='cp1252' if this is right: 'I don’t'",
    ),
    "an encoding that does not fit": (
        load("a.csv", "a\nÁ\n".encode("cp1252") + b"\x81\n", encoding="cp1252"),
        "it is not in the encoding cp1252; name another",
    ),
    "no encoding": (load("a.csv", "a\nyes\n", encoding="klingon"), "such as latin-1, cp1252"),
    "no format": (load("a.csv", "a\nyes\n", format="docx"), "format: got 'docx'; use one of csv"),
    "a line that is no JSON": (
        load("a.jsonl", '{"a": "yes"}\n{"a": \n'),
        "line 2 is not JSON; should be an object with a key for each question",
    ),
    "a line that is no object": (
        load("a.jsonl", '{"a": 1}\n[3]\n'),
        "line 2 is not an object; should",
    ),
    "a list that is no list": (load("a.json", '[{"a": 1}'), "the list is not JSON; should be"),
    "an entry that is no object": (
        load("a.json", '[{"a": 1}, 2]'),
        "entry 2 is not an object; should",
    ),
    "SPSS without the extra": (without("pyreadstat", "a.sav", SAV), 'install "incrowd[stats]"'),
    "a dictionary": (of({"a": ["yes"]}), "got a value of type dict; name a file"),
    "a number as answers": (of(3), "got a value of type int; name a file"),
    "a frame with two columns of a name": (
        of(pandas.DataFrame([["yes", "no"]], columns=["a", "a"])),
        "2 columns 'a'; there should be exactly one; rename the others",
    ),
    "a column with another spelling": (
        load("a.csv", "Smoker,b\nyes,1\n", {"id": "smoker", "type": "yesno"}),
        "no column 'smoker'; if its answers are in 'Smoker', rename that column, or add column = "
        "'Smoker' to the question in the survey; there should be exactly one",
    ),
    "a column with the text of the question": (
        load(
            "a.csv",
            "Tobacco?,b\nyes,1\n",
            {"id": "q", "text": "Tobacco?", "type": "yesno"},
        ),
        "no column 'q'; if its answers are in 'Tobacco?', rename that column",
    ),
    "an option with another spelling": (
        of(pa.table({"c": ["Good"]}), CHOICE),
        "got 'Good'; did you mean good? use one of good, bad",
    ),
    "a code that nobody named": (
        of(pa.table({"a": [1, 2, 3]}), CODED),
        "row 3, a: got 3; use one of 1 (yes), 2 (no)",
    ),
    "an answer that a code hides": (
        of(pa.table({"a": ["0"]}), CODED),
        "row 1, a: got '0'; use one of 1 (yes), 2 (no)",
    ),
    "a code for no answer, which is not allowed": (
        of(pa.table({"a": ["1", "-99"]}), CODED),
        "row 2, a: got '-99'; drop the row, or set optional = true",
    ),
    "what looks like no answer": (
        of(pa.table({"a": ["yes", "NA"]})),
        'if it stands for no answer, add missing = ["NA"] to the question; use yes or no',
    ),
    "a decimal comma": (
        of(pa.table({"d": ["3,5"]}), NUMBER),
        "got '3,5'; use a number from 0 up, with a point before the decimals",
    ),
    "thousands or decimals": (
        of(pa.table({"d": ["3,500"]}), NUMBER),
        "without commas: '3,500' can mean 3500 or 3.500",
    ),
    "commas between thousands": (
        of(pa.table({"d": ["3,500", "1,234,567"]}), NUMBER),
        "got '3,500'; use a number from 0 up, without commas between thousands",
    ),
    "labels that the question does not know": (labeled, "got 'Ja'; use yes or no"),
    "codes that are no table": (asked(values=["yes"]), "question[1].values of a: got a list of 'y"),
    "missing codes that are no list": (asked(missing="NA"), 'be a list of codes, such as ["NA"'),
    "a code for another answer": (asked(values={"1": "maybe"}), "1 stands for 'maybe'; a code sho"),
    "a code for no number": (
        lambda _: survey(NUMBER | {"values": {"many": "lots"}}),
        "many stands for 'lots'; a code should stand for a number",
    ),
    "a code that is missing too": (
        asked(values={"1": "yes"}, missing=["1"]),
        "missing of a: got '1'; it is also an answer; keep one of them",
    ),
    "an option that is missing too": (
        choice(missing=["bad"]),
        "missing of c: got 'bad'; it is also an answer",
    ),
    "a column that is another question": (
        lambda _: survey(YESNO | {"column": "c"}, CHOICE),
        "column of a: got 'c'; this is the id of another question",
    ),
    "a separator of one answer": (
        choice(separator="|"),
        "separator of c: got '|'; only a `multi` question has several answers",
    ),
    "a separator in an option": (
        choice(type="multi", at_most=2, options=["a|b", "a", "b"], separator="|"),
        "separator of c: got '|'; 'a|b' contains it and could be a list of other answers",
    ),
    "columns of one answer": (
        choice(columns={"a": "good"}),
        "columns of c: got a list of 'a'; only a `multi` question has a column for each option",
    ),
    "columns beside a column": (
        choice(type="multi", at_most=2, options=["x", "y"], column="a", columns={"b": "x"}),
        "columns of c: got a list of 'b' in addition to `column` or `separator`; keep only one",
    ),
    "a column of no option": (
        choice(type="multi", at_most=2, options=["x", "y"], columns={"b": "z"}),
        "columns of c: column 'b' stands for 'z'; a column should stand for one of",
    ),
    "a sign of no number": (
        choice(type="multi", at_most=2, options=["x", "y"], thousands=","),
        "thousands of c: got ','; a `multi` question has no numbers; leave it out",
    ),
    "a letter between digits": (
        choice(decimal="x"),
        "decimal of c: got 'x'; should be a sign between digits, such as a comma",
    ),
    "one sign for two things": (
        choice(thousands="."),
        "thousands of c: got '.'; the same sign separates thousands and decimals",
    ),
    "codes of no question": (
        lambda _: survey(codes=[{"question": "b", "missing": ["NA"]}]),
        "codes.question: got 'b'; no question has this id",
    ),
    "no file of options": (options_file(None), "No such file or directory; name a file with one"),
    "a file of one option": (
        options_file("one\n"),
        "lists one option; options.txt should have one",
    ),
    "a file of no options": (options_file("\n"), "lists nothing; options.txt should have one opt"),
    "options in another encoding": (options_file(b"\xff\n"), "it is not UTF-8; save it as UTF-8"),
    "options twice": (
        options_file("a\nb\n", options=["a", "b"]),
        "is given together with options; both",
    ),
    "a file of options that is a number": (
        options_file("a\nb\n", options_file=3),
        "should be the name of a file in quotation marks",
    ),
    "files of options that are not there, and more": (
        options_and_more,
        "d.txt'; it cannot be read: No such file or directory; name a file with one option per "
        "line\ncrowd: got 1; should be at least 2\n"
        "table[1].questions: got 'nobody'; no question has this id; use c, d",
    ),
    "a very long file of options": (too_many_options, "it is longer than 0 MiB; write a shorter"),
    "a draft of nothing": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "a\nyes\n")),
        "one row; at least two rows with answers are needed",
    ),
    "a draft of a header alone": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "a,b\n")),
        "no rows; at least two rows with answers are needed",
    ),
    "a draft of a dictionary without fields": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "field_name,field_type\n")),
        "it is a REDCap data dictionary without a question that people answer; name another file",
    ),
    "a draft of an XLSForm of texts": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "type,name,label\ntext,why,Why?\n")),
        "it is an XLSForm without a question that people answer and that can be counted; name "
        "another file: why: answers of type text cannot be counted",
    ),
    "a draft of the choices of an XLSForm": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "list_name,name,label\nyn,1,Yes\n")),
        "a.csv'; it contains only the choices of an XLSForm; name the file with its questions",
    ),
    "a draft of a damaged structure of LimeSurvey": (
        lambda folder: incrowd.draft(file(folder, "a.lss", f"{XML_OF_LIMESURVEY}<a>")),
        "a.lss'; it begins like a LimeSurvey structure, but is damaged; save it again",
    ),
    "a draft of a structure of LimeSurvey with a document type": (
        lambda folder: incrowd.draft(
            file(folder, "a.lss", XML_OF_LIMESURVEY.replace("<doc", "<!DOCTYPE document><doc"))
        ),
        "a.lss'; it begins like a LimeSurvey structure, but is damaged; save it again",
    ),
    "a draft of a deep structure of LimeSurvey": (
        lambda folder: incrowd.draft(file(folder, "a.lss", XML_OF_LIMESURVEY + 20 * "<a>")),
        "a.lss'; it begins like a LimeSurvey structure, but is damaged; save it again",
    ),
    "a draft of a deep survey file of Qualtrics": (
        lambda folder: incrowd.draft(file(folder, "a.qsf", '{"SurveyEntry": ' + 300 * "[")),
        "a.qsf'; it begins like a Qualtrics survey file, but is damaged; save it again",
    ),
    "a draft of an empty structure of LimeSurvey": (
        lambda folder: incrowd.draft(file(folder, "a.lss", f"{XML_OF_LIMESURVEY}</document>")),
        "it is a LimeSurvey structure without a question that people answer; name another file",
    ),
    "a draft of other XML": (
        lambda folder: incrowd.draft(file(folder, "a.xml", "<?xml version='1.0'?><a/>")),
        "it is an XML file; save its table as CSV",
    ),
    "a draft of a damaged survey file of Qualtrics": (
        lambda folder: incrowd.draft(file(folder, "a.qsf", '{"SurveyEntry": [')),
        "a.qsf'; it begins like a Qualtrics survey file, but is damaged; save it again",
    ),
    "a draft of a text without questions": (
        lambda folder: incrowd.draft(file(folder, "a.md", "What do you think?")),
        "it is a text of questions without a question that people answer and that can be counted; "
        "name another file: what_do_you_think: the text lists no answers; add them, as in",
    ),
    "a very long form": (
        long_form,
        "a.csv'; it is longer than 0 MiB, which no form is; name another file",
    ),
    "a draft of empty columns": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "a,b\n1,\n1,\n1,\n")),
        "no column can become a question; name another file: a: everyone who answered gave",
    ),
    "columns that are not there": (
        of(pandas.DataFrame({"Smoker": ["yes"]}), {"id": "smoker", "type": "yesno"}, NUMBER),
        "no column 'smoker'; if its answers are in 'Smoker', rename that column, or add column = "
        "'Smoker' to the question in the survey; there should be exactly one\n"
        "answers: no column 'd'; there should be exactly one; the columns are Smoker",
    ),
    "columns of a file of which many are not there": (
        load("a.csv", "z\nyes\n", *(YESNO | {"id": f"q{n}"} for n in range(8))),
        "3 more columns are missing or duplicated; there should be exactly one of each; the",
    ),
    "a row with a cell too many": (
        load("a.csv", "sep=;\na;b\nyes;1\nno;2;3\n"),
        "a.csv, row 2: got 'no;2;3'; its number of cells is 3, but the header has 2; put quotation",
    ),
    "a row with a cell too few": (
        load("a.csv", "a,b\n" + 'yes,"1\n2"\n' * 3 + "no\n"),
        "a.csv, row 4: got 'no'; its number of cells is 1, but the header has 2; add the",
    ),
    "a draft of ids": (
        lambda folder: incrowd.draft(file(folder, "a.csv", "a\nsame\nsame\n")),
        "name another file: a: everyone who answered gave the same answer",
    ),
}
# The same, typed at the command line.
TYPED = {
    "a draft over a survey": (twice, "it exists already; name another file, or add --force"),
    "a log of another level": (
        lambda _: command("--log", "loud", "plan", "x"),
        "--log: got 'loud'; use one of debug, info, warning",
    ),
    "a format of the command that is none": (
        lambda folder: command(
            "simulate", survey_file(folder), file(folder, "a.csv", "a\n"), "--format", "x"
        ),
        "--format: got 'x'; use one of csv, jsonl",
    ),
}
CASES = {name: call for name, (call, _) in MISTAKES.items()}
COMMANDS = {name: call for name, (call, _) in TYPED.items()}
