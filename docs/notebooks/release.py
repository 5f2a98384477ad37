# %% [markdown]
# # Publishing a table of records
#
# An institute holds 20,190 records of a health study. Researchers keep asking for new tables, and each table would
# have to be checked for what it discloses. The institute wants to publish the records themselves, once, so that
# anybody may compute anything.
#
# It randomizes each record, mixes them, and publishes the result with its plan. After that, every analysis is
# free: whatever is computed from published reports reveals no more than the reports. The price is noise, and this
# page shows how much.
#
# The data are person-years of the RAND Health Insurance Experiment, and each row is treated as one person. They
# are public, so that every result can be compared with the truth. Save [rand_hie.csv](rand_hie.csv) in the folder
# of the notebook to run it.

# %%
from itertools import combinations

import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

import incrowd

# %% [markdown]
# ## The plan
#
# `tables = "any"` sends all answers of a person in one joint report. The crowd is exactly the number of records,
# as the institute holds them all. Few and coarse answers keep the report short, and every bit costs precision.

# %%
RECORDS = pd.read_csv("rand_hie.csv")
QUESTIONS = [
    {"id": "physical_limitation", "type": "yesno"},
    {
        "id": "self_rated_health",
        "type": "choice",
        "options": ["excellent", "good", "fair", "poor"],
    },
    {"id": "chronic_conditions", "type": "number", "edges": [0, 5, 10, 20]},
    {"id": "individual_deductible_plan", "type": "yesno"},
]


def released(analysis):
    """Return the plan of a release, for one assumption about who can link a record to a person."""
    content = {
        "name": "Records of a health study",
        "crowd": len(RECORDS),
        "census": True,
        "privacy": {"epsilon": 2.0, "delta": 1e-6, "analysis": analysis},
        "question": QUESTIONS,
        "tables": "any",
    }
    return incrowd.plan(incrowd.Survey.of(content))


mixed, named = released("shuffle"), released("local")
pd.DataFrame(
    {
        name: {
            "flipped bits": f"{plan.messages[0].noise.q:.1%}",
            "epsilon": f"{plan.guarantee.epsilon:g}",
            "epsilon if records can be linked to people": f"{plan.guarantee.local_epsilon:.2f}",
            "margin of a cell of two questions, in points": round(
                max(196 * each.noise_error for each in incrowd.forecast(plan)), 1
            ),
        }
        for name, plan in (("mixed", mixed), ("each record on its own", named))
    }
)

# %% [markdown]
# The institute mixes the records and keeps no list of their order, so it chooses the first plan. The second plan would
# protect people even if somebody could link each published record to its person, but its margins are five times as
# large.
#
# ## The release
#
# The seed makes this page reproducible. The institute itself runs `randomize` without a seed, and publishes the reports
# with `incrowd.save_reports`. The reports and the plan are all that a researcher gets, and with them, `verify`
# recomputes the guarantee.

# %%
answers = incrowd.load_answers("rand_hie.csv", mixed.survey)
published = incrowd.randomize(mixed, answers, simulation_seed=5)
checked = incrowd.verify(mixed, published)
print(checked.plan_holds, checked.reports, "records")

# %% [markdown]
# ## A researcher's first table
#
# Nobody requested this table before the release. All errors are those of the noise: the results describe exactly
# the 20,190 people.

# %%
PAIRS = list(combinations([question["id"] for question in QUESTIONS], 2))
estimates = incrowd.estimate(mixed, published, tables=PAIRS)
truth = incrowd.truth(mixed, answers, tables=PAIRS)


def beside(table, true):
    """Return a table next to the true shares, in percent."""
    cells = [
        ", ".join(a[i] for a, i in zip(table.answers, place, strict=True))
        for place in np.ndindex(true.shape)
    ]
    figures = {"estimate": table.estimate, "error": table.error.noise, "true": true}
    return pd.DataFrame({k: 100 * v.ravel() for k, v in figures.items()}, index=cells)


beside(estimates.tables[0], truth[0]).round(1)

# %% [markdown]
# All six pairs of questions together, each error divided by its stated standard error, should look like draws
# from a normal distribution:

# %%
scaled = np.concatenate(
    [
        ((table.estimate - true) / table.error.noise).ravel()
        for table, true in zip(estimates.tables, truth, strict=True)
    ]
)
print(f"{scaled.size} cells, {np.mean(np.abs(scaled) < 1.96):.0%} within 1.96 standard errors")
assert np.abs(scaled).max() < 4.5

# %% [markdown]
# ## Merging answers
#
# The noise of a cell is of a similar size, however few people are in it. Someone who needs only two levels of health
# merges the answers, and the errors are computed for the merged table.

# %%
MERGE = {
    "self_rated_health": {"good or better": ["excellent", "good"], "fair or poor": ["fair", "poor"]}
}
PAIR = ["physical_limitation", "self_rated_health"]
(merged,) = incrowd.estimate(mixed, published, tables=[PAIR], merge=MERGE).tables
both = truth[0].reshape(2, 2, 2).sum(axis=2)
beside(merged, both).round(1)

# %%
assert (np.abs(merged.estimate - both) < 4.5 * merged.error.noise).all()

# %% [markdown]
# ## Shares that are possible
#
# Unbiased estimates may be negative. For a picture or a simulation, shares have to be possible. `postprocess`
# finds the most likely ones. They are biased, and say so; tests and intervals should use the estimates above.

# %%
TRIPLE = ["self_rated_health", "chronic_conditions"]
raw = incrowd.estimate(mixed, published, tables=[TRIPLE]).tables[0]
(true,) = incrowd.truth(mixed, answers, tables=[TRIPLE])
likely = incrowd.postprocess(mixed, published, tables=[TRIPLE]).tables[0]
compared = beside(raw, true).rename(columns={"estimate": "unbiased"})
compared["possible"] = 100 * likely.estimate.ravel()
compared[["unbiased", "error", "possible", "true"]].round(1)

# %% [markdown]
# ## A regression that nobody planned
#
# How do the odds of a physical limitation depend on chronic conditions and the insurance? The published records
# answer this too. Next to it is the fit on the original records.

# %%
incrowd.regress(
    mixed,
    published,
    "physical_limitation",
    on=["chronic_conditions", "individual_deductible_plan"],
    noise_only=True,
)

# %% [markdown]
# Few people with few conditions are limited, and the noise nearly hides them. The result says so, and suggests which
# answers to merge. We follow the advice.

# %%
FEWER = {"chronic_conditions": {"under 20": ["0 to <5", "5 to <10", "10 to <20"]}}
model = incrowd.regress(
    mixed,
    published,
    "physical_limitation",
    on=["chronic_conditions", "individual_deductible_plan"],
    merge=FEWER,
    noise_only=True,
)
originals = pd.DataFrame(
    {
        "limited": (RECORDS.physical_limitation == "yes").astype(int),
        "many": (RECORDS.chronic_conditions >= 20).astype(int),
        "deductible": (RECORDS.individual_deductible_plan == "yes").astype(int),
    }
)
fit = smf.logit("limited ~ many + deductible", originals).fit(disp=False)
beside_fit = model.to_pandas().set_index("term")[["estimate", "standard_error", "low", "high"]]
beside_fit["in the records"] = fit.params.to_numpy()
beside_fit.round(2)

# %%
inside = (beside_fit.low <= fit.params.to_numpy()) & (fit.params.to_numpy() <= beside_fit.high)
assert inside.all()

# %% [markdown]
# The effect of many conditions is beyond doubt. That of the deductible, which the original records show, is
# smaller than the noise. Had the institute known this question, it would have [requested the
# regression](health-survey.md), with errors of a few percent more than without privacy.

# %% [markdown]
# ## What was promised, to whom, and what it rests on
#
# - **To each person in the data, toward everybody who has the published records**: epsilon 2 and delta 10⁻⁶, for
#   all analyses together that anybody will ever make of them.
# - **It rests on** the institute: that it mixed the records, kept no list of their order, and publishes nothing
#   else about them. A second release of the same people, or a correction, adds up with the first; a ledger keeps
#   account of it.
# - **Toward the institute** nothing is promised, because it has the records.
# - **If somebody links a published record to its person**, for example because the order is known, the larger
#   epsilon of the table above is left, which is a weak promise.
# - That a person is among the 20,190 is not hidden.
