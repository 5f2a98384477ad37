"""What the documents say is run: every code block of the manual and of the README.

A page is one script: its sh and python blocks, and the toml blocks that name a file in their
first line, run in their order in a folder of their own. Other toml blocks are surveys, or parts
of one. A mark before a block says when: `slow` with the slow tests, `fresh` in a fresh copy of
the repository, where the whole page is run; `install` in the check before a release alone. The
texts of the first page are what its commands print; with the mark `random`, up to the noise.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

import incrowd
from incrowd.cli.app import app
from incrowd.cli.later import COMMANDS, Later
from incrowd.survey.questions import TYPES
from incrowd.survey.randomizers import fields
from tests.oracles import repository

ROOT = Path(__file__).parent.parent
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
MANUAL = sorted((ROOT / "docs").glob("*.md"))
ALONE = ROOT / "packages" / "accountant" / "README.md"
PAGES = [ROOT / "README.md", ROOT / "DESCRIPTION.md", ALONE, *MANUAL]
# Each of these takes many seconds.
LONG = {
    "README.md",
    "DESCRIPTION.md",
    "afternoon.md",
    "first-survey.md",
    "mixers.md",
    "regression.md",
    "running.md",
}
LONG |= {"api.md", "few-people.md", "guarantee.md", "interviews.md"}
LONG |= {"accountant.md", "commands.md", "questions.md", "strata.md", "survey-page.md"}
LANGUAGES = {"sh", "python", "toml", "text"}
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>\w+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"# ([\w-]+\.toml)\n")
HEAD = {"name": "a part", "crowd": 1000, "privacy": {"epsilon": 1.0}}


class Block(NamedTuple):
    mark: str
    language: str
    text: str

    @property
    def command(self):
        """What the page's script does for this block."""
        if self.language == "sh":
            return self.text
        if self.language == "python":
            return f"python - <<'PYTHON'\n{self.text}PYTHON\n"
        if self.language == "toml" and (file := FILE.match(self.text)):
            return f"cat > {file[1]} <<'TOML'\n{self.text}TOML\n"
        return ""


def blocks(page):
    return [
        Block(m["mark"] or "", m["language"], m["text"]) for m in BLOCK.finditer(page.read_text())
    ]


def script(page, *marks):
    return "".join(block.command for block in blocks(page) if block.mark in ("", *marks))


def run(text, folder, **environment):
    """Run a script; its lines are shown as they are run, so that an error says where it is."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "COLUMNS": "100"} | environment
    command = ["bash", "-e", "-u", "-o", "pipefail", "-x", "-c", text]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout + done.stderr


def in_folder(page, tmp_path, *marks):
    if not script(page, *marks).strip():
        pytest.skip("the page has no such blocks")
    for folder in ("examples", "reproduction"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    run(script(page, *marks), tmp_path)


def named(page):
    return page.name if page.parent == ROOT / "docs" else str(page.relative_to(ROOT))


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def printed(expected, output, *, random=False):
    """Whether a text of a page is in an output, part by part between lines of dots.

    random: whether the noise is in its numbers. Each then may differ by four standard errors of
    the page's shares, 1.5 percentage points, and a number of people by 3%.
    """
    whole = " ".join(output.split())
    for part in expected.split("\n...\n"):
        words = " ".join(part.split())
        pattern = NUMBER.sub("#", words)
        place = NUMBER.sub("#", whole).find(pattern)
        if not random:
            place = whole.find(words)
        if place < 0:
            return False
        if random:
            before = NUMBER.sub("#", whole)[:place].count("#")
            numbers = NUMBER.findall(whole)[before : before + pattern.count("#")]
            for shown, real in zip(NUMBER.findall(words), numbers, strict=True):
                one, other = (float(each.replace(",", "")) for each in (shown, real))
                if abs(one - other) > max(1.5, 0.03 * one):
                    return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("page", [ROOT / "docs" / "first-survey.md"], ids=named)
def test_the_outputs_of_a_page_are_what_its_commands_print(page, tmp_path):
    output, texts = "", 0
    for block in blocks(page):
        if block.language == "sh" and not block.mark:
            output = run(block.text, tmp_path)
        elif block.language == "text":
            assert printed(block.text, output, random=block.mark == "random"), block.text
            texts += 1
    assert texts >= 3


def test_an_output_that_is_not_printed_is_found():
    output = "With 20,000 people:\n  ±0.7  in all\nNo  88.19  0.24\nthe end"
    assert printed("With 20,000 people: ±0.7 in all\n...\nthe end\n", output)
    assert not printed("With 20,000 people: ±0.8 in all\n", output)
    assert not printed("With 20,000 people\n...\nthe beginning\n", output)
    assert printed("No 87.5 0.24\n", output, random=True)
    assert not printed("No 80.19 0.24\n", output, random=True)
    assert not printed("Yes 88.19 0.24\n", output, random=True)


def quick(page):
    return pytest.param(page, marks=[pytest.mark.slow] if page.name in LONG else [])


@pytest.mark.parametrize("page", list(map(quick, PAGES)), ids=named)
def test_the_blocks_of_a_page_run(page, tmp_path):
    in_folder(page, tmp_path)


def marked(mark):
    return [page for page in PAGES if any(block.mark == mark for block in blocks(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", marked("slow"), ids=named)
def test_the_long_blocks_of_a_page_run(page, tmp_path):
    in_folder(page, tmp_path, "slow")


@pytest.mark.slow
@pytest.mark.parametrize("page", marked("fresh"), ids=named)
def test_a_page_works_on_a_fresh_machine(page, tmp_path):
    """In a copy of what is in the repository, without its environment: what sets it up is first."""
    repository.copy(tmp_path)
    python = Path(sys.base_prefix) / "bin" / "python3"
    in_order = sorted(blocks(page), key=lambda block: block.mark != "fresh")
    text = "".join(block.command for block in in_order if block.mark in ("", "fresh"))
    run(text, tmp_path, PYTHON=str(python), PATH=os.environ["PATH"])


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_says_what_it_is(page):
    found = blocks(page)
    assert len(re.findall(r"^```", page.read_text(), flags=re.MULTILINE)) == 2 * len(found)
    assert {block.language for block in found} <= LANGUAGES
    assert {block.mark for block in found} <= {"", "slow", "fresh", "install", "random"}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_survey_of_a_page_can_be_loaded(page):
    for block in blocks(page):
        if block.language == "toml":
            content = tomllib.loads(block.text)
            if "device" in content:
                assert interview_mistakes(content) <= {"interviews.open-design"}  # for `plan`
            else:
                incrowd.Survey.of(content if FILE.match(block.text) else HEAD | content)


def interview_mistakes(content):
    """The codes of the mistakes in a survey of interviews."""
    try:
        incrowd.InterviewSurvey.of(content)
    except incrowd.SurveyError as error:
        return {problem.code for problem in error.problems}
    return set()


def test_every_public_name_is_in_the_docs():
    text = " ".join(page.read_text() for page in MANUAL)
    assert [name for name in incrowd.__all__ if f"`{name}`" not in text] == []


def commands(group, words=()):
    """Every command with its parameters, by the words that call it."""
    for name, command in group.commands.items():
        command = command.loaded() if isinstance(command, Later) else command
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield " ".join((*words, name)), command.params


def sections(page):
    """The text below each heading of the second and third level."""
    parts = re.split(r"^##+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {head.strip("`"): text for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_every_command_and_every_option_is_in_the_manual():
    described = sections(COMMANDS_PAGE)
    for words, params in commands(typer.main.get_command(app)):
        text = described[f"incrowd {words}"]
        for option in (option for param in params for option in param.opts if option[0] == "-"):
            assert f"`{option}" in text, f"incrowd {words} {option}"


def test_the_groups_of_the_manual_are_those_of_the_list_of_commands():
    rows = re.findall(r"^\| ([A-Z][a-z ]+) \| (\[.*) \|$", COMMANDS_PAGE.read_text(), re.MULTILINE)
    listed = [(group, link) for group, links in rows for link in re.findall(r"\(#(.+?)\)", links)]
    declared = [
        (COMMANDS[words.split()[0]][0], f"incrowd-{words.replace(' ', '-')}")
        for words, _ in commands(typer.main.get_command(app))
    ]
    assert sorted(listed) == sorted(declared)
    assert [*dict(rows)] == [*dict.fromkeys(group for group, _, _ in COMMANDS.values())]


def test_every_option_of_the_manual_exists():
    described = sections(COMMANDS_PAGE)
    for words, params in commands(typer.main.get_command(app)):
        known = {option for param in params for option in (*param.opts, *param.secondary_opts)}
        shown = re.findall(r"^\| `(--?[\w-]+)", described[f"incrowd {words}"], flags=re.MULTILINE)
        assert set(shown) <= known, words


def test_every_key_of_a_survey_is_in_the_manual():
    text = (ROOT / "docs" / "files.md").read_text()
    written = (incrowd.Survey, *TYPES.values(), fields())
    schemas = [model.model_json_schema() for model in written]
    models = [*schemas, *(each for schema in schemas for each in schema.get("$defs", {}).values())]
    keys = {key for model in models for key in model.get("properties", {})}
    assert {"at_most", "edges", "cohorts", "spinner", "epsilon"} <= keys
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


@pytest.mark.slow
def test_the_tables_of_the_papers_errors_are_what_is_computed():
    from reproduction.manual import HEADING, PAGE, tables
    from reproduction.recomputed import rows

    assert PAGE.read_text(encoding="utf-8").split(HEADING)[1] == tables(rows())


@pytest.mark.slow
def test_the_pictures_are_what_their_script_draws(tmp_path):
    drawn = ROOT / "docs" / "pictures"
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    command = f"python {drawn / 'draw.py'} {tmp_path}"
    run(command, tmp_path, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=path)
    for picture in sorted(tmp_path.glob("*.svg")):
        assert picture.read_text() == (drawn / picture.name).read_text(), picture.name


def test_every_picture_is_shown_somewhere():
    text = " ".join(page.read_text() for page in PAGES)
    pictures = [*(ROOT / "docs").glob("*.png"), *(ROOT / "docs" / "pictures").glob("*.svg")]
    assert [picture.name for picture in pictures if picture.name not in text] == []


def test_the_manual_asks_for_nothing_from_elsewhere():
    for page in MANUAL:
        assert not re.search(r"!\[[^]]*\]\(http|<(?:script|link|img)", page.read_text()), page.name


def test_versions_are_names_and_versions_only():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"#.*|[A-Za-z0-9_.-]+==[\w.+!]+", line) for line in lines if line)


def test_no_path_of_a_machine_is_committed():
    home = os.path.expanduser("~")
    for name in repository.names():
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        assert f"{ROOT}/".encode() not in content, name
        assert len(home) < 5 or f"{home}/".encode() not in content, name
