"""Regressions from formulas: figures against other packages and by hand, and their names."""

import math

import numpy as np
import pyarrow
import pytest
import statsmodels.api as sm
from scipy import optimize, special, stats

import incrowd
from incrowd.errors import UsageError
from incrowd.interviews.answer_models import CumulativeLogit
from incrowd.interviews.columns import Factor
from incrowd.interviews.formula import parse_formula
from incrowd.interviews.items import MISSING, ItemMatrices, ReportedItem
from incrowd.interviews.logistic import ItemRows, fit_logit
from incrowd.interviews.regression import regress_item
from tests.oracles import interview_logits as oracle
from tests.oracles.interview_rules import forced, shared_columns, warner

YES_NO = ("no", "yes")
DIE = ItemMatrices(np.array([forced(1 / 6, 1 / 6)]))
DIRECT = ItemMatrices(np.eye(2)[None])


def interviews(matrices, n=400, seed=1):
    """Columns, and the reports of an item that depends on them; the last two are not complete."""
    rng = np.random.default_rng(seed)
    age, female = rng.uniform(20, 70, n), (rng.random(n) < 0.5).astype(float)
    region = rng.integers(3, size=n)
    logit = -0.5 + 0.03 * (age - 45) - 0.6 * female + 0.5 * (region == 1)
    yes = rng.random(n) < special.expit(logit)
    law = matrices.base[0, 1, yes.astype(int)]
    reported = (rng.random(n) < law).astype(int)
    columns = {"age": age, "female": female, "region": Factor(("north", "south", "west"), region)}
    reported[-1], columns["age"][-2] = MISSING, np.nan
    return ReportedItem(reported, np.zeros(n, int), matrices), columns


def model(matrices=DIE, formula="item ~ age + female + region", **options):
    item, columns = interviews(matrices)
    return regress_item("item", YES_NO, item, columns, parse_formula(formula), **options)


def by_statsmodels():
    item, columns = interviews(DIRECT)
    used = slice(0, -2)
    region = columns["region"].codes[used]
    predictors = np.column_stack([columns["age"][used], columns["female"][used], region == 1])
    values = sm.add_constant(np.column_stack([predictors, region == 2]).astype(float))
    return sm.Logit(item.reported[used], values)


def test_a_formula_gives_named_coefficients():
    found, other = model(DIRECT), by_statsmodels().fit(disp=0)
    assert [each.term for each in found.coefficients] == [
        *("(intercept)", "age", "female", "region=south", "region=west")
    ]
    assert [each.estimate for each in found.coefficients] == pytest.approx(other.params, abs=1e-6)
    assert [each.p_value for each in found.coefficients] == pytest.approx(other.pvalues, rel=1e-4)
    ends = [(each.low, each.high) for each in found.coefficients]
    assert ends == pytest.approx(other.conf_int(), abs=1e-5)
    assert found.aic == pytest.approx(other.aic)
    assert found.null_log_likelihood == pytest.approx(other.llnull)
    assert (found.people, found.left_out) == (398, 2)
    assert found.references == ("region=north",)
    assert found.interviews.tolist() == [*range(1, 399)]
    assert found.odds_ratios[1].ratio == pytest.approx(math.exp(other.params[1]))


def test_average_effects_of_statsmodels():
    """Its derivative is the effect of a number; those of indicators are differences."""
    found = model(DIRECT)
    margins = by_statsmodels().fit(disp=0).get_margeff(at="overall")
    age, female, south, west = found.effects
    assert (age.estimate, age.standard_error) == pytest.approx(
        (margins.margeff[0], margins.margeff_se[0]), rel=1e-4
    )
    dummies = by_statsmodels().fit(disp=0).get_margeff(at="overall", dummy=True)
    assert (female.estimate, female.standard_error) == pytest.approx(
        (dummies.margeff[1], dummies.margeff_se[1]), rel=1e-4
    )
    assert (female.change, south.change, west.change) == ("0 → 1", "north → south", "north → west")


def test_effects_and_probabilities_by_hand():
    """Means of probabilities over the interviews; errors by differences of the coefficients."""
    formula = "item ~ center(age) + age^2 + female + center(age):female + region"
    found = model(formula=formula, at=[{"age": 30, "region": "west"}, {"age": "mean"}])
    _, columns = interviews(DIE)
    age, female, region = (
        columns["age"][:398],
        columns["female"][:398],
        columns["region"].codes[:398],
    )

    def mean(b, age=age, female=female, region=region):
        centered = age - columns["age"][:398].mean()
        linear = b[0] + b[1] * centered + b[2] * age**2 + b[3] * female
        linear = linear + b[4] * centered * female + b[5] * (region == 1) + b[6] * (region == 2)
        return float(special.expit(linear).mean())

    b = np.array([each.estimate for each in found.coefficients])

    def error(function):
        steps = np.diag(np.maximum(abs(b), 1e-3)) * 1e-5
        slopes = [(function(b + s) - function(b - s)) / (2 * s.max()) for s in steps]
        return math.sqrt(slopes @ found.covariance @ np.array(slopes))

    figures = [
        lambda b: mean(b),
        lambda b: mean(b, age=30.0, region=np.full(398, 2)),
        lambda b: mean(b, age=age.mean()),
    ]
    for share, function in zip(found.shares, figures, strict=True):
        assert share.estimate == pytest.approx(function(b))
        assert share.standard_error == pytest.approx(error(function), rel=1e-4)
        assert share.low < share.estimate < share.high
    assert [share.where for share in found.shares] == ["", "age=30, region=west", "age=mean"]
    by_age, by_female = found.effects[:2]
    for effect, function in (
        (by_age, lambda b: (mean(b, age=age + 0.01) - mean(b, age=age - 0.01)) / 0.02),
        (by_female, lambda b: mean(b, female=1.0) - mean(b, female=0.0)),
    ):
        assert effect.estimate == pytest.approx(function(b), rel=1e-5)
        assert effect.standard_error == pytest.approx(error(function), rel=1e-3)
    assert found.fitted.values[:, 1].mean() == pytest.approx(found.shares[0].estimate)


def test_the_error_of_each_probability():
    found, other = model(DIRECT), by_statsmodels().fit(disp=0)
    values = other.model.exog
    shares = special.expit(values @ other.params)
    variances = np.einsum("np,pq,nq->n", values, other.cov_params(), values)
    assert found.fitted.values[:, 1] == pytest.approx(shares, abs=1e-6)
    assert found.fitted.errors[:, 1] == pytest.approx(
        shares * (1 - shares) * np.sqrt(variances), rel=1e-4
    )


def test_tests_of_terms():
    ratio = model(DIRECT).tests
    full = by_statsmodels()
    without = sm.Logit(full.endog, full.exog[:, :3]).fit(disp=0)
    assert [each.term for each in ratio] == ["age", "female", "region", "all terms"]
    assert ratio[2].statistic == pytest.approx(2 * (full.fit(disp=0).llf - without.llf), rel=1e-5)
    assert (ratio[2].degrees, ratio[3].degrees) == (2, 4)
    fit = full.fit(disp=0, cov_type="HC0")
    chosen = np.eye(5)[3:]
    wald = fit.wald_test(chosen, use_f=False, scalar=True)
    robust = model(DIRECT, errors="robust").tests[2]
    assert robust.statistic == pytest.approx(wald.statistic * 397 / 398, rel=1e-4)
    assert robust.p_value == pytest.approx(stats.chi2.sf(robust.statistic, 2))


def test_clusters_use_t_and_f():
    clusters = np.arange(400) % 20
    found = model(errors="cluster", clusters=clusters)
    each = found.coefficients[1]
    assert found.clusters == 20
    reach = stats.t.ppf(0.975, 19) * each.standard_error
    assert (each.low, each.high) == pytest.approx((each.estimate - reach, each.estimate + reach))
    assert each.p_value == pytest.approx(
        2 * stats.t.sf(abs(each.estimate / each.standard_error), 19)
    )
    single = found.tests[0]
    assert single.p_value == pytest.approx(each.p_value)
    assert (found.tests[2].degrees, found.tests[2].denominator) == (2, 18)


def test_a_coefficient_for_each_cluster_has_no_clustered_errors():
    """The scores of each cluster sum to zero: its errors would be zero."""
    clusters = np.arange(400) % 8
    item, columns = interviews(DIE)
    columns["village"] = clusters.astype(float)
    with pytest.raises(UsageError, match="8 clusters do not determine"):
        regress_item(
            *("item", YES_NO, item, columns, parse_formula("item ~ factor(village)")),
            clusters=clusters,
        )


def test_profile_intervals_end_where_the_likelihood_is_too_small():
    found = model(formula="item ~ female", intervals="profile")
    item, columns = interviews(DIE)
    used = slice(0, -1)
    values = np.column_stack([np.ones(399), columns["female"][used]])
    matrices = np.repeat(DIE.base, 399, axis=0)

    def loss(end):
        best = optimize.minimize_scalar(
            lambda b: (
                -oracle.log_likelihood(
                    oracle.multinomial, [b, end], values, item.reported[used], matrices
                )
            ),
            bounds=(-4, 4),
            method="bounded",
        )
        return 2 * (found.log_likelihood + best.fun)

    slope = found.coefficients[1]
    for end in (slope.low, slope.high):
        assert loss(end) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=0.01)
    assert slope.p_value == pytest.approx(stats.chi2.sf(loss(0.0), 1), abs=1e-4)


def several(ordinal):
    rng = np.random.default_rng(3)
    age = rng.uniform(20, 70, 600)
    answers = (rng.normal(size=600) + age / 30 > np.array([[1.2], [2.0]])).sum(axis=0)
    law = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    reported = (rng.random((600, 1)) > law[answers].cumsum(axis=1)).sum(axis=1)
    item = ReportedItem(reported, np.zeros(600, int), ItemMatrices(law[None]))
    answers = ("never", "rarely", "often")
    return regress_item(
        "item", answers, item, {"age": age}, parse_formula("item ~ age"), ordinal=ordinal
    )


def test_several_answers():
    found = several(ordinal=False)
    assert [each.term for each in found.coefficients] == [
        *("rarely: (intercept)", "rarely: age", "often: (intercept)", "often: age")
    ]
    assert found.tests[0].degrees == 2
    assert sum(share.estimate for share in found.shares) == pytest.approx(1)
    assert sum(effect.estimate for effect in found.effects) == pytest.approx(0, abs=1e-9)
    assert found.model == "multinomial"


def test_ordered_answers():
    found = several(ordinal=True)
    assert [each.term for each in found.coefficients] == ["never | rarely", "rarely | often", "age"]
    assert found.coefficients[2].low > 0  # later answers at a higher age
    assert found.tests[0].degrees == 1 and found.effects[-1].estimate > 0
    assert [line.label for line in found.plots()[0].groups[0][1]] == ["age"]


def test_a_model_without_predictors_is_the_prevalence():
    found = model(formula="item ~ 1")
    share = found.shares[0]
    item, _ = interviews(DIE)
    reported = item.reported[:-1].mean()
    assert share.estimate == pytest.approx((reported - 1 / 6) * 1.5)
    error = math.sqrt(reported * (1 - reported) / 399) * 1.5
    assert share.standard_error == pytest.approx(error, rel=1e-6)
    assert found.tests == () and found.effects == () and found.plots() == ()


def test_unknown_probabilities_have_intervals():
    """The lie detector without predictors: Moshagen, Musch, and Erdfelder (2012).

    R's errors divide by n - 1 in each group, and these by n.
    """
    columns = shared_columns("minarets_rr.csv")
    randomized = columns["condition"] > 0
    base = np.array([[[p, 1], [1 - p, 0]] for p in (2 / 12, 10 / 12)])
    matrices = ItemMatrices(base, np.array([[[[0, -1.0], [0, 1]]] * 2]), ("honesty",))
    item = ReportedItem(
        columns["answer"][randomized].astype(int),
        columns["condition"][randomized].astype(int) - 1,
        matrices,
    )
    found = regress_item("item", YES_NO, item, {}, parse_formula("item ~ 1"))
    share, honesty = found.shares[0], found.unknowns[0]
    assert round(share.estimate, 6) == 0.870695
    assert share.standard_error == pytest.approx(0.041118, rel=1 / 564)
    assert round(honesty.estimate, 6) == 0.635806
    assert honesty.standard_error == pytest.approx(0.017344, rel=1 / 564)
    assert honesty.low < honesty.estimate < honesty.high


def test_the_published_lie_detector_from_a_survey():
    """Heck and Moshagen (2018), with a group that was asked directly."""
    columns = shared_columns("minarets_rr.csv")
    survey = incrowd.InterviewSurvey.of(
        {
            "name": "Minarets",
            "device": {"kind": "birthday"},
            "columns": {"group": "condition"},
            "groups": {"codes": [0, 1, 2]},
            "question": [
                {
                    "id": "answer",
                    "type": "yesno",
                    "designs": [
                        {"kind": "direct"},
                        {"kind": "warner", "p": "2/12"},
                        {"kind": "warner", "p": "10/12"},
                    ],
                }
            ],
        }
    )
    columns["randomized"] = np.where(columns["condition"] == 0, -1, 1)
    for name in ("answer", "condition"):
        columns[name] = columns[name].astype(int)
    answers = incrowd.read_answers(survey, pyarrow.table(columns))
    formula = "answer ~ randomized*center(left_right)"
    found = incrowd.interviews.regress(answers, formula, lies=True)
    estimates = [each.estimate for each in (*found.coefficients, *found.unknowns)]
    errors = [each.standard_error for each in (*found.coefficients, *found.unknowns)]
    expected = [0.76516, 1.05568, 0.47765, 0.09676, 0.65300]
    assert estimates == pytest.approx(expected, abs=1.1e-5)
    assert errors == pytest.approx([0.17804, 0.17804, 0.08001, 0.08001, 0.01805], abs=5.1e-6)
    assert round(found.log_likelihood, 3) == -1051.466
    assert found.people == 1621


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "de"])
def test_every_format_has_the_figures(tmp_path, language):
    from incrowd.presentation.write import save

    found = model(at=[{"female": 1}])
    for ending in ("html", "csv", "json", "parquet", "xlsx", "docx", "R"):
        path = tmp_path / f"model.{ending}"
        save(found, path, language)
        assert path.stat().st_size > 500
    page = (tmp_path / "model.html").read_text()
    assert "region=south" in page
    assert ("used" in page) == (language == "en")


def test_weights_scale_does_not_matter():
    weights = np.random.default_rng(1).uniform(1, 3, 400)
    one, other = model(weights=weights), model(weights=weights * 10)
    assert one.errors == "robust" and one.weighted
    assert one.covariance == pytest.approx(other.covariance)
    assert one.log_likelihood == pytest.approx(other.log_likelihood)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"errors": "cluster"}, "no column of clusters"),
        ({"clusters": np.arange(400) % 4}, "4 clusters do not determine"),
        ({"errors": "observed", "weights": np.ones(400)}, "do not hold with weights"),
        ({"intervals": "profile", "errors": "robust"}, "profile intervals do not hold"),
        ({"ordinal": True}, "two answers"),
        ({"at": [{"agee": 1}]}, "did you mean age"),
        ({"at": [{"region": "wst"}]}, "did you mean west"),
        ({"at": [{"age": "old"}]}, "or 'mean'"),
    ],
)
def test_mistakes(options, words):
    with pytest.raises(UsageError, match=words):
        model(**options)


# Coverage with clusters.

SURVEYS, VILLAGES = 2000, 60
TRUTH = np.array([-0.5, 0.8])


def clustered(errors):
    """The share of surveys whose 95% intervals hold the truth, if villages share their answers."""
    rng, hits = np.random.default_rng(7), np.zeros(2)
    village = np.repeat(np.arange(VILLAGES), 6)
    for _ in range(SURVEYS):
        x = rng.normal(size=VILLAGES)
        yes = rng.random(VILLAGES) < special.expit(TRUTH[0] + TRUTH[1] * x)
        law = warner(0.85)[1, yes.astype(int)][village]
        reported = (rng.random(len(village)) < law).astype(int)
        item = ReportedItem(reported, np.zeros(len(village), int), ItemMatrices(warner(0.85)[None]))
        try:
            found = regress_item(
                *("item", YES_NO, item, {"x": x[village]}, parse_formula("item ~ x")),
                clusters=village,
                errors=errors,
            )
        except UsageError:  # it diverges
            continue
        hits += [c.low < t < c.high for c, t in zip(found.coefficients, TRUTH, strict=True)]
    return hits / SURVEYS


# A false alarm in one of 10,000 runs, after a percent for the small number of villages.
LEAST = stats.binom(SURVEYS, 0.94).ppf(5e-5) / SURVEYS


@pytest.mark.slow
def test_clustered_errors_cover_the_truth():
    assert (clustered("cluster") >= LEAST).all()


@pytest.mark.slow
def test_errors_that_ignore_clusters_are_rejected():
    assert (clustered("observed") < LEAST).all()


# Coverage with weights.


def sampled(use_weights):
    """The share of surveys whose intervals hold the truth, if people with the trait take part half
    as often as all others, and weights make up for it."""
    rng, hits, n = np.random.default_rng(9), np.zeros(2), 400
    matrices = ItemMatrices(warner(0.85)[None])
    for _ in range(SURVEYS):
        x = rng.normal(size=4 * n)
        yes = rng.random(4 * n) < special.expit(TRUTH[0] + TRUTH[1] * x)
        part = np.flatnonzero(rng.random(4 * n) < np.where(yes, 0.25, 0.5))[:n]
        weights = np.where(yes, 2.0, 1.0)[part] if use_weights else None
        law = warner(0.85)[1, yes[part].astype(int)]
        reported = (rng.random(n) < law).astype(int)
        item = ReportedItem(reported, np.zeros(n, int), matrices)
        found = regress_item(
            *("item", YES_NO, item, {"x": x[part]}, parse_formula("item ~ x")), weights=weights
        )
        hits += [c.low < t < c.high for c, t in zip(found.coefficients, TRUTH, strict=True)]
    return hits / SURVEYS


@pytest.mark.slow
def test_weighted_intervals_cover_the_truth():
    assert (sampled(True) >= LEAST).all()


@pytest.mark.slow
def test_intervals_that_ignore_weights_are_rejected():
    assert (sampled(False) < LEAST).any()


@pytest.mark.slow
def test_intervals_of_ordered_answers_cover_the_truth():
    rng, truth, n = np.random.default_rng(11), np.array([-0.5, 0.8, 0.7]), 300
    law = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    hits, naive_hits = np.zeros(3), np.zeros(3)
    for _ in range(SURVEYS):
        x = rng.normal(size=n)
        below = special.expit(truth[:2] - truth[2] * x[:, None])
        answers = (rng.random((n, 1)) > below).sum(axis=1)
        reported = (rng.random((n, 1)) > law[answers].cumsum(axis=1)).sum(axis=1)
        values = np.column_stack([np.ones(n), x])
        for matrix, counted in ((law, hits), (np.eye(3), naive_hits)):
            given = ItemRows(values, reported, np.zeros(n, int), ItemMatrices(matrix[None]))
            fit = fit_logit(CumulativeLogit(3), given)
            errors = np.sqrt(np.diag(fit.covariance("observed")))
            counted += abs(fit.coefficients - truth) < 1.959964 * errors
    assert (hits / SURVEYS >= LEAST).all()
    assert (naive_hits / SURVEYS < LEAST).any()


def test_lies_of_two_groups_with_an_unknown_prevalence_are_refused():
    """Two shares of "yes" cannot determine the share, the prevalence, and the honesty."""
    unrelated = [{"kind": "unrelated", "p": p} for p in ("3/4", "1/4")]
    raw = {"name": "Habits", "device": {"kind": "spinner", "sectors": 4}}
    raw |= {"columns": {"group": "g"}, "groups": {"codes": ["1", "2"]}}
    asked = [{"id": "item", "type": "yesno", "designs": unrelated}]
    survey = incrowd.InterviewSurvey.of(raw | {"question": asked})
    rng = np.random.default_rng(9)
    columns = {"item": rng.integers(2, size=200), "x": rng.normal(size=200)}
    table = pyarrow.table(columns | {"g": [str(1 + i % 2) for i in range(200)]})
    with pytest.raises(UsageError, match="lie detector needs two groups"):
        incrowd.interviews.regress(incrowd.read_answers(survey, table), "item ~ x", lies=True)
