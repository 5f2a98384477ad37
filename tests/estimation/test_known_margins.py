"""Margins from answers to tables, files, pages and the terminal.

With next to no noise the tables are those of the answers, weighted person by person with factors
that are found here.
"""

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import incrowd
from incrowd.errors import IncrowdWarning, TableError, UsageError
from tests.conftest import run, slowly

FACULTIES = ("law", "arts", "music")
QUESTIONS = [
    {"id": "faculty", "type": "choice", "options": list(FACULTIES), "open": True},
    {"id": "sex", "type": "choice", "options": ["f", "m"]},
    {"id": "age", "type": "choice", "options": ["a", "b", "c"]},
    {"id": "sick", "type": "yesno", "optional": True},
]
BOTH = {"faculty": {"law": 200, "arts": 500, "music": 300}, "sex": {"f": 0.55, "m": 0.45}}
RAKED = BOTH | {"age": {"a": 30, "b": 30, "c": 40}}
TABLES = [["sick"], ["sex", "sick"], ["faculty", "sick"], ["age", "faculty"]]
PEOPLE = 6000


@cache
def plan(epsilon=90.0, rule="delete", crowd=500):
    raw = {"name": "F", "crowd": crowd, "privacy": {"epsilon": epsilon, "analysis": "local"}}
    raw |= {"question": QUESTIONS, "small_strata": rule}
    return incrowd.plan(incrowd.Survey.of(raw | {"table": [{"questions": ["sex", "age", "sick"]}]}))


@cache
def answers(people=PEOPLE, music=0.2):
    generator = np.random.default_rng(1)
    faculty = generator.choice(FACULTIES, people, p=[0.8 - music, 0.2, music])
    sex = generator.choice(["f", "m"], people, p=[0.7, 0.3])
    age = np.where(sex == "f", *generator.choice(["a", "b", "c"], (2, people)))
    rate = 0.2 + 0.3 * (faculty == "law") + 0.2 * (sex == "f")
    sick = np.where(generator.random(people) < rate, "yes", "no")
    sick[generator.random(people) < 0.15] = ""
    return {"faculty": faculty, "sex": sex, "age": age, "sick": sick}


@cache
def reports(epsilon=90.0, rule="delete", music=0.2, seed=2, crowd=500):
    return incrowd.randomize(plan(epsilon, rule, crowd), table(music), simulation_seed=seed)


@cache
def table(music=0.2):
    columns = answers(music=music)
    sick = [said or None for said in columns["sick"].tolist()]
    return pa.table(columns | {"sick": pa.array(sick)})


def weights(margins, columns):
    """One weight a person: each margin in turn is made right, until all are."""
    found = np.ones(len(columns["sex"]))
    for _ in range(500):
        for id, shares in margins.items():
            for answer, share in shares.items():
                own = columns[id] == answer
                found[own] *= share / sum(shares.values()) * found.sum() / found[own].sum()
    return found / found.sum()


def weighted_shares(margins, ids, answered=False):
    columns, said = answers(), {q["id"]: q.get("options", ["no", "yes", ""]) for q in QUESTIONS}
    each = weights(margins, columns)
    if answered:
        each = each * (columns["sick"] != "") if "sick" in ids else each
        each, said = each / each.sum(), said | {"sick": ["no", "yes"]}
    shape = [len(said[id]) for id in ids]
    return np.reshape(
        [
            sum(each[np.all([columns[id] == a for id, a in zip(ids, cell, strict=True)], 0)])
            for cell in np.stack(np.meshgrid(*map(said.get, ids), indexing="ij"), -1).reshape(
                -1, len(ids)
            )
        ],
        shape,
    )


@cache
def unweighted():
    return incrowd.estimate(plan(), reports(), tables=TABLES)


@pytest.mark.slow
@pytest.mark.parametrize("margins", [BOTH, RAKED, *slowly({"faculty": BOTH["faculty"]})])
@pytest.mark.parametrize("answered", [False, True])
def test_without_noise_tables_are_those_of_weighted_people(margins, answered):
    """Next to no noise: bits are flipped with less than one in a million."""
    found = incrowd.estimate(
        plan(), reports(), tables=TABLES, margins=margins, of_those_who_answered=answered
    )
    for made, ids in zip(found.tables, TABLES, strict=True):
        assert made.estimate == pytest.approx(weighted_shares(margins, ids, answered), abs=1e-5)
        assert made.weighted_to == tuple(margins)
    plain = unweighted()
    assert np.abs(plain.tables[0].estimate[:2] - found.tables[0].estimate[:2]).max() > 0.01


def test_open_strata_are_averaged_with_their_known_shares():
    """At any noise: sum of P_s times the estimate of s, with the errors of that sum."""
    made = plan(9.0)
    found = incrowd.estimate(made, reports(9.0), margins={"faculty": BOTH["faculty"]})
    plain = incrowd.estimate(made, reports(9.0))
    known = np.array([0.2, 0.5, 0.3])
    for place, weighted in enumerate(found.tables[1:4]):
        strata = [each.tables[place] for each in plain.strata]
        assert weighted.questions == strata[0].questions
        mean = sum(w * each.estimate for w, each in zip(known, strata, strict=True))
        errors = [w**2 * each.standard_error**2 for w, each in zip(known, strata, strict=True)]
        assert weighted.estimate == pytest.approx(mean, abs=1e-12)
        inside = [  # a raw estimate outside of 0 to 1 has another sampling error there
            np.all((each.estimate > 0) & (each.estimate < 1)) for each in strata
        ]
        assert all(inside) and weighted.standard_error == pytest.approx(
            np.sqrt(sum(errors)), rel=1e-3
        )
    assert found.tables[0].estimate == pytest.approx(known)
    assert not found.tables[0].standard_error.any() and found.tables[0].provenance.error_ratio == 0


def test_errors_of_the_noise_alone_and_simultaneous_intervals():
    options = {"margins": BOTH, "tables": [["sick"]]}
    whole = incrowd.estimate(plan(9.0), reports(9.0), simultaneous="max-t", **options)
    noise = incrowd.estimate(
        plan(9.0), reports(9.0), noise_only=True, simultaneous="bonferroni", **options
    )
    first, second = whole.tables[0], noise.tables[0]
    assert np.all(second.standard_error < first.standard_error)
    assert second.error.noise == pytest.approx(second.standard_error)
    assert np.all(whole.simultaneous[0].high > first.high)
    assert np.all(noise.simultaneous[0].high > second.high)


@pytest.mark.slow
@pytest.mark.parametrize("trials", [40, 1000])
def test_weighted_shares_of_whole_collections_cover(trials):
    """Real reports of the same people, the noise alone drawn anew: 4 standard errors of the
    coverage. Errors a half as large do not pass."""
    truth = weighted_shares(BOTH, ["sick"])[1]
    hits, halves = [], []
    for seed in range(trials):
        made = incrowd.estimate(
            plan(9.0),
            incrowd.randomize(plan(9.0), table(), simulation_seed=seed),
            tables=[["sick"]],
            margins=BOTH,
            noise_only=True,
        ).tables[0]
        off = abs(made.estimate[1] - truth) / made.standard_error[1]
        hits.append(off < 1.96)
        halves.append(off < 0.98)
    slack = 4 * np.sqrt(0.05 * 0.95 / trials)
    assert abs(np.mean(hits) - 0.95) < slack < abs(np.mean(halves) - 0.95)


def test_strata_that_are_merged_or_were_not_released():
    """Of 6,000 people about 60 are in music: too few for a release of 500."""
    some = {"faculty": {"law": 1, "arts": 1}}
    with pytest.warns(IncrowdWarning, match="not released"):
        sent = reports(9.0, music=0.01)
    alone = incrowd.estimate(plan(9.0), sent, margins=some, tables=[["sick"]])
    assert alone.left_out == ("music",)
    with pytest.raises(TableError, match="no stratum with this answer was released"):
        incrowd.estimate(plan(9.0), sent, margins=BOTH, tables=[["sick"]])
    with pytest.warns(IncrowdWarning, match="released as one"):
        merging = plan(9.0, "merge", 1250), reports(9.0, "merge", 0.01, crowd=1250)
    options = {"margins": {"faculty": BOTH["faculty"]}, "tables": [["faculty"]]}
    made = incrowd.estimate(*merging, **options).tables[0]
    assert dict(zip(made.answers[0], made.estimate, strict=True)) == {
        "law": pytest.approx(0.2),
        "arts + music": pytest.approx(0.8),
    }
    with pytest.raises(TableError, match="is missing"):
        incrowd.estimate(*merging, margins={"faculty": {"law": 1}}, tables=[["sick"]])


def test_a_tally_that_was_not_counted_for_weights_is_refused():
    counted = incrowd.count(plan(), reports())
    with pytest.raises(TableError, match="single bits"):
        incrowd.estimate(plan(), counted, margins=BOTH)


def test_margins_of_several_questions_and_files(tmp_path):
    both = {f"{f} | {s}": 1 + n for n, (f, s) in enumerate((f, s) for f in FACULTIES for s in "fm")}
    lines = [f"faculty | sex,{answer},{number}" for answer, number in both.items()]
    (tmp_path / "m.csv").write_text("question,answer,people\n" + "\n".join(lines))
    (tmp_path / "m.toml").write_text(
        '["faculty | sex"]\n' + "\n".join(f'"{a}" = {n}' for a, n in both.items())
    )
    read = incrowd.load_margins(tmp_path / "m.csv")
    assert read == incrowd.load_margins(tmp_path / "m.toml") == {"faculty | sex": both}
    semicolons = "question;answer;share\nsex;f;0,52\nsex;m;0,48\n"
    (tmp_path / "s.csv").write_text(semicolons)
    assert incrowd.load_margins(tmp_path / "s.csv") == {"sex": {"f": 0.52, "m": 0.48}}
    found = incrowd.estimate(plan(), reports(), margins=read, tables=[["faculty", "sex"]])
    assert found.tables[0].estimate.ravel() * 21 == pytest.approx(range(1, 7))
    with pytest.raises(UsageError, match="two rows"):
        (tmp_path / "m.csv").write_text("question,answer,share\nsex,f,1\nsex,f,1\n")
        incrowd.load_margins(tmp_path / "m.csv")
    with pytest.raises(UsageError, match="line 2: got '1,200'; should be a number"):
        (tmp_path / "m.csv").write_text("question;answer;people\nsex;f;1,200\nsex;m;3,400\n")
        incrowd.load_margins(tmp_path / "m.csv")


@pytest.mark.slow
def test_the_command_says_what_tables_are_weighted_to(tmp_path):
    (tmp_path / "plan.json").write_text(plan(6.0).dumps())
    incrowd.save_reports(reports(6.0), tmp_path / "r")
    (tmp_path / "m.toml").write_text("[faculty]\nlaw = 2\narts = 5\nmusic = 3\n")
    command = ["estimate", tmp_path / "plan.json", tmp_path / "r", "--margins", tmp_path / "m.toml"]
    command += ["--table", "sick", "--of-those-who-answered"]
    shown = run(*command, "--simultaneous", "max-t", "-o", tmp_path / "o.html")
    text = " ".join(shown.stdout.split())
    for said in (
        "% of those who answered",
        "weighted to known margins of faculty; standard errors are",
        "95% interval, all cells at once (max-t)",
    ):
        assert said in text
    data = json.loads(run(*command, "--json", "-o", tmp_path / "o.csv").stdout)["tables"][0]
    assert data["weighted_to"] == "faculty" and data["shares_of"] == "those who answered"
    assert data["error_ratio"] > 0 and len(data["cells"]) == 2
    page = (tmp_path / "o.html").read_text()
    assert "Percent of those who answered" in page and "weighted to known margins" in page
    rows = pa.csv.read_csv(tmp_path / "o.csv").to_pylist()
    assert {row["weighted_to"] for row in rows if row["stratum"] == "all"} == {"faculty"}
    assert {row["stratum"] for row in rows} == {"all", *FACULTIES}
    assert {row["shares_of"] for row in rows} == {"those who answered"}


def test_a_margin_can_be_of_those_who_answered():
    """A census says how many are sick; who did not answer keeps the share without weights."""
    made = incrowd.estimate(
        plan(), reports(), tables=[["sick"], ["sex"]], margins={"sick": {"no": 70, "yes": 30}}
    )
    plain = incrowd.estimate(plan(), reports(), tables=[["sick"]]).tables[0].estimate
    sick, sex = made.tables
    assert sick.estimate[2] == pytest.approx(plain[2])
    assert sick.estimate[:2] == pytest.approx((1 - plain[2]) * np.array([0.7, 0.3]))
    assert (
        sick.provenance.weighted_to == ("sick (of those who answered)",)
        and sex.standard_error.all()
    )
    raked = incrowd.estimate(
        plan(),
        reports(),
        tables=[["sick"], ["sex"], ["faculty"]],
        margins=BOTH | {"sick": {"no": 0.7, "yes": 0.3}},
        of_those_who_answered=True,
    )
    sick, sex, faculty = raked.tables
    assert sick.estimate == pytest.approx([0.7, 0.3])
    assert sick.standard_error == pytest.approx(0, abs=1e-9)
    assert sex.estimate == pytest.approx([0.55, 0.45])
    assert faculty.estimate == pytest.approx([0.2, 0.5, 0.3])


def test_with_no_answer_a_margin_is_of_all_people():
    margins = {"sick": {"no": 0.6, "yes": 0.3, "no answer": 0.1}}
    (sick,) = incrowd.estimate(plan(), reports(), tables=[["sick"]], margins=margins).tables
    assert sick.estimate == pytest.approx([0.6, 0.3, 0.1]) and sick.provenance.weighted_to == (
        "sick",
    )
