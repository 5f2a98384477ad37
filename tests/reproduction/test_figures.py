"""The figures as curves, and as they are drawn."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from reproduction import drawing, figures, ratio_law
from reproduction import sufficient_dp as paper
from reproduction import vinterbo_2018_figures as vinterbo_figures
from reproduction.row import AGREES, Row, wrong
from tests.reproduction.conftest import E2, SKETCH, find, true_number


@pytest.mark.slow
def test_vinterbos_figures_have_the_points_of_the_rows(rows):
    figures = {figure.stem: figure for figure in vinterbo_figures.figures()}
    assert len(figures) == 5
    for place, stem, at in (
        ("figure 2 (b), alpha = 1.0", "vinterbo_2b", 1.0),
        ("figure 1 (b), n = 12, p = 0.5", "vinterbo_1b", 12),
    ):
        curve = figures[stem].curves[-1 if len(figures[stem].curves) == 1 else 1]
        y = curve.y[abs(curve.x - at).argmin()]
        assert y == pytest.approx(true_number(find(rows, "Vinterbo", place)), rel=1e-5)
    curve = figures["vinterbo_2a"].curves[0]
    for p in (0.2, 0.75):
        y = np.interp(p, curve.x, curve.y)
        row = find(rows, "Vinterbo", f"figure 2 (a), p = {p}")
        assert y == pytest.approx(true_number(row), rel=1e-3)


@pytest.mark.slow
def test_figures_are_those_of_the_papers(rows):
    """Names, and what the curves must be: laws, growing or falling rules, delta of one mixture."""
    found = {figure.stem: figure for figure in figures.figures()}
    assert len(found) == 12
    assert {figure.paper for figure in found.values()} <= {row.paper for row in rows}
    for figure in found.values():
        assert len(figure.curves) <= 3
        for curve in figure.curves:
            assert len(curve.x) == len(curve.y) > 1
            inside = (curve.y >= figure.y.low) & (curve.y <= figure.y.high)
            assert inside.mean() > 0.85, (figure.stem, curve.name)
    for stem, beyond in (("ratio_density_2", 2.0), ("ratio_density_e2", E2)):
        for N, curve in zip((1000, 3000, 5000), found[stem].curves, strict=True):
            area = np.trapezoid(curve.y, curve.x)
            assert area == pytest.approx(1, abs=0.003)
            right = curve.x >= beyond
            tail = np.trapezoid(curve.y[right], curve.x[right])
            chance = ratio_law.exceeding(paper.noise_3_12(beyond, N, 5), N, 5, beyond)
            assert tail == pytest.approx(chance, abs=0.002)
    printed, right = found["noise_against_copies"].curves
    assert (np.diff(printed.y) < 2e-5).all()  # level at the end, as the paper says
    assert (np.diff(right.y) > 0).all()
    assert (np.diff(found["ratio_against_copies"].curves[0].y) > 0).all()
    spread = found["noise_against_deviation"].curves[0]
    assert spread.y == pytest.approx(np.sqrt(spread.x * (1 - spread.x)) / (1 - 2 * spread.x))
    mixed = found["mixed_crowds_two_bits"].curves
    assert mixed[0].y.max() > 1.4 * mixed[1].y[0]


def test_drawings_are_whole_and_need_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "figures", lambda progress: (SKETCH,))
    lines = [Row("Vinterbo 2018", "1", "a < b", 0.5, "1 (x)", wrong("it <is>")),
             Row("Another", "2", "c", "text", "2 (y)", AGREES)]  # fmt: skip
    written = drawing.write_papers(tmp_path, lines)
    assert [path.name for path in written] == ["papers.html", "sketch.svg", "sketch.html"]
    picture = ElementTree.parse(tmp_path / "sketch.svg").getroot()
    texts = "".join(picture.itertext())
    assert "one" in texts and "dots" in texts
    for name in ("papers.html", "sketch.html"):
        page = (tmp_path / name).read_text(encoding="utf-8")
        assert "A &lt;sketch&gt;" in page and "<sketch>" not in page
        assert "prefers-color-scheme:dark" in page
        assert not re.search(r"(?:src|href)=|@import|url\((?!#sketch-)", page)
        assert 'fill="white"' not in page
    page = (tmp_path / "papers.html").read_text(encoding="utf-8")
    assert "a &lt; b" in page and "wrong: it &lt;is&gt;" in page
    assert "2 rows: 1 agree, 0 are misprints, 1 are wrong." in page
