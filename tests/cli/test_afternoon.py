"""A researcher's afternoon through the command line: 800 people, six questions, codes for missing.

Codes stand in a tenth of the rows of three columns. Every step reads what the step before has
written; what it says is compared with what numpy finds in the answers themselves. Reports are of a
known seed: an estimate is allowed five of its own standard errors, which one in 1.7 million misses.
"""

import csv
import json
import tomllib

import numpy as np
import pytest

from tests.conftest import run

PEOPLE, SEED, ALLOWED = 800, 8, 5.0
MOODS = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]
CODES = ", ".join(f'{code} = "{mood}"' for code, mood in enumerate(MOODS, 1))
SLOPE = -0.6  # of smoking, in log odds, for a step of wellbeing
DEVICES = ["phone", "tablet", "television", "radio"]
MARGINS = {
    "sex": {"woman": 0.5, "man": 0.5},
    "region": {"north": 0.35, "south": 0.35, "west": 0.3},
}
EDITS = (  # what a person decides: of each line of the draft, what takes its place
    ("epsilon = 1.0", "epsilon = 5.0"),
    ("delta = 1e-6", 'delta = 1e-6\nanalysis = "blanket"'),  # which is planned in no time
    (
        'id = "smokes"\ntype = "choice"\noptions = ["1", "2"]',
        'id = "smokes"\ntype = "yesno"\nvalues = { 1 = "yes", 2 = "no" }',
    ),
    (
        'options = ["1", "2", "3", "4", "5"]',
        f"options = {json.dumps(MOODS)}\nvalues = {{ {CODES} }}",
    ),
    (
        'id = "sex"\ntype = "choice"\noptions = ["1", "2"]',
        'id = "sex"\ntype = "choice"\noptions = ["woman", "man"]\n'
        'values = { 1 = "woman", 2 = "man" }',
    ),
)
WANTED = """
[[message]]
questions = ["smokes", "wellbeing", "sex", "region"]

[[message]]
questions = ["income", "devices"]

[[table]]
questions = ["smokes", "wellbeing"]

[[regression]]
outcome = "smokes"
on = ["wellbeing", "sex"]
"""


def invented():
    """The answers as they were meant: codes without the ones for no answer."""
    rng = np.random.default_rng(23)
    sex = rng.choice([1, 2], PEOPLE, p=[0.6, 0.4])
    wellbeing = rng.choice([1, 2, 3, 4, 5], PEOPLE, p=[0.1, 0.2, 0.3, 0.25, 0.15])
    log_odds = 0.8 + SLOPE * wellbeing + 0.5 * (sex == 2)
    return rng, {
        "smokes": np.where(rng.random(PEOPLE) < 1 / (1 + np.exp(-log_odds)), 1, 2),
        "wellbeing": wellbeing,
        "sex": sex,
        "region": rng.choice(["north", "south", "west"], PEOPLE, p=[0.4, 0.35, 0.25]),
        "income": rng.lognormal(10.2, 0.5, PEOPLE).round().astype(int),
        "devices": [
            ";".join(np.array(DEVICES)[row]) or "none"
            for row in rng.random((PEOPLE, 4)) < [0.9, 0.5, 0.4, 0.3]
        ],
    }


@pytest.fixture(scope="module")
def people():
    """The columns of the file, codes for missing in a tenth of the rows of three."""
    rng, columns = invented()
    for name, code in (("smokes", 9), ("wellbeing", 9), ("income", 9_999_999)):
        columns[name] = np.where(rng.random(PEOPLE) < 0.1, code, columns[name])
    return {"person": [f"p{number:04}" for number in range(PEOPLE)], **columns}


def done(*arguments, code=0):
    found = run(*arguments)
    assert found.returncode == code, f"{found.stdout}\n{found.stderr}"
    return found


def told(*arguments, code=0):
    return json.loads(done(*arguments, "--json", code=code).stdout)


@pytest.fixture(scope="module")
def desk(tmp_path_factory, people):
    """The folder of the afternoon, with the answers and what was known before."""
    folder = tmp_path_factory.mktemp("afternoon")
    with open(folder / "answers.csv", "w", newline="", encoding="utf-8-sig") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(people)
        writer.writerows(zip(*people.values(), strict=True))
    lines = [
        f"[{id}]\n" + "".join(f"{answer} = {share}\n" for answer, share in shares.items())
        for id, shares in MARGINS.items()
    ]
    (folder / "margins.toml").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def drafted(desk):
    return told("init", desk / "answers.csv")


@pytest.fixture(scope="module")
def survey(desk, drafted):
    """The draft after a person has looked at it."""
    text = drafted["survey"]
    for written, instead in EDITS:
        assert text.count(written) == 1, written
        text = text.replace(written, instead)
    (desk / "survey.toml").write_text(text + WANTED)
    return desk / "survey.toml"


@pytest.fixture(scope="module")
def planned(desk, survey):
    facts = told("plan", survey, "-o", desk / "plan.json", "--no-side-by-side")
    return desk / "plan.json", facts


@pytest.fixture(scope="module")
def reports(desk, planned):
    plan, _ = planned
    options = ("--id", "person", "--simulation-seed", SEED, "-o", desk / "reports")
    done("randomize", plan, desk / "answers.csv", *options)
    return plan, desk / "reports"


@pytest.mark.slow
def test_the_draft_asks_what_the_file_does_not_say(drafted):
    survey = tomllib.loads(drafted["survey"])
    asked = {question["id"]: question for question in survey["question"]}
    assert [*asked] == ["smokes", "wellbeing", "sex", "region", "income", "devices"]
    assert [*drafted["left_out"]] == ["person"] and survey["crowd"] == PEOPLE
    missing = {id: question["missing"] for id, question in asked.items() if "missing" in question}
    assert missing == {"smokes": ["9"], "wellbeing": ["9"], "income": ["9999999"]}
    for id, (code,) in missing.items():
        assert f"{id}: {code} was taken to mean no answer" in drafted["undecided"]
    assert len(asked["income"]["edges"]) == 5
    assert asked["devices"]["options"] == sorted(DEVICES)
    assert not any("in fewer than" in line for line in drafted["undecided"])


def test_the_answers_are_checked_before_anything_is_planned(desk, survey, people):
    found = told("check", survey, desk / "answers.csv", "--id", "person")
    assert (found["accepted"], found["rows"], found["people"]) == (True, PEOPLE, PEOPLE)
    noted = {each["field"]: each["rows"] for each in found["findings"]}
    assert noted == {
        id: int(np.sum(np.asarray(people[id]) == code))
        for id, code in (("smokes", 9), ("wellbeing", 9), ("income", 9_999_999))
    }


def test_what_was_not_decided_is_refused_all_at_once(desk, survey):
    """The survey without the codes of two questions: `randomize` would stop at five rows each."""
    text = survey.read_text().replace('missing = ["9"]\n', "")
    (desk / "hasty.toml").write_text(text)
    found = told("check", desk / "hasty.toml", desk / "answers.csv", code=1)
    refused = {each["field"]: each for each in found["findings"] if each["refused"]}
    assert {*refused} == {"smokes", "wellbeing"} and refused["smokes"]["rows"] > 50
    assert 'add missing = ["9"] to the question' in refused["smokes"]["message"]


@pytest.mark.slow
def test_the_plan_is_one_that_the_data_go_with(planned):
    _, facts = planned
    assert facts["crowd"] == PEOPLE and len(facts["messages"]) == 2
    (model,) = facts["regressions"]
    assert model["outcome"] == "smokes=yes"


def near(found, true, name="estimate", error="standard_error"):
    assert abs(found[name] - true) < ALLOWED * found[error], (found, true)


def cells(estimates, *questions):
    (table,) = (each for each in estimates["tables"] if each["questions"] == [*questions])
    return {tuple(cell["answer"]): cell for cell in table["cells"]}


def test_the_tables_are_those_of_the_answers(reports, people):
    estimates = told("estimate", *reports)
    smokes, moods = np.asarray(people["smokes"]), np.asarray(people["wellbeing"])
    found = cells(estimates, "smokes")
    for code, answer in ((1, "yes"), (2, "no"), (9, "no answer")):
        near(found[answer,], np.mean(smokes == code))
    joint = cells(estimates, "smokes", "wellbeing")
    for code, mood in enumerate(MOODS, 1):
        near(joint["yes", mood], np.mean((smokes == 1) & (moods == code)))
    income = cells(estimates, "income")
    assert len(income) == 6
    near(income["no answer",], np.mean(np.asarray(people["income"]) == 9_999_999))


def raked(people):
    """The weights that give the answers both margins, by iterative proportional fitting."""
    codes = {"sex": {1: "woman", 2: "man"}}
    weights = np.ones(PEOPLE)
    for _ in range(50):
        for id, shares in MARGINS.items():
            said = [codes.get(id, {}).get(value, value) for value in people[id]]
            for answer, share in shares.items():
                rows = np.array([each == answer for each in said])
                weights[rows] *= share / weights[rows].sum()
    return weights


def test_the_tables_are_weighted_to_two_margins(desk, reports, people):
    options = ("--margins", desk / "margins.toml", "--table", "smokes")
    weights, smokes = raked(people), np.asarray(people["smokes"])
    shares = {
        answer: np.sum(weights * (smokes == code)) for answer, code in (("yes", 1), ("no", 2))
    }
    plain, weighted = told("estimate", *reports), told("estimate", *reports, *options)
    for answer, share in shares.items():
        near(cells(weighted, "smokes")[answer,], share)
    before, after = (cells(each, "smokes")["yes",] for each in (plain, weighted))
    assert after["standard_error"] > before["standard_error"]
    assert before["estimate"] != after["estimate"]


@pytest.mark.slow
def test_weights_of_several_messages_leave_out_what_they_cannot_reach(desk, reports):
    """Income and devices travel apart from sex and region; they are listed, with the reason."""
    options = ("--margins", desk / "margins.toml")
    found = done("estimate", *reports, *options, "--json")
    names = {tuple(table["questions"]) for table in json.loads(found.stdout)["tables"]}
    assert {("smokes",), ("smokes", "wellbeing")} <= names
    assert not {("income",), ("devices",)} & names
    said = " ".join(f"{found.stdout} {found.stderr}".split())
    assert all(id in said for id in ("income", "devices"))
    assert "no report has it together with sex, region" in said


def test_groups_are_compared(reports, people):
    found = told("compare", *reports, "sex", "smokes")
    smokes, man = np.asarray(people["smokes"]) == 1, np.asarray(people["sex"]) == 2
    (difference,) = (
        each
        for each in found["differences"]
        if each["name"] == "difference of smokes = yes: sex = man against sex = woman"
    )
    true = smokes[man].mean() - smokes[~man].mean()
    half = (difference["high"] - difference["low"]) / 2
    assert abs(difference["estimate"] - true) < ALLOWED / 1.96 * half
    assert 0 <= found["independence"]["p_value"] <= 1


def coefficients(found):
    return {each["term"]: each for each in found["coefficients"]}


def test_a_model_that_the_reports_support(reports, people):
    found = coefficients(told("regress", *reports, "--outcome", "smokes ~ sex"))
    smokes, man = np.asarray(people["smokes"]), np.asarray(people["sex"]) == 2
    odds = [np.sum((smokes == 1) & group) / np.sum((smokes == 2) & group) for group in (man, ~man)]
    near(found["sex=man"], np.log(odds[0] / odds[1]))


def test_a_model_that_they_do_not_support_has_firths_penalty(reports):
    """The survey's own: five answers to wellbeing are too many for 800 people and this noise."""
    result = run("regress", *reports)
    assert result.returncode == 0 and "close to separation" in result.stderr
    assert "Firth's penalized likelihood" in result.stderr


def slope_of(people):
    """The slope of smoking over wellbeing in the answers: maximum likelihood, by Newton's steps."""
    smokes, moods = np.asarray(people["smokes"]), np.asarray(people["wellbeing"])
    answered = (smokes != 9) & (moods != 9)
    design = np.column_stack([np.ones(answered.sum()), moods[answered]])
    found = np.zeros(2)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-design @ found))
        information = (design * (chance * (1 - chance))[:, None]).T @ design
        found += np.linalg.solve(information, design.T @ ((smokes[answered] == 1) - chance))
    return found[1]


SCORED = ("--outcome", "smokes", "--on", "score(wellbeing)")


def test_a_five_point_predictor_is_one_slope(reports, people):
    true = slope_of(people)
    assert abs(true - SLOPE) < 0.2  # as it was made
    for penalty in ((), ("--penalty", "firth")):
        slopes = coefficients(told("regress", *reports, *SCORED, *penalty))
        low, high = (slopes["score(wellbeing)"][end] for end in ("low", "high"))
        assert (low is None or low < true) and (high is None or true < high)


def test_answers_are_merged_at_analysis(reports, people):
    merged = ("--merge", "wellbeing: disagree + strongly disagree")
    found = cells(told("estimate", *reports, *merged), "wellbeing")
    (together,) = (cell for (answer,), cell in found.items() if "disagree" in answer)
    assert len(found) == 5
    near(together, np.mean(np.isin(people["wellbeing"], [1, 2])))


def test_answers_are_merged_in_a_model(reports):
    groups = (" + ".join(MOODS[:3]), " + ".join(MOODS[3:]))
    merged = [word for group in groups for word in ("--merge", f"wellbeing: {group}")]
    found = told("regress", *reports, *merged)
    assert found["estimable"] and len(found["coefficients"]) == 3
