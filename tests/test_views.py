"""Results as people use them: in a notebook, at a prompt, as tables of other libraries."""

import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from itertools import chain, product

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import incrowd
from incrowd.errors import UsageError
from incrowd.estimation.cell_errors import CellErrors
from incrowd.presentation.guarantee_text import guarantee_sentence
from incrowd.presentation.layouts import page
from incrowd.presentation.shell import rendered

LINE = 250  # characters that a prompt may answer with
HOSTILE = "<script>alert(1)</script>"
SURVEY = {
    "name": f"Habits {HOSTILE}",
    "crowd": 4000,
    "privacy": {"epsilon": 1.0, "delta": 1e-6},
    "question": [
        {"id": "smokes", "type": "yesno"},
        {"id": "drinks", "type": "choice", "options": ["never", "weekly", "a & b"]},
    ],
    "table": [{"questions": ["smokes", "drinks"]}],
}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.open, self.srcdoc = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.open.append(tag)
        self.srcdoc = dict(attrs).get("srcdoc", self.srcdoc)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page_in(shown):
    """The page that a notebook shows in a frame, its texts as people read them."""
    return unescape(parsed(shown._repr_html_()).srcdoc)


def parsed(html):
    found = Tags()
    found.feed(html)
    assert found.open == [], "every tag is closed"
    return found


@pytest.fixture(scope="module")
def made():
    survey = incrowd.Survey.of(SURVEY)
    plan = incrowd.plan(survey)
    generator = np.random.default_rng(1)
    answers = pa.table(
        {
            "smokes": generator.choice(["no", "yes"], 4000),
            "drinks": generator.choice(["never", "weekly", "a & b"], 4000),
        }
    )
    (reports,) = incrowd.randomize(plan, answers, simulation_seed=5)
    return {
        "survey": survey,
        "plan": plan,
        "reports": reports,
        "tally": incrowd.count(plan, reports),
        "estimates": incrowd.estimate(plan, reports),
        "comparison": incrowd.compare(plan, reports, "smokes", "drinks"),
    }


@pytest.mark.slow
def test_a_plan_is_shown_in_a_fresh_interpreter(made, tmp_path):
    plan, path = made["plan"], tmp_path / "plan.json"
    path.write_text(plan.dumps())
    code = f"import incrowd; print(incrowd.Plan.load({str(path)!r})._repr_html_())"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert guarantee_sentence(plan.guarantee) in unescape(unescape(ran.stdout))
    assert plan.digest in ran.stdout


@pytest.mark.parametrize("name", ["survey", "plan", "estimates", "comparison"])
def test_a_notebook_shows_it_and_runs_nothing_of_it(made, name):
    html = made[name]._repr_html_()
    found = parsed(html)
    assert "script" not in found.seen
    assert HOSTILE not in html
    assert HOSTILE not in found.srcdoc
    assert "smokes" in page_in(made[name]) or name == "plan"


@pytest.mark.parametrize("name", ["survey", "plan", "estimates", "comparison"])
def test_a_notebook_shows_one_heading_in_the_style_of_a_page(made, name):
    """Bare headings of the third level, without a style, stood in notebooks."""
    inner = parsed(made[name]._repr_html_()).srcdoc
    assert parsed(made[name]._repr_html_()).seen == ["iframe"]
    seen = [tag for tag in heading_tags(inner) if tag in ("h1", "h2", "h3")]
    assert seen.count("h1") == 1 and seen[0] == "h1"
    style = inner.partition("<style>")[2].partition("</style>")[0]
    assert style.startswith(rendered("style.css").strip()[:2000])


def heading_tags(html):
    found = Tags()
    found.handle_endtag = lambda tag: None  # charts have elements without an end
    found.feed(html)
    return found.seen


def test_a_notebook_shows_the_very_page_of_estimates(made):
    assert parsed(made["estimates"]._repr_html_()).srcdoc == page(made["estimates"])


def test_a_notebook_shows_every_figure_of_a_comparison_and_the_warning(made):
    found = made["comparison"]
    html = page_in(found)
    named = {figure.name for figure in found.figures} - {share.name for share in found.shares}
    assert named and all(f'<th scope="row">{name}</th>' in html for name in named)
    crosstab = found.view().tables[0]
    headings, lines = crosstab.headings, crosstab.lines
    assert all(f">{text}<" in html for text in (*headings, *chain.from_iterable(lines)))
    assert "known seed 5" in html
    assert guarantee_sentence(found.guarantee) in html


@pytest.mark.parametrize("name", ["survey", "plan", "reports", "tally", "estimates", "comparison"])
@pytest.mark.parametrize("text", [repr, str])
def test_a_prompt_answers_in_a_line(made, name, text):
    said = text(made[name])
    assert len(said) <= LINE and "\n" not in said and "array(" not in said
    assert said.startswith(type(made[name]).__name__ + "(")
    if name in ("reports", "tally", "estimates", "comparison"):
        assert "seed 5" in said


def test_a_table_is_found_by_its_questions(made):
    estimates = made["estimates"]
    assert estimates["smokes"] is estimates.table("smokes") is estimates.tables[0]
    joint = estimates.tables[-1]
    assert estimates["smokes", "drinks"] is estimates.table("drinks", "smokes") is joint
    assert joint.questions == ("smokes", "drinks") and list(estimates) == [*estimates.tables]
    wrong = r"table: got 'smoke'; the tables are smokes, drinks, smokes × drinks; name one"
    for questions in ("smoke", ("smoke",)):
        with pytest.raises(incrowd.TableError, match=wrong):
            estimates[questions]
    with pytest.raises(incrowd.TableError, match="table: got 3; the tables are"):
        estimates.table(3)


def test_the_line_of_a_table_holds_no_figures(made):
    assert len(repr(made["estimates"].tables[-1])) <= LINE


def test_a_table_of_estimates_has_a_row_for_each_cell(made):
    table = made["estimates"].tables[-1]
    found = table.to_arrow()
    assert found.column_names == [*table.questions, "estimate", "standard_error", "low", "high"]
    for row, cell in zip(found.to_pylist(), product(*map(enumerate, table.answers)), strict=True):
        place = tuple(number for number, _ in cell)
        assert [row[id] for id in table.questions] == [answer for _, answer in cell]
        assert row["estimate"] == table.estimate[place]
        assert row["high"] == table.high[place]


def test_estimates_are_the_table_that_files_hold(made, tmp_path):
    incrowd.save_estimates(made["estimates"], tmp_path / "estimates.parquet")
    held = pa.parquet.read_table(tmp_path / "estimates.parquet")
    assert made["estimates"].to_arrow().equals(held, check_metadata=True)
    assert "simulation" in made["estimates"].to_arrow().column_names


def test_a_comparison_has_a_row_for_each_figure(made):
    found = made["comparison"]
    rows = found.to_arrow().to_pylist()
    assert [row["name"] for row in rows] == [figure.name for figure in found.figures]
    assert [row["kind"] for row in rows].count("share") == len(found.shares)
    assert all("seed 5" in row["simulation"] for row in rows)


def test_without_pandas_it_is_said_what_to_do(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pandas: is missing; .*to_arrow"):
        made["estimates"].to_pandas()


@pytest.mark.parametrize("name", ["estimates", "comparison"])
def test_with_pandas_it_is_a_data_frame(made, name):
    pandas = pytest.importorskip("pandas")
    frame = made[name].to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["estimate"].tolist() == made[name].to_arrow()["estimate"].to_pylist()


def test_a_survey_shows_the_regressions_that_it_wants(made):
    wanted = {"outcome": "smokes", "on": ["drinks=a & b"]}
    shown = page_in(incrowd.Survey.of(SURVEY | {"regression": [wanted]}))
    assert "smokes on drinks=a & b" in shown and "Wanted regressions" in shown
    assert "Wanted regressions" not in page_in(made["survey"])


# Tables and curves, as other libraries and notebooks read them.


@pytest.fixture(scope="module")
def curve():
    return incrowd.privacy_curve("blanket", incrowd.BitFlip.from_epsilon(2.0), 1000)


def cells(table):
    """The rows of a table, from its arrays alone."""
    places = np.ndindex(table.estimate.shape)
    figures = ("estimate", "standard_error", "low", "high")
    return [
        {id: answers[i] for id, answers, i in zip(table.questions, table.answers, at, strict=True)}
        | {name: float(getattr(table, name)[at]) for name in figures}
        for at in places
    ]


def test_other_libraries_read_a_table_as_it_is(made):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    table = made["estimates"].tables[-1]
    wanted = cells(table)
    joint = table
    assert list(joint) == wanted
    assert polars.DataFrame(table).to_dicts() == wanted
    assert pandas.DataFrame(table).to_dict("records") == wanted
    assert pandas.api.interchange.from_dataframe(table).to_dict("records") == wanted
    assert pa.table(table).to_pylist() == wanted
    assert duckdb.sql("select * from joint").fetchall() == [tuple(row.values()) for row in wanted]


@pytest.mark.parametrize("name", ["estimates", "comparison"])
def test_other_libraries_read_every_result(made, name):
    polars = pytest.importorskip("polars")
    rows = made[name].to_arrow().to_pylist()
    assert polars.DataFrame(made[name]).to_dicts() == rows
    assert made[name].__dataframe__().num_rows() == len(rows)


def test_a_notebook_shows_the_numbers_of_a_table(made):
    table = made["estimates"].tables[-1]
    html = page_in(table)
    shown = re.findall(r">([\d.]+)</td>.*?>([\d.]+)</td>.*?>([\d.]+) to ([\d.]+)<", html, re.DOTALL)
    for row, figures in zip(cells(table), shown, strict=True):
        assert f">{unescape(row['drinks'])}<" in html
        exact = (row[each] for each in ("estimate", "standard_error", "low", "high"))
        assert [*map(float, figures)] == pytest.approx([100 * each for each in exact], abs=0.051)
    assert "4,000 people" in html and "script" not in parsed(table._repr_html_()).seen


def test_a_notebook_shows_the_largest_cells_of_a_long_table(made):
    one = made["estimates"].tables[0]
    count = 150
    shares = np.linspace(0.001, 0.01, count)
    answers = tuple(f"o{n}" for n in range(count))
    error = np.full(count, 0.001)
    errors = CellErrors.of_noise(error, shares, one.people)
    long = replace(one, answers=(answers,), estimate=shares, error=errors)
    html = page_in(long)
    assert "the largest 100 of 150 cells" in html
    assert ">o149<" in html and ">o50<" in html and ">o49<" not in html


def values_of(chart):
    (values,) = chart.to_dict()["datasets"].values()
    return values


def test_a_table_is_drawn_with_its_intervals(made):
    table = made["estimates"].tables[-1]
    drawn = [
        (each["answer"], each["estimate"], each["low"], each["high"])
        for each in values_of(table.plot())
    ]
    wanted = [(row["drinks"], row["estimate"], row["low"], row["high"]) for row in cells(table)]
    assert drawn == wanted
    assert table.plot().to_dict()["spec"]["layer"]  # a small multiple for each answer


@pytest.mark.slow
def test_a_curve_is_drawn_where_it_is_known(curve):
    values = values_of(curve.plot())
    for each in values[::20]:
        assert each["delta"] == curve.delta(each["epsilon"])
    assert values[0]["epsilon"] == 0 and 0.9e-12 < values[-1]["delta"] < 1.1e-12
    assert "legend" in str(curve.plot().to_dict()["encoding"])


@pytest.mark.slow
def test_a_chart_can_be_saved(made, curve, tmp_path):
    for number, one in enumerate((made["estimates"].tables[0], curve)):
        one.plot().save(tmp_path / f"{number}.svg")
        assert "<svg" in (tmp_path / f"{number}.svg").read_text()


def test_a_curve_is_one_line(curve):
    text = repr(curve**7)
    assert "\n" not in text and len(text) <= LINE and "array(" not in text
