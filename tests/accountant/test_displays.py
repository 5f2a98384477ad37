"""How results look at the prompt, in a notebook, and in a picture."""

import html.parser
import subprocess
import sys
from unittest import mock

import pytest

from incrowd import accountant
from incrowd.errors import UsageError

FLIP = accountant.BitFlip.from_epsilon(2.0)
CURVE = accountant.privacy_curve("seat", FLIP, 10_000)
OUTLIER = accountant.privacy_curve("outlier", FLIP, 10_000)
NOISE = accountant.AdditiveNoise.laplace(0.01, most=4000)
SHIFTED = accountant.Contribution((), shifts=((NOISE, 2),))
BOOK = accountant.Schema.uniform([accountant.Domain(c, 1, 1) for c in range(2, 30)], FLIP)
SENT = accountant.Contribution.of(BOOK, 3).also(accountant.Contribution.of(BOOK, linked=True))
CERTIFICATE = accountant.certify("shuffle", FLIP, 10_000, 0.1)
RESULTS = {
    "a curve": CURVE,
    "a year of it": CURVE**52,
    "several curves": CURVE * OUTLIER * accountant.privacy_curve("blanket", FLIP, 500),
    "counts": accountant.privacy_curve("shuffle", SHIFTED, None),
    "a certificate": CERTIFICATE,
    "no guarantee": accountant.certify("outlier", FLIP, 10_000, 0.1),
    "an assessment": accountant.assess("shuffle", FLIP, 10_000, 0.1),
    "a contribution": SENT,
    "a schema": BOOK,
    "alternatives": accountant.Alternatives((SENT, SENT)),
    "noise": NOISE,
    "an analysis": accountant.ANALYSES["shuffle"],
    "a law": CURVE.forward,
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_one_short_line(name):
    text = repr(RESULTS[name])
    assert len(text) <= 130 and text == text.strip() and "\n" not in text
    assert text.startswith(type(RESULTS[name]).__name__)


def test_what_is_not_a_guarantee_says_so():
    for one in (OUTLIER, CURVE * OUTLIER, RESULTS["no guarantee"]):
        assert "not a guarantee" in repr(one) and "not a guarantee" in one._repr_html_()
    assert "not a guarantee" not in repr(CURVE) + repr(CERTIFICATE)


def test_a_curve_names_what_it_is_a_bound_for():
    assert "seat, 10,000 people; whole-crowd" in repr(CURVE)
    assert "seat, 10,000 people, 52 collections" in repr(CURVE**52)
    twice = CURVE**2 * CURVE
    assert [origin.collections for origin in twice.origins] == [3]
    assert "services-apart" in repr(RESULTS["counts"]) and "people" not in repr(RESULTS["counts"])


def test_laws_from_elsewhere_are_named_in_a_composition():
    """Whoever reads it has to know that something else is in it, whose assumption is unknown."""
    given = accountant.pair_curve([0.75, 0.25], [0.25, 0.75])
    for both in (
        CURVE * given,
        given * CURVE,
        accountant.PrivacyCurve.of([(CURVE, 2), (given, 3)]),
    ):
        text = repr(both)
        assert "laws from elsewhere" in text and "10,000 people" in text
        assert {"whole-crowd", "not-stated"} <= set(text.strip(")").replace(";", "").split())
        assert "not-stated" in both._repr_html_()
    assert "elsewhere" not in repr(given**2) + repr(CURVE**2)


def test_the_figures_in_a_text_are_not_smaller_than_they_are():
    shown = float(repr(CURVE).split("epsilon=")[1].split()[0])
    assert CURVE.epsilon(1e-6) <= shown < 1.001 * CURVE.epsilon(1e-6)
    shown = float(repr(CERTIFICATE).split("<= ")[1].split()[0])
    assert CERTIFICATE.delta.upper <= shown < 1.001 * CERTIFICATE.delta.upper


def test_curves_can_be_compared_and_hashed():
    assert CURVE == CURVE and accountant.privacy_curve("seat", FLIP, 10_000) != CURVE
    assert len({CURVE, CURVE}) == 1


class Cells(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.mark.parametrize("name", ["a curve", "a certificate", "an assessment", "no guarantee"])
def test_a_notebook_shows_a_table_of_two_columns(name):
    page = Cells()
    page.feed(RESULTS[name]._repr_html_())
    assert {*page.tags} == {"table", "caption", "tr", "th", "td"}
    assert page.tags.count("th") == page.tags.count("td") == page.tags.count("tr")


def test_texts_in_a_table_are_escaped():
    class Named(accountant.Certificate):
        def rows(self):
            return (("<b>", "a & <script>"),)

    page = Named("shuffle", 1.0, CERTIFICATE.delta, (), "whole-crowd", True, "x")._repr_html_()
    assert "&lt;b&gt;" in page and "a &amp; &lt;script&gt;" in page and "<script" not in page


def test_a_picture_has_labels_a_logarithmic_scale_and_the_analyses():
    pytest.importorskip("altair")
    chart = CURVE.plot(OUTLIER).to_dict()
    x, y = (chart["encoding"][each] for each in "xy")
    assert (x["title"], y["title"], y["scale"]) == ("epsilon", "delta", {"type": "log"})
    assert chart["title"]["text"] == "seat, 10,000 people"
    assert chart["title"]["subtitle"] == "assumption: whole-crowd"
    wanted = [
        "upper bound: seat, 10,000 people",
        "lower bound for the worst crowd: outlier, 10,000 people",
    ]
    for legend in ("color", "strokeDash"):  # equal, so that they become one
        assert chart["encoding"][legend]["scale"]["domain"] == wanted
    assert {each["curve"] for each in next(iter(chart["datasets"].values()))} == {*wanted}


def test_a_picture_of_laws_from_elsewhere_needs_no_origin():
    pytest.importorskip("altair")
    chart = accountant.pair_curve([0.75, 0.25], [0.25, 0.75]).plot().to_dict()
    assert chart["title"]["text"] == "privacy curve" and not chart["title"]["subtitle"]


def test_matplotlib_draws_the_same():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = CURVE.plot(OUTLIER, library="matplotlib")
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("epsilon", "delta", "log")
    first, second = axes.get_lines()
    assert first.get_label() == "upper bound: seat, 10,000 people"
    assert second.get_label().startswith("lower bound for the worst crowd: outlier")
    assert axes.get_title("left") == "seat, 10,000 people\nassumption: whole-crowd"
    assert [*first.get_ydata()] == [CURVE.delta(each) for each in first.get_xdata()]


def test_a_missing_library_is_named():
    with (
        mock.patch.dict("sys.modules", {"matplotlib": None, "matplotlib.pyplot": None}),
        pytest.raises(UsageError, match="matplotlib is not installed; install altair or"),
    ):
        CURVE.plot(library="matplotlib")


@pytest.mark.slow
def test_nothing_is_imported_to_draw_before_something_is_drawn():
    code = "from incrowd import accountant as a; c = a.privacy_curve('seat', a.BitFlip(2**30), 99);"
    code += "repr(c); c._repr_html_(); import sys; print('altair' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "False"
