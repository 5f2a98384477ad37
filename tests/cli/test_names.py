"""The library names its parameters, the command line its options; both mean the same."""

import ast
import re
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import incrowd
from incrowd.catalog.sentences import Keyword, Placeholder
from incrowd.cli.app import guarded
from incrowd.cli.console import OPTIONS, as_option, as_typed, problems_as_typed
from incrowd.cli.later import COMMANDS, Later
from incrowd.errors import Problem, ProtocolError, UsageError
from incrowd.plans.ledger import Ledger
from incrowd.reports.tally_files import save_tally
from tests.cli.conftest import said
from tests.oracles.source import nodes_of

SOURCE = Path(incrowd.__file__).parent
LIBRARY = [file for file in SOURCE.rglob("*.py") if "cli" not in file.parts]
# Of the library; letters tell people what to type.
TEXTS = [f for f in (SOURCE / "catalog").rglob("*.toml") if f.stem not in ("cli", "letters")]
COMMAND = re.compile(r"`[a-z]+ [^`]+`")  # a whole command may be named
OPTION = re.compile(r"(?<![\w}-])--?[a-z][a-z-]+(?![\w:{])|^-o$")


def survey():
    question = {"id": "a", "type": "yesno"}
    privacy = {"epsilon": 1.0, "delta": 1e-6}
    return incrowd.Survey.of(
        {"name": "s", "crowd": 1000, "privacy": privacy, "question": [question]}
    )


def estimates():
    plan = incrowd.plan(survey())
    answers = pa.table({"a": [True, False] * 500})
    return incrowd.estimate(plan, incrowd.randomize(plan, answers, simulation_seed=1))


def test_no_text_of_the_library_names_an_option():
    for file in TEXTS:
        texts = tomllib.loads(file.read_text("utf-8")).values()
        outside = [COMMAND.sub("", text) for text in texts]
        assert [text for text in outside if OPTION.search(text)] == [], file


def of_a_problem(nodes):
    """The texts that an error is made of: of the calls of Problem(...) and ....of(...)."""
    for node in nodes:
        made = isinstance(node, ast.Call) and ast.unparse(node.func)
        if made and (made == "Problem" or made.endswith("Error.of")):
            texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            yield from (text for text in texts if isinstance(text, str))


def test_no_error_of_the_library_names_an_option():
    for file in LIBRARY:
        texts = of_a_problem(nodes_of(file.read_text()))
        assert [text for text in texts if OPTION.search(text)] == [], file


def test_an_option_would_be_seen():
    for field, allowed in (("-o", "is a file"), ("crowd", "use --accept-smaller-crowd for less")):
        nodes = nodes_of(f"raise UsageError.of({field!r}, 1, {allowed!r})")
        assert [text for text in of_a_problem(nodes) if OPTION.search(text)]


def test_every_option_of_the_list_exists():
    found = set()
    for name in COMMANDS:
        command = Later(name).loaded()
        for one in getattr(command, "commands", {"": command}).values():
            found |= {option for parameter in one.params for option in parameter.opts}
    assert set(OPTIONS.values()) <= found


@pytest.mark.parametrize(
    ("argument", "typed"),
    [
        (Keyword("accept_smaller_crowd", True), "--accept-smaller-crowd"),
        (Keyword("unknown", "crowd"), "--solve crowd"),
        (Keyword("of_those_who_answered", False), "--of-all-people"),
        (Keyword("earlier"), "--ledger"),
        (Keyword("earlier", Placeholder("A LEDGER")), "--ledger A LEDGER"),
        (Keyword("sheet", "Data"), "--sheet Data"),
        (Keyword("sheet", "Wave 2"), "--sheet 'Wave 2'"),
        (Keyword("id", "person's id"), """--id 'person'"'"'s id'"""),
        (Keyword("my_error", True), "my_error"),
    ],
)
def test_an_argument_is_spelled_as_its_option(argument, typed):
    assert as_option(argument) == typed
    hint = Problem("unknown", "shared.did-you-mean", name=argument)
    assert as_typed(hint).text(option=as_option) == f"--solve: did you mean {typed}? "
    deeper = Problem(("plan", "unknown"), "shared.did-you-mean", name=argument)
    assert as_typed(deeper).path == ("plan", "unknown")


def test_problem_types_of_the_protocol_are_no_options():
    """`method` is an option of `regress`, and `stratum` one of `send`."""
    refusal = ProtocolError.of("method", "shared.use-one-of", value="POST", choices=["GET"])
    assert problems_as_typed(refusal) == [*refusal.problems]
    mistake = UsageError.of("method", "shared.use-one-of", value="x", choices=["pairs", "table"])
    assert [problem.path for problem in problems_as_typed(mistake)] == [("--method",)]


# A call of the library that is refused, what it says, and what the command line says of it.
REFUSED = [
    (
        lambda _: incrowd.solve(survey(), "nothing", error=0.01),
        "unknown: got 'nothing'; use one of crowd, epsilon, delta",
        "error: --solve: got 'nothing'; use one of crowd, epsilon, delta",
    ),
    (
        lambda _: incrowd.solve(survey(), "crowd", error=2.0),
        "error: got 2.0; ",
        "error: --error: got 2.0; ",
    ),
    (
        lambda f: incrowd.save_estimates(estimates(), f / "file.pdf"),
        "path: got ",
        "error: -o: got ",
    ),
    (lambda f: incrowd.load_words(f / "none"), "words: got ", "error: --words: got "),
    (
        lambda f: incrowd.note(f / "ledger", incrowd.plan(survey())),
        "as many people took part as planned, as_planned=True",
        "as many people took part as planned, --as-planned",
    ),
]


@pytest.mark.parametrize(("refused", "library", "line"), REFUSED)
def test_each_says_it_in_its_own_words(refused, library, line, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    (tmp_path / "ledger").write_text(Ledger().dumps())
    with pytest.raises(UsageError) as error:
        refused(tmp_path)
    assert library in str(error.value) and "--" not in str(error.value)
    with pytest.raises(SystemExit) as ended:
        guarded(lambda **_: refused(tmp_path), "incrowd")
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and line in error


@pytest.fixture(scope="module")
def two_plans(tmp_path_factory):
    """Two plans, reports of both, and tallies and a ledger of the second."""
    folder = tmp_path_factory.mktemp("files")
    for name, crowd in (("one", 100), ("other", 120)):
        questions = [{"id": id, "type": "yesno"} for id in "ab"]
        raw = {"name": name, "crowd": crowd, "privacy": {"epsilon": 2.0, "analysis": "local"}}
        made = incrowd.plan(incrowd.Survey.of(raw | {"question": questions}))
        (folder / f"{name}.json").write_text(made.dumps())
        answers = pa.table({"a": ["yes", "no"] * 60, "b": ["no"] * 120})
        incrowd.save_reports(incrowd.randomize(made, answers), folder / f"{name}.parquet")
    save_tally(
        incrowd.count(made, incrowd.load_reports(folder / "other.parquet")), folder / "t.json"
    )
    (folder / "ledger.json").write_text(Ledger(asked=(made.asked,)).dumps())
    return folder


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            "estimate one.json one.parquet other.parquet",
            "reports: got 'other.parquet'; they belong",
        ),
        ("estimate one.json t.json", "tally: got 't.json'; it counts the reports of another"),
        ("estimate other.json other.parquet t.json", "reports: got 'other.parquet'; they occur"),
        ("estimate one.json one.parquet one.parquet", "reports: got 'one.parquet'; they occur"),
        ("compare one.json other.parquet a b", "reports: got 'other.parquet'; they belong"),
        ("regress one.json other.parquet --outcome a --on b", "reports: got 'other.parquet'; they"),
        ("postprocess one.json other.parquet", "reports: got 'other.parquet'; they belong"),
        ("verify one.json other.parquet", "reports: got 'other.parquet'; they belong"),
        ("ledger ledger.json other.json other.parquet", "plan: got 'other.json'; it is already"),
        ("ledger ledger.json one.json one.parquet", "plan: got 'one.json'; it does not cover"),
        ("randomize one.json a.csv -o r.parquet --ledger ledger.json", "plan: got 'one.json'; it"),
    ],
)
def test_files_are_named_and_not_their_digests(two_plans, arguments, says, monkeypatch):
    monkeypatch.chdir(two_plans)
    Path("a.csv").write_text("a,b\nyes,no\n")
    code, error = said(arguments.split())
    assert code and says in error and not re.search(r"got '[0-9a-f]{12}", error)
