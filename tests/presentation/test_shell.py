"""One shell for every page: it fetches nothing, and text that looks like markup stays text."""

import ast
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

import incrowd
import reproduction
from incrowd.presentation.charts import FrontierCurves, curve_page, frontier_page, frontier_table
from incrowd.presentation.shell import breakable, rendered, templates
from reproduction.figure import Axis, Figure
from reproduction.page import figure_page, papers_page
from reproduction.row import Row
from tests.oracles.source import nodes_of

EVIL = "<script>alert('a & b')</script>"
SOURCES = (Path(incrowd.__file__).parent, Path(reproduction.__file__).parent)


def pages():
    """Every page but those of estimates and cards, which have tests of their own."""
    points, epsilons = [(1, 0.1), (5, 0.03)], np.linspace(0, 2, 3)
    axis = Axis("x", 0, 1)
    curves = FrontierCurves(points, points, points, 5.0, 1.0, 0.03, "largest")
    figure = Figure("stem", EVIL, EVIL, EVIL, axis, axis, ())
    picture = Markup('<svg viewBox="0 0 1 1"></svg>')
    row = Row(EVIL, EVIL, EVIL, EVIL, EVIL, f"wrong: {EVIL}")
    return {
        "frontier": frontier_page(EVIL, curves),
        "curves": curve_page(EVIL, epsilons, {"local": np.exp(-epsilons)}),
        "papers": papers_page([row], [(figure, picture)]),
        "figure": figure_page(figure, picture),
    }


@pytest.fixture(scope="module")
def made():
    return pages()


@pytest.mark.parametrize("name", ["frontier", "curves", "papers", "figure"])
def test_every_page_has_the_shell_and_escapes_its_texts(made, name):
    page = made[name]
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    assert page.endswith("</main>\n</body>\n</html>\n")
    assert '<meta name="generator" content="incrowd">' in page
    assert "<script" not in page and "&lt;script&gt;alert(&#39;a &amp; b&#39;)" in page
    assert "<svg viewBox" in page and "http" not in page


def test_what_the_shuffler_buys_is_drawn_where_one_is_relied_on():
    """Three pictures, or two; the same points in the table beside the page."""
    points, local = [(1.0, 0.1), (5.0, 0.03)], [(30.0, 0.01), (1.0, 0.4)]
    for curves, number in ((local, 3), ((), 2)):
        found = FrontierCurves(points, points, curves, 5.0, 1.0, 0.03, "largest")
        page = frontier_page("s", found)
        assert page.count("<svg viewBox") == number
        assert ("What the shuffler adds" in page) == ("40%" in page) == bool(curves)
        rows = frontier_table(found).to_pylist()
        kept = [(row["value"], row["standard_error"]) for row in rows[2 * len(points) :]]
        assert kept == list(curves)


def test_a_picture_is_not_escaped_and_a_text_is():
    assert "<td><b></td>" in templates().from_string("<td>{{ x }}</td>").render(x=Markup("<b>"))
    assert "<td>&lt;b&gt;</td>" in templates().from_string("<td>{{ x }}</td>").render(x="<b>")
    assert breakable("a_<b>") == Markup("a_<wbr>&lt;b&gt;")


def test_a_template_without_all_its_parts_makes_no_page():
    with pytest.raises(UndefinedError):
        rendered("curves.html", title="a")


def test_there_is_no_other_shell():
    """Documents begin in one template; no module writes markup of its own but for pictures.

    The survey page and the studio begin in their own: a policy forbids a style sheet within them.
    """
    files = [
        file
        for source in SOURCES
        for file in source.rglob("*.*")
        if file.suffix in (".py", ".html")
    ]
    begin = [f.name for f in files if "<!doctype" in f.read_text(encoding="utf-8").lower()]
    assert sorted(begin) == ["index.html", "locked_out.html", "shell.html", "studio.html"]
    tag = re.compile(r"<(?:p|div|section|table|td|h1)\b")
    for file in (file for file in files if file.suffix == ".py"):
        nodes = nodes_of(file.read_text(encoding="utf-8"))
        texts = [node.value for node in nodes if isinstance(node, ast.Constant)]
        assert not [text for text in texts if isinstance(text, str) and tag.search(text)], file


def test_templates_are_part_of_the_package():
    project = tomllib.loads((Path(reproduction.__file__).parents[1] / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["incrowd"]
    packed = {file for pattern in patterns for file in SOURCES[0].glob(pattern)}
    assert set(SOURCES[0].rglob("*.html")) <= packed
