"""`check` says before planning what `randomize` would refuse, and nothing else is refused."""

import json
import warnings
from collections import Counter

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest

import incrowd
from incrowd.errors import IncrowdWarning
from tests.conftest import one_in, run
from tests.messages.shared import YESNO, survey

QUESTIONS = (
    {"id": "smokes", "type": "yesno"},
    {"id": "mood", "type": "choice", "options": ["1", "2", "3"], "optional": True},
    {"id": "income", "type": "amount", "edges": [0, 100_000], "optional": True},
    {"id": "hours", "type": "number", "edges": [0, 20, 40], "optional": True},
    {"id": "devices", "type": "multi", "options": ["phone", "radio"], "at_most": 2},
)
ASKED = survey(*QUESTIONS)
GENERATOR = np.random.default_rng(5)


def people(rows=200, **changed):
    """Answers that fit; changed: of some columns {row: cell}."""
    pick = GENERATOR.choice
    frame = pandas.DataFrame(
        {
            "id": [f"p{n}" for n in range(rows)],
            "smokes": pick(["yes", "no"], rows),
            "mood": pick(["1", "2", "3", ""], rows),
            "income": pick(["10", "90000", "50000.5"], rows),
            "hours": pick(["5", "25", "45", ""], rows),
            "devices": pick(["phone", "radio;phone", "none"], rows),
        }
    )
    for name, cells in changed.items():
        for row, cell in cells.items():
            frame.loc[row, name] = cell
    return frame


def found(result, refused=None):
    return [str(each) for each in result.findings if refused in (None, each.refused)]


def refuses(asked, data, **options):
    """Whether `randomize` does: the oracle."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            incrowd.randomize(incrowd.plan(asked), data, simulation_seed=1, **options)
        except incrowd.AnswersError as error:
            return str(error)
    return ""


def test_answers_that_fit_are_accepted():
    result = incrowd.check(ASKED, people())
    assert result.accepted and (result.rows, result.people, result.crowd) == (200, 200, 100)
    assert {each.field for each in result.findings} == {"mood", "hours"}  # no answer
    assert refuses(ASKED, people()) == ""


def test_every_mistake_is_counted_by_its_value():
    """`randomize` lists the first five rows of each column, and stops at the first piece."""
    wrong = people(
        smokes=dict.fromkeys(range(7, 60), "2") | {3: "Maybe", 4: "Maybe", 5: ""},
        mood=dict.fromkeys(range(20, 41), "9"),
        devices={11: "tv", 12: "phone;tv"},
    )
    result = incrowd.check(ASKED, wrong)
    rows = {
        (each.field, str(each.message).partition(" in ")[0]): (each.rows, each.first)
        for each in result.findings
    }
    assert rows["smokes", "got '2'"] == (53, 8)
    assert rows["smokes", "got 'Maybe'"] == (2, 4)
    assert rows["smokes", "no answer"] == (1, 6)
    assert rows["mood", "got '9'"] == (21, 21)
    assert rows["devices", "got 'tv'"] == (1, 12)
    assert rows["devices", "got 'phone;tv'"] == (1, 13)
    empty = Counter(wrong["hours"])[""]
    assert rows["hours", "no answer"][0] == empty
    refused = {each.field for each in result.findings if each.refused}
    assert refused == {"smokes", "mood", "devices"} and not result.accepted
    (nine,) = [line for line in found(result) if "'9'" in line]
    assert nine.startswith("mood: got '9' in 21 rows, first in row 21; if it stands for no answer")
    assert 'missing = ["9"]' in nine


def test_many_different_mistakes_are_summed_up():
    wrong = people(smokes={row: f"word {row}" for row in range(10, 40)})
    lines = found(incrowd.check(ASKED, wrong), True)
    assert len(lines) == 6
    assert lines[-1].startswith(
        "smokes: 25 other values that are not answers in 25 rows, first in row 16; use yes or no"
    )


def test_columns_that_are_missing_hide_no_mistake_of_others():
    data = people(smokes={0: "perhaps"}).rename(columns={"mood": "moods"}).drop(columns="hours")
    lines = found(incrowd.check(ASKED, data), True)
    assert [line.partition(";")[0] for line in lines] == [
        "answers: no column 'mood'",
        "answers: no column 'hours'",
        "smokes: got 'perhaps' in 1 row, first in row 1",
    ]
    assert "in 'moods', rename that column" in lines[0]


def test_amounts_beyond_the_edges_and_codes_are_noted():
    data = people(income=dict.fromkeys(range(20), "9999999"), hours=dict.fromkeys(range(30), "99"))
    result = incrowd.check(ASKED, data)
    assert result.accepted
    lines = found(result, False)
    beyond = "income: 20 of 200 answers lie above the last edge, 100000, and count as 100000"
    assert f"{beyond}; use missing = [9999999] for codes that mean no answer" in lines
    assert any(
        line.startswith("hours: 99, which often means no answer, in 30 rows; if") for line in lines
    )
    assert not any("income: 9999999" in line for line in lines)
    with pytest.warns(IncrowdWarning, match=beyond):
        incrowd.randomize(incrowd.plan(ASKED), data, simulation_seed=1)


@pytest.mark.parametrize("noise", ["devices", "services"])
def test_an_unreachable_release_is_noted(noise):
    """Of services that add the noise, no crowd is required, and no reserve."""
    raw = {
        "name": "A",
        "crowd": 60,
        "privacy": {"epsilon": 1.0, "noise": noise},
        "people": {"invited": 60, "expected": 1.0},
        "question": [{"id": "smokes", "type": "yesno"}],
    }
    result = incrowd.check(incrowd.Survey.of(raw), people(60))
    assert result.accepted
    noted = [line for line in found(result) if "a release over a network needs 80 people" in line]
    assert len(noted) == (noise == "devices")


def test_too_few_people_are_noted():
    """`randomize` warns of them too, so that it is not refused."""
    result = incrowd.check(ASKED, people(60))
    assert result.accepted
    assert "crowd: 60 people, where the survey's crowd is 100; collect more reports" in "\n".join(
        found(result)
    )


def test_ids_that_are_given():
    twice = pandas.concat([people(), people().iloc[:0]])
    twice = pandas.concat([twice, twice.iloc[:50]])
    result = incrowd.check(ASKED, twice, id="id")
    assert result.accepted and (result.rows, result.people) == (250, 200)
    assert "id: 250 rows of 200 people, up to 2 of one person" in "\n".join(found(result))
    assert refuses(ASKED, twice, id="id") == ""
    differing = pandas.concat([people(), people(1, smokes={0: "x"})])
    result = incrowd.check(ASKED, differing, id="id")
    lines = "\n".join(found(result, True))
    assert "row 201: got 'p0'; it is also the id of row 1, but their answers differ" in lines
    assert "smokes: got 'x' in 1 row, first in row 201" in lines
    assert "no column 'person'" in "\n".join(found(incrowd.check(ASKED, people(), id="person")))
    empty = incrowd.check(ASKED, people(id={7: ""}), id="id")
    assert "row 8, id: no id; each row needs the id of a person" in found(empty, True)


def test_permanent_responses_need_ids():
    asked = survey(YESNO | {"memoized": True}, crowd=50)
    data = pandas.DataFrame({"a": ["yes", "no"] * 50, "id": [str(n) for n in range(100)]})
    (line,) = found(incrowd.check(asked, data), True)
    assert line.startswith("id: is missing; permanent responses need a column")
    assert incrowd.check(asked, data, id="id").accepted


TOWN = {"id": "town", "type": "choice", "options": ["A", "B", "C"], "open": True}


@pytest.mark.parametrize("people_of_b", [0, 40, 120])
def test_strata_that_are_too_small(people_of_b):
    asked = survey(YESNO, TOWN)
    towns = ["A"] * 110 + ["B"] * people_of_b
    data = pandas.DataFrame({"a": "yes", "town": towns})
    result = incrowd.check(asked, data)
    noted = [f"strata: not released: B ({people_of_b} people): fewer than 100 people are in each"]
    assert found(result) == (noted if people_of_b == 40 else [])
    assert refuses(asked, data) == "" and result.accepted
    few = incrowd.check(asked, data.iloc[20:110])
    assert found(few, True) == [refuses(asked, data.iloc[20:110])]


@pytest.mark.parametrize("seed", one_in(4, range(40)))
def test_what_is_refused_is_what_randomize_refuses(seed):
    """Random mistakes, with and without ids: both agree, and name the same questions."""
    generator = np.random.default_rng(seed)
    data = people(120)
    cells = ["", "9", "-1", "none", "x", "phone", "phone;phone", "1e9", "yes", "nan", " 1 "]
    for _ in range(generator.integers(0, 4)):
        column = generator.choice(list(data.columns))
        data.loc[generator.integers(0, 120), column] = generator.choice(cells)
    asked = survey(*QUESTIONS, crowd=int(generator.choice([50, 500])))
    options = {"id": "id"} if seed % 2 else {}
    result, refusal = incrowd.check(asked, data, **options), refuses(asked, data, **options)
    assert result.accepted == (not refusal)
    named = {each.field for each in result.findings if each.refused} & {q["id"] for q in QUESTIONS}
    if not any(each.field.startswith("row") for each in result.findings):
        assert named == {id for id in (q["id"] for q in QUESTIONS) if f", {id}: " in refusal}


def test_it_reads_what_randomize_reads(tmp_path):
    """Files in pieces, and frames; a mistake behind the first piece has its row of the file."""
    data = people(120, smokes={100: "x"})
    data.to_csv(tmp_path / "a.csv", index=False)
    data.to_csv(tmp_path / "b.csv", index=False, sep=";", encoding="utf-8-sig")
    data.to_parquet(tmp_path / "a.parquet")
    data.to_excel(tmp_path / "a.xlsx", index=False)
    data.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    given = [tmp_path / name for name in ("a.csv", "b.csv", "a.parquet", "a.xlsx", "a.jsonl")]
    lines = {tuple(found(incrowd.check(ASKED, each), True)) for each in given}
    lines |= {tuple(found(incrowd.check(ASKED, each), True)) for each in (pa.table(data), data)}
    lines.add(tuple(found(incrowd.check(ASKED, polars.from_pandas(data)), True)))
    assert len(lines) == 1, lines
    ((line,),) = lines
    assert line.startswith("smokes: got 'x' in 1 row, first in row 101;")


def test_a_mistake_in_a_later_piece(tmp_path, monkeypatch):
    monkeypatch.setattr("incrowd.sampling.check.BATCH", 50)
    people(120, smokes={10: "x", 100: "x"}).to_csv(tmp_path / "a.csv", index=False)
    (line,) = found(incrowd.check(ASKED, tmp_path / "a.csv"), True)
    assert line.startswith("smokes: got 'x' in 2 rows, first in row 11;")


def test_a_row_with_cells_too_many_is_named(tmp_path):
    path = tmp_path / "a.csv"
    people(30).to_csv(path, index=False)
    path.write_text(path.read_text() + "p9,yes,1,10,5,phone,surplus\n")
    (line,) = found(incrowd.check(ASKED, path), True)
    assert "row 31" in line and "its number of cells is 7" in line


@pytest.mark.parametrize("content", ["", "id,smokes\n", "\x89PNG\r\n", "id,sm\xf6kes\n1,yes\n"])
def test_files_without_rows(tmp_path, content):
    """What is no table of answers is wrong use; a table without rows is refused."""
    (tmp_path / "a.csv").write_bytes(content.encode("latin-1"))
    if content == "id,smokes\n":
        assert not incrowd.check(survey(QUESTIONS[0]), tmp_path / "a.csv").accepted
        return
    with pytest.raises(incrowd.AnswersError):
        incrowd.check(ASKED, tmp_path / "a.csv")


def test_the_command_has_the_exit_codes(tmp_path):
    text = 'name = "A"\ncrowd = 100\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
    (tmp_path / "s.toml").write_text(text + '[[question]]\nid = "smokes"\ntype = "yesno"\n')
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    people().to_csv(good, index=False)
    people(smokes=dict.fromkeys(range(12), "2")).to_csv(bad, index=False)
    done = run("check", tmp_path / "s.toml", good)
    assert (done.returncode, done.stdout) == (
        0,
        "`incrowd randomize` would accept these answers: 200 rows, 200 people, a crowd of 100\n",
    )
    done = run("check", tmp_path / "s.toml", bad, "--json")
    facts = json.loads(done.stdout)
    assert (done.returncode, facts["accepted"], facts["rows"]) == (1, False, 200)
    (finding,) = facts["findings"]
    assert (finding["rows"], finding["first"], finding["refused"]) == (12, 1, True)
    done = run("check", tmp_path / "s.toml", tmp_path / "none.csv")
    assert done.returncode == 2 and "it does not exist" in done.stderr


def test_nothing_of_a_file_reaches_the_terminal_raw(tmp_path):
    """A header that would clear the screen, in the list of the columns that there are."""
    text = 'name = "A"\ncrowd = 100\nprivacy = { epsilon = 2.0, analysis = "local" }\n'
    (tmp_path / "s.toml").write_text(text + '[[question]]\nid = "smokes"\ntype = "yesno"\n')
    (tmp_path / "a.csv").write_text("smoke\x1b[2J,b\u202e\nyes,no\n")
    done = run("check", tmp_path / "s.toml", tmp_path / "a.csv")
    assert done.returncode == 1 and "the columns are smoke\\u001b[2J, b\\u202e" in done.stdout
    assert not {"\x1b", "\u202e"} & {*done.stdout, *done.stderr}
    (tmp_path / "b.csv").write_text("smokes,b\x1b[2J\n" + "yes,no\nno,yes\n" * 20)
    done = run("init", tmp_path / "b.csv")
    assert "its name contains U+001B" in done.stderr
    assert not {"\x1b"} & {*done.stdout, *done.stderr}
