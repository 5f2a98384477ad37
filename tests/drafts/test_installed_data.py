"""The whole workflow on real data that installed packages contain: those of statsmodels and
scikit-learn, and of R where it is installed.

A draft is a proposal, and a person decides what it marks. Here a rule decides, the same for all
data sets (`by_rule`), and `SETS` states what else a person would decide for each.

False alarms: the intervals of all data sets together miss a true share with a probability of at
most 1 in 1000 (Bonferroni over the data sets, and over all cells of each). The seeds are fixed.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import statsmodels.datasets
import tomlkit

import incrowd

RSCRIPT = shutil.which("Rscript")
FALSE_ALARM = 1e-3
FEW = 10  # rows: rarer options are merged with their neighbors
SEED = 39

# --- the data sets --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decisions:
    """What a person decides beside the rule.

    why: in a line, also what the rule settles. left_out: columns that are not asked, as patterns.
    named: the answers that codes stand for. people: their number, if they have several rows each.
    """

    why: str
    left_out: Sequence[str] = ()
    named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    people: int = 0


def codes(first: int, text: str) -> dict[str, str]:
    """The answers that consecutive codes stand for."""
    return {str(code): answer for code, answer in enumerate(text.split(", "), first)}


LEFT_TO_RIGHT = codes(
    1,
    "extremely liberal, liberal, slightly liberal, moderate, slightly conservative, "
    "conservative, extremely conservative",
)
GRADES = codes(1, "very poor, poor, average, good, very good")

STATSMODELS = {
    "anes96": Decisions(
        "names of seven scales; whether the size of the town is needed, and its logarithm",
        left_out=["logpopul"],
        named={
            "selfLR": LEFT_TO_RIGHT,
            "ClinLR": LEFT_TO_RIGHT,
            "DoleLR": LEFT_TO_RIGHT,
            "PID": codes(
                0,
                "strong Democrat, weak Democrat, independent Democrat, independent, "
                "independent Republican, weak Republican, strong Republican",
            ),
        },
    ),
    "ccard": Decisions("72 people are few; the square of the income", left_out=["INCOMESQ"]),
    "fair": Decisions(
        "names of four scales; edges of the affairs",
        named={
            "rate_marriage": GRADES,
            "religious": codes(1, "not at all, slightly, fairly, strongly"),
        },
    ),
    "fair_pt": Decisions("names of three scales; the number 0 and 1 of the sexes"),
    "heart": Decisions("69 people are few; whether a patient left the study is no answer"),
    "modechoice": Decisions(
        "each person has a row for each mode: keep the chosen row, or protect all four",
        named={"mode": codes(1, "air, train, bus, car")},
        people=210,
    ),
    "randhie": Decisions("edges of logarithms, or their amounts; three columns are one health"),
    "spector": Decisions("32 people are few; the names of 0 and 1 in PSI and GRADE"),
}
SCIKIT_LEARN = {
    "breast_cancer": Decisions("30 measurements: which of them to ask", left_out=["*error"]),
    "diabetes": Decisions("the names of 1 and 2", named={"sex": codes(1, "female, male")}),
    "linnerud": Decisions("20 people are few"),
}
R = {
    "datasets": {
        "infert": Decisions("the names of induced and spontaneous abortions; the matched strata"),
        "Titanic": Decisions("whether the class is public knowledge"),
        "HairEyeColor": Decisions("592 people are few"),
        "UCBAdmissions": Decisions("whether the department is public knowledge"),
        "occupationalStatus": Decisions("the names of eight statuses of fathers and sons"),
    },
    "MASS": {
        "Aids2": Decisions(
            "dates of diagnosis and death as numbers of days", left_out=["diag", "death"]
        ),
        "Melanoma": Decisions(
            "the names of three outcomes",
            named={"status": codes(1, "died of it, alive, died otherwise")},
        ),
        "OME": Decisions("rows are trials of 77 children", people=77),
        "Pima.tr2": Decisions("300 people are few"),
        "bacteria": Decisions("rows are weeks of 50 children", people=50),
        "biopsy": Decisions(
            "rows are samples of 645 patients; nine scales of 10 steps", people=645
        ),
        "birthwt": Decisions("the names of three races; rare numbers of visits"),
        "epil": Decisions(
            "rows are periods of 59 patients; logarithms of two other columns",
            left_out=["lbase", "lage"],
            people=59,
        ),
        "housing": Decisions("nothing but the order of four kinds of housing"),
        "minn38": Decisions("the names of letters"),
        "nlschools": Decisions("the class is the number of a school class", left_out=["class"]),
        "quine": Decisions("146 people are few; the names of letters"),
        "survey": Decisions("the order of Exer and Smoke; two measures of height"),
    },
    "carData": {
        "Adler": Decisions("108 people are few"),
        "Arrests": Decisions("whether people are in several rows; the rare number of checks"),
        "BEPS": Decisions("the names of the steps of seven scales"),
        "Baumann": Decisions("66 people are few"),
        "Blackmore": Decisions("rows are ages of 231 people", people=231),
        "CES11": Decisions("the population says the same as the province", left_out=["population"]),
        "Chile": Decisions("the amounts that population and income stand for; names of letters"),
        "Cowles": Decisions("nothing"),
        "Davis": Decisions("200 people are few"),
        "Friendly": Decisions("30 people are few"),
        "GSSvocab": Decisions("whether people are in several years; age and its group"),
        "Greene": Decisions("rows are cases, and the judge is named: whether to ask for him"),
        "Guyer": Decisions("20 people are few"),
        "KosteckiDillon": Decisions("rows are days of 133 people", left_out=["time"], people=133),
        "Moore": Decisions("45 people are few"),
        "MplsStops": Decisions("neighborhoods: 84 of them", left_out=["neighborhood"]),
        "Mroz": Decisions("rare numbers of children"),
        "Rossi": Decisions("52 weeks of work: which to ask", left_out=["emp*"]),
        "SLID": Decisions("nothing but the order of languages"),
        "Salaries": Decisions("the order of ranks"),
        "TitanicSurvival": Decisions("whether the class is public knowledge"),
        "Vocab": Decisions("whether people are in several years"),
        "WVS": Decisions("whether the country is public knowledge"),
        "Wells": Decisions("nothing; the education in years"),
        "Womenlf": Decisions("the order of participation; whether the region is public"),
        "Wong": Decisions("rows are tests of 200 people", people=200),
    },
}


# --- files ----------------------------------------------------------------------------------------

EXPORT = """
folder <- commandArgs(TRUE)[1]
for (package in commandArgs(TRUE)[-1]) {
  parts <- strsplit(package, "[:,]")[[1]]
  if (!requireNamespace(parts[1], quietly = TRUE)) next
  for (name in parts[-1]) {
    place <- new.env()
    suppressWarnings(data(list = name, package = parts[1], envir = place))
    if (!exists(name, place)) next
    rows <- as.data.frame(get(name, place))
    times <- intersect(names(rows), c("Freq", if (name == "minn38") "f"))
    if (length(times)) {
      rows <- rows[rep(seq_len(nrow(rows)), rows[[times]]), setdiff(names(rows), times)]
      row.names(rows) <- NULL
    }
    write.csv(rows, file.path(folder, paste0(name, ".csv")))
  }
}
"""


@pytest.fixture(scope="module")
def from_r(tmp_path_factory):
    """A folder with the data of R, as `write.csv` writes them; tables have a row per person."""
    folder = tmp_path_factory.mktemp("r")
    if RSCRIPT:
        (folder / "export.R").write_text(EXPORT, encoding="utf-8")
        packages = [f"{package}:{','.join(sets)}" for package, sets in R.items()]
        command = [RSCRIPT, str(folder / "export.R"), str(folder), *packages]
        subprocess.run(command, check=True, timeout=600)
    return folder


def file_of(package, name, folder):
    """The data as a CSV file; skipped with the name of what is not installed."""
    if package in R:
        if not (folder / f"{name}.csv").exists():
            pytest.skip(f"the R package {package} is not installed" if RSCRIPT else "no Rscript")
        return folder / f"{name}.csv"
    if package == "scikit-learn":
        bunch = getattr(pytest.importorskip("sklearn.datasets"), f"load_{name}")
        options = {"scaled": False} if name == "diabetes" else {}
        frame = bunch(as_frame=True, **options).frame
    elif name == "fair_pt":
        folder_of_fair = Path(statsmodels.datasets.fair.__file__).parent
        return folder_of_fair / "fair_pt.csv"
    else:
        frame = getattr(statsmodels.datasets, name).load_pandas().data
    frame.to_csv(folder / f"{name}.csv")  # with row numbers, as is usual
    return folder / f"{name}.csv"


# --- decisions by rule ----------------------------------------------------------------------------


def by_rule(draft, rows, decisions):
    """The survey that the draft becomes: a dict as in a survey file.

    - Rows of the same person are all protected; the crowd counts them.
    - With few people, epsilon is larger: a rule of this test, not advice.
    - Numbers that may be codes stay as they are, unless `Decisions` names them.
    - Rare options are merged with their neighbors until each has 10 rows.
    - Codes for no answer, edges, and columns that the draft leaves out stay as proposed.
    - The first two questions of few options also make a joint table.
    """
    raw = tomllib.loads(draft.toml)
    if draft.rows_per_person > 1:
        raw |= {"crowd": len(rows), "rows_per_person": draft.rows_per_person}
    people = raw["crowd"] // draft.rows_per_person
    raw["privacy"]["epsilon"] = next(e for least, e in EPSILONS.items() if people >= least)
    asked = [each for each in raw["question"] if not matches(each["id"], decisions.left_out)]
    named = [with_names(each, decisions.named.get(each["id"], {})) for each in asked]
    raw["question"] = [each for each in (with_merged(q, rows) for q in named) if each]
    few = [q["id"] for q in raw["question"] if len(q.get("options", "ab")) <= FEW_OPTIONS]
    return raw | ({"table": [{"questions": few[:2]}]} if len(few) > 1 else {})


EPSILONS = {5000: 1.0, 500: 4.0, 100: 16.0, 0: 64.0}  # by the least number of people
FEW_OPTIONS = 5


def matches(id, patterns):
    return any(Path(id).match(pattern) for pattern in patterns)


def with_names(question, names):
    """The question with names of its codes."""
    if not names:
        return question
    options = [names.get(each, each) for each in question["options"]]
    return question | {"options": options, "values": names | question.get("values", {})}


def with_merged(question, rows):
    """The question with rare options merged with the one before them; None if only one is left."""
    if question["type"] != "choice":
        return question
    count = Counter(answers_to(question, rows))
    groups, codes = [], question.get("values", {})
    for option in question["options"]:
        if groups and (count[option] < FEW or sum(count[o] for o in groups[-1]) < FEW):
            groups[-1].append(option)
        else:
            groups.append([option])
    meant = {option: " or ".join(group) for group in groups for option in group}
    codes = {code: meant[option] for code, option in codes.items()}
    codes |= {option: name for option, name in meant.items() if option != name}
    merged = question | {"options": list(dict.fromkeys(meant.values()))}
    return None if len(groups) < 2 else merged | ({"values": codes} if codes else {})


# --- the truth, from the file alone ---------------------------------------------------------------


def rows_of(path):
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def answers_to(question, rows):
    """The answer of each row to a question, as a survey file has it; None for no answer."""
    codes, missing = question.get("values", {}), {*question.get("missing", ()), ""}
    for row in rows:
        cell = row[question.get("column", question["id"])]
        cell = cell.removesuffix(".0")
        yield None if cell in missing else ANSWER[question["type"]](question, codes.get(cell, cell))


ANSWER = {
    "choice": lambda question, word: word,
    "yesno": lambda question, word: "no" if word.lower() in ("no", "false", "0") else "yes",
    "number": lambda question, word: sum(float(word) >= edge for edge in question["edges"]) - 1,
}


def levels(question):
    """The answers to a question, in the order of an estimated table."""
    possible = {
        "choice": question.get("options"),
        "yesno": ("no", "yes"),
        "number": range(len(question.get("edges", ()))),
    }[question["type"]]
    return [*possible, *([None] if question.get("optional") else [])]


def true_shares(questions, rows):
    """The shares of the combined answers to some questions, an axis for each."""
    count = Counter(zip(*(answers_to(each, rows) for each in questions), strict=True))
    cells = list(product(*map(levels, questions)))
    assert sum(count[each] for each in cells) == len(rows)
    shares = np.array([count[each] for each in cells]) / len(rows)
    return shares.reshape([len(levels(each)) for each in questions])


# --- the workflow ---------------------------------------------------------------------------------

SETS = {
    (package, name): decisions
    for package, sets in ({"statsmodels": STATSMODELS, "scikit-learn": SCIKIT_LEARN} | R).items()
    for name, decisions in sets.items()
}
EQUAL_GROUPS = {"Adler"}
IDS = {"individual", "identifier", "subject", "id", "ID", "idNum"}


def survey_of(path, decisions):
    """The survey that a person made of a draft, as in its file, and the rows of the data."""
    draft, rows = incrowd.draft(path), rows_of(path)
    assert draft.people == (decisions.people or len(rows)), draft.notes
    assert not IDS & {each.id for each in draft.questions}
    assert incrowd.check(incrowd.Survey.of(tomllib.loads(draft.toml)), path).accepted
    return by_rule(draft, rows, decisions), rows


def outside(tables, true):
    """The number of intervals that miss a share, of all together."""
    cells = sum(table.estimate.size for table in tables)
    level = 1 - FALSE_ALARM / len(SETS) / cells
    tables = [table.with_errors(level=level) for table in tables]
    return sum(
        np.sum((share < table.low) | (share > table.high))
        for table, share in zip(tables, true, strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("package", "name"), SETS)
def test_the_true_shares_are_within_simultaneous_intervals(package, name, from_r):
    """The wrong variant exchanges the options. Where an experiment has groups of equal sizes, which
    this does not change, it has the shares of the first half of the file."""
    path = file_of(package, name, from_r)
    raw, rows = survey_of(path, SETS[package, name])
    survey = incrowd.Survey.of(raw)
    assert incrowd.check(survey, path).accepted
    plan = incrowd.plan(survey)
    counts = incrowd.count(plan, incrowd.randomize(plan, path, simulation_seed=SEED))
    tables = incrowd.estimate(plan, counts, noise_only=True).tables
    by_id = {each["id"]: each for each in raw["question"]}
    asked = [[by_id[id] for id in table.questions] for table in tables]
    true = [true_shares(each, rows) for each in asked]
    assert len(tables) == len(raw["question"]) + len(raw.get("table", ()))
    assert outside(tables, true) == 0
    if name in EQUAL_GROUPS:
        wrong = [true_shares(each, rows[: len(rows) // 2]) for each in asked]
    else:
        wrong = [np.roll(shares, 1, axis=range(shares.ndim)) for shares in true]
    assert outside(tables, wrong) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "name"), [("statsmodels", "fair"), ("scikit-learn", "diabetes"), ("MASS", "survey")]
)
def test_commands_do_the_same(package, name, from_r, tmp_path):
    """From the file to the estimates, with the same seed as in Python."""
    path = file_of(package, name, from_r)

    def run(*arguments):
        command = [sys.executable, "-m", "incrowd", *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)

    assert run("init", path).stdout == incrowd.draft(path).toml
    raw, _ = survey_of(path, SETS[package, name])
    (tmp_path / "survey.toml").write_text(tomlkit.dumps(raw), encoding="utf-8")
    run("check", "survey.toml", path)
    run("plan", "survey.toml", "-o", "plan.json")
    run("randomize", "plan.json", path, "-o", "reports", "--simulation-seed", SEED)
    run("tally", "plan.json", "reports", "-o", "counts.json")
    said = json.loads(run("estimate", "plan.json", "counts.json", "--noise-only", "--json").stdout)
    plan = incrowd.plan(incrowd.Survey.of(raw))
    reports = incrowd.randomize(plan, path, simulation_seed=SEED)
    tables = incrowd.estimate(plan, reports, noise_only=True).tables
    assert [each["questions"] for each in said["tables"]] == [list(t.questions) for t in tables]
    for each, table in zip(said["tables"], tables, strict=True):
        shares = [cell["estimate"] for cell in each["cells"]]
        assert np.allclose(shares, table.estimate.ravel(), rtol=0, atol=1e-12)
