# %% [markdown]
# # A works council of 120 people
#
# A works council wants to know how many of the company's 120 employees were bullied in the last year, and whether
# it is worse in the plant than in the office. Nobody would answer if the management could find out who said yes,
# and with so few people, it often could: a table with a cell of two people names both.
#
# So few people can hide each other only with much noise from their devices. Here, [two services](../few-people.md)
# add noise to the counts instead: the shuffler, which removes the senders' names, and the collector, which counts.
#
# The employees in this notebook are invented, so we know the true answers, and compare at the end.

# %%
import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

import incrowd

renderer = alt.renderers.enable("svg")  # charts as pictures, which need no network

# %% [markdown]
# ## The questions
#
# The council asks everybody and wants to describe exactly those who answer, so this is a census: no error from
# sampling. The site is a question like the others, and is protected as well.

# %%
SITES = ["office", "plant", "warehouse"]
CONTENT = {
    "name": "Respect at work",
    "crowd": 100,
    "census": True,
    "privacy": {"epsilon": 2.0, "delta": 1e-5},
    "question": [
        {"id": "site", "type": "choice", "options": SITES},
        {"id": "bullied", "type": "yesno"},
    ],
    "table": [{"questions": ["site", "bullied"]}],
}


def planned(noise):
    """Return the plan with noise from the devices or from the services."""
    privacy = CONTENT["privacy"] | {"noise": noise}
    return incrowd.plan(incrowd.Survey.of(CONTENT | {"privacy": privacy}))


devices, services = planned("devices"), planned("services")

# %% [markdown]
# ## Who should add the noise?
#
# The forecast of both plans answers this before anybody is asked. The margin is half the width of the 95%
# interval for one cell, in percentage points.

# %%
pd.DataFrame(
    {
        "table": [" by ".join(table.questions) for table in incrowd.forecast(devices)],
        "margin, noise from the devices": [
            196 * table.noise_error for table in incrowd.forecast(devices)
        ],
        "margin, noise from the services": [
            196 * table.noise_error for table in incrowd.forecast(services)
        ],
    }
).set_index("table").round(1)

# %% [markdown]
# Noise from the services halves every margin. The price is a second organization: if the shuffler and the
# collector work together, nothing protects the answers. The council lets a union run the shuffler, and an
# institute the collector.

# %%
print(incrowd.guarantee_sentence(services.guarantee))

# %% [markdown]
# ## The answers
#
# Of 120 employees, 112 answer. Bullying is about twice as common in the plant as elsewhere. In a real survey,
# `randomize` runs without `simulation_seed`, and takes its randomness from the operating system. The seed makes
# this page reproducible, and every result says that its people are invented. The report below also says that
# whoever holds the answers can read them: in this notebook, one computer plays all parts. Over a network, each
# device seals its answers.

# %%
rng = np.random.default_rng(12)
site = rng.permutation(np.repeat(SITES, [45, 50, 17]))
chance = np.where(site == "plant", 0.32, 0.14)
answers = pa.table({"site": site, "bullied": rng.random(len(site)) < chance})

reports = incrowd.randomize(services, answers, simulation_seed=12)
estimates = incrowd.estimate(services, reports)
estimates

# %% [markdown]
# `incrowd.save_estimates(estimates, "report.html")` saves this page, to be read and handed on.
#
# ## Is it true?
#
# We know the answers, so we can check. About 19 of 20 intervals should contain the true share.

# %%
found = estimates.to_pandas()
found["truth"] = np.concatenate([each.ravel() for each in incrowd.truth(services, answers)])
found["inside"] = (found.low <= found.truth) & (found.truth <= found.high)
shares = ["estimate", "low", "high", "truth"]
found[shares] = (100 * found[shares]).round(1)
found[["questions", "answer", *shares, "inside"]].set_index("questions")

# %%
base = alt.Chart(found[found.questions == "site | bullied"]).encode(
    y=alt.Y("answer", title=None, sort=None)
)
(
    base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low", title="percent of all who answered"), x2="high"
    )
    + base.mark_point(filled=True, size=70).encode(x="estimate")
    + base.mark_tick(color="#c4471c", thickness=3, size=18).encode(x="truth")
).properties(
    width=460,
    height=190,
    padding=20,
    description="Estimates with 95% intervals, and the true shares as ticks",
)

# %%
assert found.inside.mean() > 0.8

# %% [markdown]
# One draw of the noise proves little. `simulate` repeats the survey with the same people and new noise, and
# counts how often the intervals contain the truth. The people are fixed, as in a census.

# %%
trials = incrowd.simulate(services.survey, answers, trials=200, fixed_people=True, seed=1)
trials

# %% [markdown]
# ## Plant against office
#
# The council's second question is a comparison. The share of those bullied is computed within each site, so its
# error is larger than that of a cell.

# %%
incrowd.compare(services, reports, "site", "bullied")

# %% [markdown]
# ## What was promised, to whom, and what it rests on
#
# - **To everybody who answered, toward readers of the report**: epsilon 2 and delta 10⁻⁵. Whatever anybody
#   concludes from the report, its probability would have changed by a factor of at most 7.4 (e²), plus 10⁻⁵, had
#   one person answered differently.
# - **Toward the union alone, or the institute alone**: the same, because each faces the noise of the other.
# - **Toward both together**: nothing. The guarantee rests on two organizations that do not work together.
# - It does not rest on a crowd. It would be the same with 40 answers.
# - It says nothing about those who did not answer, except that their number is known. And the finding itself can
#   matter: if the report says that bullying is common in the plant, people may think so of everybody who works
#   there.
