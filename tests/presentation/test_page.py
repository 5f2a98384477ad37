"""What people and programs are shown: the numbers as they are, and nothing that misleads."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from rich.console import Console

from incrowd.accountant.analyses import ANALYSES, Analysis
from incrowd.accountant.analyses.base import AnalysisResult
from incrowd.accountant.codes import WorstPair
from incrowd.accountant.schema import Contribution
from incrowd.errors import UsageError
from incrowd.estimation.cell_errors import NOISE_AND_SAMPLING, CellErrors
from incrowd.estimation.receipts import ROWS
from incrowd.estimation.results import Arrived, Estimates
from incrowd.estimation.tables import Provenance, TableEstimate
from incrowd.number_text import bound, digits, noise, percent, written_out
from incrowd.planner.plan import make_plan
from incrowd.plans import Guarantee
from incrowd.plans.plan import Assumption
from incrowd.presentation.data import json_ready
from incrowd.presentation.guarantee_text import (
    guarantee_heading,
    guarantee_sentence,
    guarantee_symbols,
    warnings,
)
from incrowd.presentation.layouts import page
from incrowd.presentation.receipts import simulation_warning
from incrowd.presentation.terminal import terminal
from incrowd.presentation.write import check_ending, save_estimates
from incrowd.survey import Survey

EVIL = "<script>alert('x')</script>"
NAMES = ["größe 調査", "<img src=x onerror=alert(1)>", '[red]a & "b"[/red]']


def survey(options: int = 3) -> Survey:
    names = [*NAMES, *(f"option {number}" for number in range(options - 3))]
    return Survey.of(
        {
            "name": f"Drugs & {EVIL}",
            "crowd": 1000,
            "copies": 2,
            "privacy": {"epsilon": 2.0, "analysis": "local"},
            "question": [
                {"id": EVIL, "type": "yesno"},
                {"id": "kind", "type": "choice", "options": names},
                {"id": "visits", "type": "number", "edges": [0, 1.5, 3]},
            ],
        }
    )


def estimated(survey: Survey, *tables: tuple[str, ...], truth: bool = True) -> Estimates:
    """Estimates with made-up figures; the first cell of every table is below zero."""
    plan, randomness = make_plan(survey), np.random.default_rng(5)
    estimates, truths = [], []
    for ids in tables:
        answers = tuple(survey.question(id).answers for id in ids)
        shares = randomness.dirichlet(np.ones(np.prod([len(a) for a in answers])))
        shares = shares.reshape([len(a) for a in answers])
        values = shares + randomness.normal(0, 0.01, shares.shape)
        values.flat[0] = -0.0123
        errors = np.full(shares.shape, 0.0234)
        people = 10**15  # so many that sampling adds nothing to the error
        error = CellErrors.of_noise(errors, values, people)
        estimates.append(TableEstimate(ids, answers, values, error, Provenance(people)))
        truths.append(shares)
    return Estimates(
        plan=plan,
        arrived=(Arrived(accepted=2468, rejected=0, people=1234),),
        guarantee=plan.guarantee,
        tables=tuple(estimates),
        seed=42 if truth else None,
        truth=tuple(truths) if truth else None,
    )


@pytest.fixture(scope="module")
def simulated() -> Estimates:
    return estimated(
        survey(), (EVIL,), ("kind",), (EVIL, "kind"), (EVIL, "kind", "visits"), truth=True
    )


@pytest.fixture(scope="module")
def real(simulated: Estimates) -> Estimates:
    return replace(simulated, seed=None, truth=None)


@pytest.fixture(scope="module")
def html(simulated: Estimates) -> str:
    return page(simulated)


def printed(estimates: Estimates, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal(estimates))
    return console.file.getvalue()


class TestData:
    def test_json_has_the_agreed_keys(self, simulated: Estimates) -> None:
        data = json_ready(simulated)
        assert set(data) == {
            "simulation",
            "reports",
            "rejected",
            "crowd",
            "simulation_seed",
            "persons",
            "plan",
            "noise",
            "copies",
            "messages",
            "guarantee",
            "tables",
            "words",
        }
        assert (data["reports"], data["crowd"]) == (2468, 1234)
        assert data["plan"] == simulated.plan.digest
        assert data["noise"] == simulated.plan.messages[0].noise.q
        assert data["copies"] == 2
        said = {"sentence": guarantee_sentence(simulated.guarantee)}
        said |= {"promise_holds": True, "reduced_by": [], "strength": "moderate"}  # epsilon 2
        limit = {"epsilon": 2.0, "delta": 0.0, "proved": True}
        parties = "collector", "readers", "shuffler", "shuffler and collector"
        said |= {"against": dict.fromkeys(parties, limit)}  # its analysis is local
        assert data["guarantee"] == simulated.guarantee.model_dump(mode="json") | said
        assert json.loads(json.dumps(data, allow_nan=False)) == data

    def test_json_cells_equal_the_arrays(self, simulated: Estimates) -> None:
        for index, table in enumerate(json_ready(simulated)["tables"]):
            source = simulated.tables[index]
            assert table["questions"] == list(source.questions)
            assert (table["errors"], table["level"]) == (NOISE_AND_SAMPLING, 0.95)
            for name in ("estimate", "standard_error", "low", "high"):
                values = [cell[name] for cell in table["cells"]]
                np.testing.assert_array_equal(values, getattr(source, name).ravel())
            truths = [cell["truth"] for cell in table["cells"]]
            np.testing.assert_array_equal(truths, simulated.truth[index].ravel())

    def test_each_answer_stands_with_its_own_value(self, simulated: Estimates) -> None:
        table = simulated.tables[3]
        for cell in json_ready(simulated)["tables"][3]["cells"]:
            place = tuple(a.index(x) for a, x in zip(table.answers, cell["answer"], strict=True))
            assert cell["estimate"] == table.estimate[place]

    def test_real_reports_have_no_seed_and_no_truth(self, real: Estimates) -> None:
        data = json_ready(real)
        assert data["simulation_seed"] is None
        assert all("truth" not in cell for table in data["tables"] for cell in table["cells"])
        assert "truth" not in real.to_arrow().column_names

    def test_the_long_table_has_a_row_for_each_cell(self, simulated: Estimates) -> None:
        table = simulated.to_arrow()
        assert table.column_names == [
            "questions",
            "answer",
            "estimate",
            "standard_error",
            "low",
            "high",
            "below_zero",
            "truth",
            "simulation",
        ]
        assert table.num_rows == 2 + 3 + 6 + 18
        expected = np.concatenate([t.estimate.ravel() for t in simulated.tables])
        np.testing.assert_array_equal(table["estimate"], expected)
        np.testing.assert_array_equal(table["below_zero"], expected < 0)
        about = json.loads(table.schema.metadata[b"incrowd"])
        assert about["simulation_seed"] == 42


class TestNumbers:
    @pytest.mark.parametrize(
        ("error", "places"), [(0.234, 1), (0.0234, 1), (0.00234, 2), (1e-5, 4), (0, 2), (1e-12, 6)]
    )
    def test_two_digits_of_the_error(self, simulated: Estimates, error: float, places: int) -> None:
        cell = next(simulated.displayed(simulated.plan)).cells[0]._replace(standard_error=error)
        assert digits([cell]) == places

    def test_percent(self) -> None:
        assert percent(0.1234, 1) == "12.3"
        assert percent(-0.0123, 1) == "-1.2"
        assert percent(-0.00001, 1) == "0.0"

    def test_a_privacy_figure_is_never_rounded_down(self) -> None:
        assert written_out(2980.958) == "2,981"
        assert written_out(2.718281828) == "2.72"
        assert written_out(1.0000001) == "1.01"
        assert written_out(2.0) == "2.00"
        assert written_out(0.1) == "0.100"  # not 0.101: the double is a little above one tenth
        assert written_out(float("inf")) == "inf"
        assert [bound(0.9999), bound(1.0001e-6), bound(1e-6)] == ["1", "1.01e-06", "1e-06"]
        assert bound(0.6931471805599453, 12) == "0.69314718056"
        assert noise(0.27699) == "0.2769" and noise(0.25) == "0.25"


class Hope(Analysis):
    """An analysis that proves nothing."""

    name, assumption, proved = "hope", "every-crowd-tried", False

    def certificate(self, sent: Contribution, crowd: int, epsilon: float) -> AnalysisResult:
        raise NotImplementedError


class TestWords:
    def test_the_local_guarantee(self, real: Estimates) -> None:
        sentence = guarantee_sentence(real.guarantee)
        assert "at most 7.39" in sentence
        assert "nobody needs to be trusted" in sentence
        assert str(guarantee_heading(real.guarantee)) == "Guarantee"

    def test_a_large_epsilon_is_still_a_sentence(self, real: Estimates) -> None:
        large = real.guarantee.model_copy(update={"epsilon": 1e4})
        assert "practically no protection is left; nobody needs" in guarantee_sentence(large)

    def test_an_unproved_analysis_is_described_and_not_called_a_guarantee(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(ANALYSES, "hope", Hope())
        other = Guarantee.model_construct(
            analysis="hope",
            epsilon=1.0,
            delta=1e-6,
            crowd=10,
            assumptions=(Assumption(code=Hope.assumption),),
            worst=(WorstPair(code="any-pair"),),
            local_epsilon=8.0,
            proved=False,
        )
        text = guarantee_sentence(other)
        assert "hope" in text and "one in a million; this assumes: the shuffler" in text
        assert str(guarantee_heading(other)) == "Privacy, no guarantee" and "uarantee" not in text
        assert "differential privacy" not in str(guarantee_symbols(other))

    def test_a_blanket_is_a_guarantee_and_an_outlier_is_none(self, real: Estimates) -> None:
        crowd = (Assumption(code="whole-crowd"),)
        changes = {"analysis": "blanket", "delta": 1e-6, "assumptions": crowd}
        blanket = real.guarantee.model_copy(update=changes)
        assert str(guarantee_heading(blanket)) == "Guarantee"
        assert ". This holds provided that the shuffler" in guarantee_sentence(blanket)
        alike = {
            "analysis": "outlier",
            "proved": False,
            "assumptions": (Assumption(code="crowd-alike"),),
        }
        outlier = real.guarantee.model_copy(update=alike)
        assert str(guarantee_heading(outlier)) == "Privacy, no guarantee"


class TestTerminal:
    def test_says_what_is_promised_and_marks_what_is_below_zero(self, simulated: Estimates) -> None:
        text = printed(simulated)
        assert "by a factor of at most 7.39" in " ".join(text.split())
        assert simulation_warning(42).split(".")[0] in text
        assert "-1.2" in text and "below 0" in text
        assert "1,234 people" in text

    def test_user_text_is_not_markup(self, simulated: Estimates) -> None:
        assert NAMES[2] in printed(simulated)

    def test_a_two_way_table_is_a_grid_where_it_fits(self, simulated: Estimates) -> None:
        two_way = replace(simulated, tables=simulated.tables[2:3], truth=simulated.truth[2:3])
        assert " ± " in printed(two_way, 160)
        assert " ± " not in printed(two_way, 80)

    @pytest.mark.parametrize("width", [50, 70])
    def test_no_figure_is_cut_on_a_narrow_terminal(self, real: Estimates, width: int) -> None:
        assert "…" not in printed(real, width)

    def test_real_reports_carry_no_warning(self, real: Estimates) -> None:
        assert "Simulation" not in printed(real)


class TestPage:
    def test_fetches_nothing(self, html: str) -> None:
        tags = re.sub(r">[^<]*<", "><", html.split("</style>")[1])
        assert not re.search(r"\b(?:src|href|srcset|action|xmlns\S*)\s*=", _unquoted(tags))
        assert not re.search(r"url\s*\(|@import|@font-face", html)
        assert "http" not in html
        assert not re.search(r"<(?:script|link|iframe|img|object|embed|base|form)\b", html)

    def test_user_text_is_escaped(self, html: str) -> None:
        assert "<script" not in html and "<img" not in html
        assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;" in html
        assert "größe 調査" in html

    def test_says_what_is_promised(self, html: str, simulated: Estimates) -> None:
        assert _escaped(guarantee_sentence(simulated.guarantee)) in html
        assert "How to read this page" in html
        assert ROWS in html
        assert simulated.plan.digest in html

    def test_a_simulation_says_so_in_a_banner(self, html: str) -> None:
        assert f'<p class="banner" role="note">{simulation_warning(42)}</p>' in html
        assert "true share" in html

    def test_real_reports_carry_no_banner_and_no_truth(self, real: Estimates) -> None:
        html = page(replace(real, tables=real.tables[:1]))
        assert 'class="banner"' not in html
        assert "truth" not in html and "true share, known" not in html

    def test_raw_negative_values_are_shown_and_marked(self, html: str) -> None:
        assert html.count('<td class="main">−1.2</td>') == 4
        assert len(re.findall(r'class="mark">below 0</span></th><td class="main">−', html)) >= 4

    def test_a_chart_for_each_table_wide_and_narrow(self, html: str) -> None:
        assert html.count('<div class="wide"><svg') == html.count('<div class="narrow"><svg') == 4
        assert html.count("<title>Bars of the intervals") == 8

    def test_chart_colors_follow_the_page(self, html: str) -> None:
        drawn = set(re.findall(r'<(?:text|line|path)[^>]* (?:fill|stroke)="(#\w+)"', html))
        assert drawn and all(f'[fill="{color}"]' in html for color in drawn)

    @pytest.mark.slow
    def test_large_tables_are_cut_and_the_page_says_so(self) -> None:
        large = survey(options=900)
        html = page(estimated(large, ("kind",), ("kind", "visits")))
        assert "Not drawn" in html
        assert "1,596 of 2,700 cells are listed" in html
        assert len(html.encode()) < 2_000_000

    def test_a_page_is_smaller_than_200_kilobytes(self, html: str) -> None:
        assert len(html.encode()) < 200_000


class TestWrite:
    BEGINS: ClassVar = {
        ".csv": b"estimate",
        ".json": b"{",
        ".parquet": b"par1",
        ".html": b"<!doctype html>",
    }

    @pytest.mark.parametrize("ending", [".csv", ".json", ".parquet", ".html", ".JSON"])
    def test_writes_by_ending(self, simulated: Estimates, tmp_path: Path, ending: str) -> None:
        small = replace(simulated, tables=simulated.tables[:1], truth=simulated.truth[:1])
        path = tmp_path / f"out{ending}"
        assert check_ending(path) == ending.lower()
        save_estimates(small, path)
        assert [file.name for file in tmp_path.iterdir()] == [path.name]
        assert self.BEGINS[ending.lower()] in path.read_bytes()[:200].lower()

    def test_csv_and_parquet_give_back_the_table(
        self, simulated: Estimates, tmp_path: Path
    ) -> None:
        table = simulated.to_arrow()
        save_estimates(simulated, tmp_path / "out.csv")
        save_estimates(simulated, tmp_path / "out.parquet")
        from_csv = pyarrow.csv.read_csv(tmp_path / "out.csv")
        assert from_csv.to_pylist() == table.to_pylist()
        from_parquet = pyarrow.parquet.read_table(tmp_path / "out.parquet")
        assert from_parquet.equals(table, check_metadata=True)

    def test_json_file_is_the_data(self, simulated: Estimates, tmp_path: Path) -> None:
        save_estimates(simulated, tmp_path / "out.json")
        text = (tmp_path / "out.json").read_text(encoding="utf-8")
        assert json.loads(text) == json_ready(simulated)

    @pytest.mark.parametrize("name", ["out.xls", "out", "csv"])
    def test_an_unknown_ending_names_those_allowed(
        self, simulated: Estimates, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(UsageError, match=r"\.csv, \.json, \.parquet, \.html"):
            save_estimates(simulated, tmp_path / name)
        assert not list(tmp_path.iterdir())

    def test_nothing_is_left_when_writing_fails(
        self, simulated: Estimates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(path: Path, content: bytes) -> None:
            path.write_text("half")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        (tmp_path / "out.csv").write_text("before")
        with pytest.raises(UsageError, match="No space left"):
            save_estimates(simulated, tmp_path / "out.csv")
        assert [file.read_text() for file in tmp_path.iterdir()] == ["before"]


def _unquoted(tags: str) -> str:
    return re.sub(r'"[^"]*"', '""', tags)


def _escaped(text: str) -> str:
    return text.replace("'", "&#39;")


def test_warnings_of_a_promise_are_sentences():
    """Without mixing, cells have little protection; page and notebook say it in one way."""
    ill = {"id": "ill", "type": "choice", "options": ["no", "yes", "both"]}
    privacy = {"epsilon": 1.0, "delta": 1e-7}
    raw = {"name": "Cells", "crowd": 10**6, "privacy": privacy, "question": [ill]}
    estimates = estimated(Survey.of(raw), ("ill",), truth=False)
    (text,) = map(str, warnings(estimates.guarantee))
    assert text.startswith("without mixing, practically no protection remains")
    for html in (page(estimates), estimates.plan._repr_html_()):
        assert f"Warning: {text}." in unescape(html)
