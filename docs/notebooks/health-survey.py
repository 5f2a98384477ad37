# %% [markdown]
# # A statistician's health survey
#
# Three clinics ask their patients about limitations in daily life. The statistician has a list of what he needs:
# results by clinic; weights, because too few patients with a deductible answered; one joint table; and a logistic
# regression. He wants to know what the protection costs him, so he compares his model with the fit on the original
# answers.
#
# The answers are those of the RAND Health Insurance Experiment, which are public; each row is treated as one
# person. The clinic of each person is invented. Save [rand_hie.csv](rand_hie.csv) in the folder of the notebook
# to run it.

# %%
import altair as alt
import numpy as np
import pandas as pd
import statsmodels.formula.api as smf

import incrowd

renderer = alt.renderers.enable("svg")  # charts as pictures, which need no network

rng = np.random.default_rng(17)
rand = pd.read_csv("rand_hie.csv")
limited = rand.physical_limitation == "yes"
draw, west = rng.random(len(rand)), np.where(limited, 0.4, 0.2)
people = pd.DataFrame(
    {
        "clinic": np.select([draw < west, draw < west + 0.3], ["west", "south"], "north"),
        "limited": np.where(limited, "yes", "no"),
        "health": rand.self_rated_health.replace({"fair": "fair or poor", "poor": "fair or poor"}),
        "deductible": rand.individual_deductible_plan,
    }
)
people.clinic.value_counts()

# %% [markdown]
# ## The survey
#
# Which clinic a patient goes to is no secret, so the clinic is an [open question](../strata.md): it is sent as it
# is, and each clinic has its own crowd. `crowd` is then at most the size of the smallest one. The regression and the table
# are requested before the collection, because devices send only the cells of what was requested. `weights` crosses
# them with the deductible.

# %%
survey = incrowd.Survey.of(
    {
        "name": "Limitations in daily life",
        "crowd": 4400,
        "weights": ["deductible"],
        "privacy": {"epsilon": 2.0, "delta": 1e-6},
        "question": [
            {
                "id": "clinic",
                "type": "choice",
                "options": ["north", "south", "west"],
                "open": True,
            },
            {"id": "limited", "type": "yesno", "shares": {"no": 0.88, "yes": 0.12}},
            {
                "id": "health",
                "type": "choice",
                "options": ["excellent", "good", "fair or poor"],
            },
            {"id": "deductible", "type": "yesno"},
        ],
        "table": [{"questions": ["limited", "health"]}],
        "regression": [{"outcome": "limited", "on": ["clinic", "health", "deductible"]}],
    }
)
plan = incrowd.plan(survey)
plan

# %% [markdown]
# What will the regression be able to detect? The forecast needs no data, only the guess that 12% are limited.

# %%
incrowd.forecast_regression(plan)

# %% [markdown]
# ## The collection
#
# The seed makes this page reproducible. In a real survey, each device randomizes its own answers, and nobody ever
# holds the table `people`.

# %%
reports = incrowd.randomize(plan, people, simulation_seed=1)
estimates = incrowd.estimate(plan, reports)
(by_clinic,) = [
    table for table in incrowd.estimate(plan, reports, tables=[["clinic", "limited"]]).tables
]
within = by_clinic.estimate / by_clinic.estimate.sum(axis=1, keepdims=True)
pd.DataFrame(
    {
        "limited, %": 100 * within[:, 1],
        "in the answers, %": 100
        * people.groupby("clinic").limited.apply(lambda answers: (answers == "yes").mean()),
    },
    index=["north", "south", "west"],
).round(2)

# %% [markdown]
# ## The joint table
#
# Estimates with 95% intervals, and ticks for the true shares.

# %%
table = estimates.to_pandas()
table = table[(table.questions == "limited | health") & (table.stratum == "all")].reset_index()
table["truth"] = [
    ((people.limited == answer.split(" | ")[0]) & (people.health == answer.split(" | ")[1])).mean()
    for answer in table.answer
]
base = alt.Chart(table).encode(y=alt.Y("answer", title=None, sort=None))
(
    base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low", title="share of people", axis=alt.Axis(format="%")), x2="high"
    )
    + base.mark_point(filled=True, size=60).encode(x="estimate")
    + base.mark_tick(color="#c4471c", thickness=3, size=18).encode(x="truth")
).properties(
    width=430,
    height=190,
    padding=20,
    description="The joint table: estimates with intervals, and true shares",
)

# %%
error = (table.estimate - table.truth) / table.standard_error
assert error.abs().max() < 4

# %% [markdown]
# ## Weights
#
# In the population, 40, 35, and 25% of patients belong to the three clinics, and 30% have a deductible. Raking
# adjusts to both at once. Who has a deductible is known only through the noise, and the errors include that.

# %%
MARGINS = {
    "clinic": {"north": 0.40, "south": 0.35, "west": 0.25},
    "deductible": {"yes": 0.30, "no": 0.70},
}
weighted = incrowd.estimate(plan, reports, tables=[["limited"]], margins=MARGINS).tables[0]
plain = estimates["limited"]


def raked(frame, rounds=50):
    """Return the share of limited people after raking the original answers."""
    weight = np.ones(len(frame))
    for _ in range(rounds):
        for question, shares in MARGINS.items():
            now = pd.Series(weight).groupby(frame[question].to_numpy()).sum() / weight.sum()
            weight = weight * frame[question].map({k: v / now[k] for k, v in shares.items()})
    return weight[frame.limited == "yes"].sum() / weight.sum()


rows = {
    "as answered": (plain, (people.limited == "yes").mean()),
    "weighted": (weighted, raked(people)),
}
compared = pd.DataFrame(
    {
        name: {
            "limited, %": 100 * each.estimate[1],
            "standard error": 100 * each.standard_error[1],
            "in the answers, %": 100 * true,
        }
        for name, (each, true) in rows.items()
    }
).T
compared.round(2)

# %%
assert (
    (compared["limited, %"] - compared["in the answers, %"]).abs() < 3 * compared["standard error"]
).all()

# %% [markdown]
# ## The regression, with and without privacy

# %%
model = incrowd.regress(plan, reports)
model

# %% [markdown]
# For comparison, this is the fit of statsmodels on the original answers, which nobody would have in a real survey:

# %%
original = smf.logit(
    "yes ~ C(clinic) + C(health, Treatment('excellent')) + C(deductible)",
    people.assign(yes=(people.limited == "yes").astype(int)),
).fit(disp=False)
private = model.to_pandas().set_index("term")[["estimate", "standard_error", "low", "high"]]
names = {
    "Intercept": "(intercept)",
    "C(clinic)[T.south]": "clinic=south",
    "C(clinic)[T.west]": "clinic=west",
    "C(health, Treatment('excellent'))[T.good]": "health=good",
    "C(health, Treatment('excellent'))[T.fair or poor]": "health=fair or poor",
    "C(deductible)[T.yes]": "deductible=yes",
}
private["in the answers"] = original.params.rename(names)
private["its error"] = original.bse.rename(names)
private.round(3)

# %%
distance = (private.estimate - private["in the answers"]).abs() / private.standard_error
assert distance.max() < 3
ratio = private.standard_error / private["its error"]
print(f"Errors are {ratio.min():.2f} to {ratio.max():.2f} times those without privacy.")

# %% [markdown]
# ## What was promised, to whom, and what it rests on
#
# - **To each patient, toward everybody who reads what the shuffler released**: epsilon 2 and delta 10⁻⁶, for the
#   three randomized questions together. Weighting, tables, and models cost nothing more.
# - **The clinic is not protected.** It is sent openly, and anybody may know which collection holds a patient's
#   reports.
# - **It rests on the shuffler**, and on at least 4,400 people in each clinic whose devices follow the plan. If the
#   shuffler fails, the larger epsilon of the plan above is left, which protects nobody. So an organization other than
#   the clinics should run it.
# - **The estimates** describe those who answered, weighted to the margins. Weights cannot correct for differences
#   between those who answer and the others that the margins do not show.
