"""What a file says is what was written, and its figures are possible together."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy.stats import binom

import incrowd
from incrowd.cli.app import main
from incrowd.errors import IncrowdWarning, PlanError, ReportsError, UsageError
from incrowd.sampling.permanent import OLD_HEADER, DeviceKey
from incrowd.tally import consistency
from incrowd.tally.consistency import FALSE_ALARM, check_people, check_possible, sends
from incrowd.tally.files import as_text, of_text

PEOPLE = 300
OLD = pytest.mark.filterwarnings("ignore::incrowd.errors.IncrowdWarning")
PLAIN = [
    {"id": "a", "type": "yesno"},
    {"id": "b", "type": "choice", "options": ["x", "y", "z"]},
]
APART = [{"id": "home", "type": "choice", "options": list("abcdefghijkl"), "apart": True}]
TEXT = [{"id": "word", "type": "text", "block": 8, "cohorts": 4}]
OTHERS = [
    {"id": "m", "type": "multi", "options": ["x", "y", "z"], "at_most": 2, "optional": True},
    {"id": "k", "type": "choice", "options": ["x", "y", "z"]}
    | {"randomizer": {"kind": "k-ary", "epsilon": 1.0}},
    {"id": "n", "type": "number", "edges": [0, 1, 5], "optional": True},
]
ANSWERS = {
    "a": [True, False] * (PEOPLE // 2),
    "b": ["x", "y", "z"] * (PEOPLE // 3),
    "home": list("abcdefghijkl") * (PEOPLE // 12),
    "word": ["tea", "milk"] * (PEOPLE // 2),
    "m": [["x"], ["y", "z"], []] * (PEOPLE // 3),
    "k": ["x", "y", "z"] * (PEOPLE // 3),
    "n": [0.5, 2.0, None] * (PEOPLE // 3),
}


def planned(questions, tables=(), crowd=PEOPLE, **more):
    privacy = {"epsilon": 3.0, "delta": 1e-3}
    raw = {"name": "x", "crowd": crowd, "privacy": privacy, "question": questions}
    return incrowd.plan(
        incrowd.Survey.of(raw | {"table": [{"questions": t} for t in tables]} | more)
    )


def reports_of(plan):
    ids = [question.id for question in plan.survey.questions]
    return incrowd.randomize(plan, pa.table({id: ANSWERS[id] for id in ids}), simulation_seed=5)


@pytest.fixture(scope="module")
def plain():
    return planned(PLAIN, [["a", "b"]])


@pytest.fixture(scope="module")
def apart():
    return planned(APART)


# --- figures that are possible together ----------------------------------------------------------


@pytest.mark.parametrize("kind", ["singles", "pairs", "patterns"])
@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("questions", [PLAIN, OTHERS, APART, TEXT], ids=lambda q: q[0]["id"])
def test_what_was_counted_is_possible(questions, copies, kind):
    """Of every kind of question and count, the whole and each part, through a file."""
    pairs = [[q["id"] for q in questions[i : i + 2]] for i in range(len(questions) - 1)]
    plan = planned(questions, pairs, copies=copies)
    (reports,) = reports_of(plan)
    half = len(reports) // 2
    parts = (
        replace(reports, packed=reports.packed[:half]),
        replace(reports, packed=reports.packed[half:], part=1, people=reports.people and 0),
    )
    tallies = [incrowd.count(plan, part, kind=kind) for part in (reports, *parts)]
    for tally in (*tallies, tallies[1] + tallies[2]):
        check_possible(plan, tally)
        check_possible(plan, of_text(as_text(tally)))
    check_people(plan, tallies[0])


def resealed(tally, change):
    """A tally of somebody who makes a new digest for what was changed."""
    data = json.loads(as_text(tally))
    change(data, {tuple(t["questions"]): t["counts"] for t in data["messages"]["0"]["tables"]})
    data.pop("digest")
    data["format"] = "incrowd tally 1"
    return json.dumps(data)


def more(place, by, *tables):
    def change(_, counts):
        for ids in tables:
            counts[ids][place] += by

    return change


def in_message(key, value):
    return lambda data, _: data["messages"]["0"].update({key: value})


LIES = {
    "accepted": in_message("accepted", 5000),
    "rejected": in_message("rejected", -1),
    "declared": in_message("declared", 5000),
    "tables": in_message("tables", []),
    "negative": more(1, -400, ("a",)),
    "beyond the reports": more(1, 400, ("a",)),
    "first": more(0, 1, ("a",)),
    "another margin": more(1, 1, ("a",)),
    "a cell above its margins": more(5, 200, ("a", "b")),
    "a cell below what its margins leave": lambda _, counts: counts[("a", "b")].__setitem__(
        slice(None), [300, 290, 290, 290, 290, 1, 1, 1]
    ),
    "another message": lambda data, _: data["messages"].update({"1": data["messages"].pop("0")}),
    "another shape": lambda data, _: data["messages"]["0"]["tables"][0].update(shape=[1, 2]),
    "another table": lambda data, _: data["messages"]["0"]["tables"][0].update(questions=["b"]),
}


@OLD
@pytest.mark.parametrize("change", LIES.values(), ids=LIES)
def test_a_tally_that_no_reports_can_give_is_refused(plain, change):
    """Also with a digest that fits: the figures are not possible together."""
    tally = incrowd.count(plain, reports_of(plain))
    assert incrowd.estimate(plain, of_text(resealed(tally, lambda *_: None))).tables
    with pytest.raises(ReportsError):
        incrowd.estimate(plain, of_text(resealed(tally, change)))


@OLD
@pytest.mark.parametrize(
    "change",
    [
        more(1, 2**63, ("a",)),
        more(1, 0.5, ("a",)),
        in_message("accepted", 2**63),
        in_message("accepted", True),
        in_message("accepted", "300"),
        in_message("tables", None),
        lambda data, _: data.update(tables=[[["a"]]]),
        lambda data, _: data.update(tables=[[]]) or data.pop("tables"),
        lambda data, _: data.update(parts=[["a"]]),
        lambda data, _: data.update(plan=["a"]),
        lambda data, _: data.update(messages=[]),
        lambda data, _: data.update(messages={"-1": data["messages"]["0"]}),
        lambda data, _: data.update(messages={"zero": data["messages"]["0"]}),
        lambda data, _: data.update(simulation_seed=-1),
        lambda data, _: data.update(persons="all"),
        lambda data, _: data["messages"]["0"]["tables"][0].update(shape=[-1]),
        lambda data, _: data["messages"]["0"]["tables"][0].update(counts=[]),
        lambda data, _: data["messages"]["0"]["tables"][0].update(counts=[[1], [1, 2]]),
        lambda data, _: data["messages"]["0"]["tables"][0].update(counts=[None, 1]),
    ],
)
def test_what_is_no_tally_is_refused(plain, change):
    tally = incrowd.count(plain, reports_of(plain))
    with pytest.raises(ReportsError, match="holds no tally"):
        of_text(resealed(tally, change))


@pytest.mark.parametrize(
    "text", ["", "7", "[]", "null", "{}", "[" * 10**6, '{"a":' * 10**6, "NaN", '{"format": []}']
)
def test_other_texts_are_no_tallies(text):
    with pytest.raises(ReportsError, match="tally"):
        of_text(text)


def test_every_edit_of_a_tally_is_seen(plain):
    """Each number changed by one, and each text; the unchanged file is read without a word."""
    text = as_text(incrowd.count(plain, reports_of(plain)))
    of_text(text)
    data = json.loads(text)
    seen = 0
    for place in range(len(data["messages"]["0"]["tables"])):
        for index in range(len(data["messages"]["0"]["tables"][place]["counts"])):
            changed = json.loads(text)
            changed["messages"]["0"]["tables"][place]["counts"][index] += 1
            with pytest.raises(ReportsError, match="edited or damaged"):
                of_text(json.dumps(changed))
            seen += 1
    for key, value in [("plan", "0" * 64), ("persons", "ids"), ("simulation_seed", None)]:
        with pytest.raises(ReportsError, match="edited or damaged"):
            of_text(json.dumps(data | {key: value}))
    with pytest.raises(ReportsError, match="edited or damaged"):
        of_text(json.dumps({key: value for key, value in data.items() if key != "digest"}))
    assert seen == 2 + 4 + 8


# --- people and the reports they send ------------------------------------------------------------


@pytest.mark.parametrize("people", [1, 5, 60, 900])
@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("kind", ["choice", "multi"])
def test_the_right_number_of_people_is_hardly_ever_impossible(people, copies, kind, monkeypatch):
    """Whatever they answer: the number of reports is a sum of two binomials, listed exactly. Wrong:
    a bound for a false alarm of 1e-9 that is one of 1e-3 exceeds what is promised."""
    more = {"at_most": 3} if kind == "multi" else {}
    question = {"id": "q", "type": kind, "options": list("abcde"), "apart": True} | more
    plan = planned([question], crowd=1000, copies=copies)
    message, domain = plan.messages[0], plan.survey.questions[0].domain
    p, q = message.noise.p, message.noise.q
    sets = people * copies

    def alarms():
        low, high = sends(message, people)
        for chosen in {domain.fewest * sets, domain.most * sets, domain.most * sets // 2}:
            if chosen < domain.fewest * sets:
                continue
            others = sets * domain.bits - chosen
            law = np.convolve(
                binom.pmf(np.arange(chosen + 1), chosen, p),
                binom.pmf(np.arange(others + 1), others, q),
            )
            sent = np.arange(len(law))
            yield max(law[sent < low].sum(), law[sent > high].sum())

    assert max(alarms()) <= FALSE_ALARM
    monkeypatch.setattr(consistency, "FALSE_ALARM", 1e-3)
    if people == 900:
        assert max(alarms()) > FALSE_ALARM


def test_people_who_were_not_there_are_seen(apart):
    (reports,) = reports_of(apart)
    assert incrowd.verify(apart, reports).impossible_people == ()
    assert incrowd.estimate(apart, reports).guarantee.crowd == PEOPLE
    fewer = replace(reports, packed=reports.packed[: len(reports) // 3])
    found = incrowd.verify(apart, fewer)
    (wrong,) = found.impossible_people
    assert (wrong.people, wrong.reports) == (PEOPLE, len(fewer)) and wrong.reports < wrong.low
    assert not found.holds
    with pytest.raises(ReportsError, match="300 people send at least"):
        incrowd.estimate(apart, fewer)


def test_too_many_reports_for_the_people_are_said(apart):
    """They promise nothing that is not kept; `verify` says it."""
    (reports,) = reports_of(apart)
    (wrong,) = incrowd.verify(apart, replace(reports, people=100)).impossible_people
    assert wrong.reports > wrong.high


# --- files of reports ----------------------------------------------------------------------------


def rewritten(path, drop=(), rows=None, **changes):
    """The file with other metadata, as any Parquet tool can write it."""
    table, all_of_it = pa.parquet.read_table(path), pa.parquet.read_metadata(path).metadata
    about = {k.decode(): v.decode() for k, v in all_of_it.items() if k != b"ARROW:schema"}
    about |= {f"incrowd.{name}": value for name, value in changes.items()}
    about = {k: v for k, v in about.items() if k.removeprefix("incrowd.") not in drop}
    table = table if rows is None else table.slice(0, rows)
    pa.parquet.write_table(table.replace_schema_metadata(about), path, compression="none")


NEW = ("format", "digest", "sha256", "reports")


@pytest.fixture
def saved(apart, tmp_path):
    incrowd.save_reports(reports_of(apart), tmp_path / "r.parquet")
    (tmp_path / "plan.json").write_text(apart.dumps())
    return tmp_path / "r.parquet"


def read_all(path):
    incrowd.load_reports(path)
    return list(incrowd.stream_reports(path))


@pytest.mark.parametrize(
    "changes",
    [
        {"people": "5000"},
        {"people": "-5"},
        {"drop": ["people"]},
        {"drop": ["simulation_seed"]},
        {"drop": ["digest"]},
        {"drop": ["digest", "sha256", "reports"]},  # as pyarrow.parquet.read_table does
        {"drop": ["format"]},
        {"persons": "ids"},
        {"collection": "another"},
        {"rows": 10},
        {"rows": 10, "reports": "10"},
        {"sha256": "0" * 64},
        {"more": "1"},
    ],
    ids=str,
)
def test_every_edit_of_a_files_metadata_is_seen(saved, changes):
    """However it is read; the unchanged file is read without a word, also rewritten as it was."""
    rewritten(saved)
    read_all(saved)
    rewritten(saved, **changes)
    for read in (incrowd.load_reports, lambda path: list(incrowd.stream_reports(path))):
        with pytest.raises(ReportsError, match="edited or damaged"):
            read(saved)


def test_reports_that_were_edited_are_seen_by_verify(apart, saved):
    (reports,) = incrowd.load_reports(saved)
    content = saved.read_bytes()
    at = content.index(reports.packed.tobytes()[:64])
    saved.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    read_all(saved)
    with pytest.raises(ReportsError, match="edited or damaged"):
        incrowd.verify(apart, incrowd.stream_reports(saved, check=True))


def test_the_digest_does_not_depend_on_how_the_reports_came(plain, tmp_path, monkeypatch):
    """In many row groups, read part by part and checked."""
    from incrowd.reports import collection

    monkeypatch.setattr(collection, "GROUP_BYTES", 16)
    (reports,) = reports_of(plain)
    collection.write_reports(reports, np.array_split(reports.packed, 7), tmp_path / "r.parquet")
    parts = list(incrowd.stream_reports(tmp_path / "r.parquet", check=True))
    assert len(parts) == -(-PEOPLE // 16)
    assert (np.concatenate([part.packed for part in parts]) == reports.packed).all()


def test_older_files_are_read_and_said_to_have_no_digest(apart, saved):
    rewritten(saved, drop=NEW)
    with pytest.warns(IncrowdWarning, match=r"r\.parquet is of an older format, without a digest"):
        (reports,) = incrowd.load_reports(saved)
    assert reports.people == PEOPLE


@OLD
def test_edits_of_older_files_have_to_be_possible(apart, saved):
    rewritten(saved, drop=NEW, people="900")
    assert incrowd.verify(apart, incrowd.stream_reports(saved)).impossible_people
    with pytest.raises(ReportsError, match="900 people send at least"):
        incrowd.estimate(apart, incrowd.load_reports(saved))
    for name, value in [("people", "-5"), ("simulation_seed", "-1"), ("persons", "all")]:
        incrowd.save_reports(reports_of(apart), saved)
        rewritten(saved, drop=NEW, **{name: value})
        with pytest.raises(ReportsError, match=name):
            read_all(saved)


# --- the commands --------------------------------------------------------------------------------


@pytest.fixture
def said(monkeypatch, capfd, tmp_path):
    """What a command says, and how it ends."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["incrowd", *arguments])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        shown = capfd.readouterr()
        assert "fault" not in shown.err
        return code, shown.err + shown.out

    return run


@pytest.mark.filterwarnings("always::incrowd.errors.IncrowdWarning")
def test_the_commands_refuse_what_was_edited(saved, said):
    assert said("tally", "plan.json", "r.parquet", "-o", "t.json")[0] == 0
    before = saved.read_bytes()
    rewritten(saved, people="900")
    for command in (["verify"], ["estimate"], ["tally", "-o", "u.json"]):
        code, text = said(command[0], "plan.json", "r.parquet", *command[1:])
        assert code == 2 and "edited or damaged" in text
    rewritten(saved, drop=NEW)
    code, text = said("verify", "plan.json", "r.parquet")
    assert code == 1 and "warning: r.parquet is of an older format" in text
    assert "900 people send" in text and "cannot come from" in text
    code, text = said("estimate", "plan.json", "r.parquet")
    assert code == 2 and "900 people send at least" in text
    saved.write_bytes(before)

    tally = saved.parent / "t.json"
    old = json.loads(tally.read_text())
    old["messages"]["0"]["accepted"] = 5000
    tally.write_text(json.dumps(old))
    assert "edited or damaged" in said("estimate", "plan.json", "t.json")[1]
    old.pop("digest")
    tally.write_text(json.dumps(old | {"format": "incrowd tally 1"}))
    for command in (["estimate"], ["tally", "-o", "u.json"]):  # nothing is sealed that is wrong
        code, text = said(command[0], "plan.json", "t.json", *command[1:])
        assert code == 2 and "do not fit 5,000 reports" in text
    assert not (saved.parent / "u.json").exists()


# --- plans and keys ------------------------------------------------------------------------------


def test_every_edit_of_a_plan_is_seen(plain):
    for old, new in [('"crowd": 300', '"crowd": 299'), ('"epsilon": 3.0', '"epsilon": 2.0')]:
        with pytest.raises(PlanError):
            incrowd.Plan.loads(plain.dumps().replace(old, new))


def test_a_key_that_was_not_copied_right_is_refused(tmp_path):
    """Another secret would draw all permanent responses anew, which leaks."""
    key, path = DeviceKey(bytes(range(32))), tmp_path / "key"
    key.save(path)
    assert DeviceKey.load(path) == key
    header, digits, check, _ = path.read_text().split("\n")
    for place in range(0, 64, 7):
        other = "0" if digits[place] != "0" else "1"
        changed = digits[:place] + other + digits[place + 1 :]
        path.write_text(f"{header}\n{changed}\n{check}\n")
        with pytest.raises(UsageError, match="was changed after it was written"):
            DeviceKey.load(path)
    path.write_text(f"{header}\n{digits}\n")
    with pytest.raises(UsageError, match="is not a key file"):
        DeviceKey.load(path)
    path.write_text(f"{OLD_HEADER}\n{digits}\n")
    assert DeviceKey.load(path) == key
