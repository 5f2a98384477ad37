# %% [markdown]
# # Home pages on a million devices
#
# The team of a browser wants to know which home pages people have, to find sites that hijack this setting. The
# list has 5,000 sites. A home page can reveal a religion, a disease, or an employer, so the team wants no record
# of who has which. It has a million devices, asks once a week for other figures too, and has read about RAPPOR.
#
# The devices in this notebook are invented: the n-th site has a share proportional to 1/n (Zipf's law).

# %%
import math
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa

import incrowd

renderer = alt.renderers.enable("svg")  # charts as pictures, which need no network
DEVICES = 1_000_000
SITES = [f"site-{number:05d}.example" for number in range(1, 5_001)]


def survey(name, question, **more):
    """Return a survey of one question among all devices."""
    privacy = {"epsilon": 1.0, "delta": 1e-8} | more
    content = {"name": name, "crowd": DEVICES, "privacy": privacy, "question": [question]}
    return incrowd.Survey.of(content)


HOMEPAGE = {"id": "homepage", "type": "choice", "options": SITES}

# %% [markdown]
# ## With a shuffler, and without
#
# RAPPOR trusts nobody: each device adds enough noise to protect itself. For a choice from a list, its basic
# one-time form sends one bit for each site and flips each with the same probability q. For a local epsilon of 1,
# q is 1/(1 + √e). In incrowd, this is the analysis `local`.
#
# With a shuffler, each device is hidden among the others and much less noise is enough. The forecast needs no
# data.

# %%
shuffled = incrowd.plan(survey("Home pages", HOMEPAGE))
local = incrowd.plan(survey("Home pages, without a shuffler", HOMEPAGE, analysis="local"))

q = 1 / (1 + math.exp(1 / 2))
by_hand = math.sqrt(DEVICES * q * (1 - q)) / (1 - 2 * q)  # the noise of RAPPOR's count of a site


def row(plan):
    """Return the figures of a plan that a team compares."""
    (table,) = incrowd.forecast(plan)
    return {
        "flipped bits": f"{plan.messages[0].noise.q:.3g}",
        "error of a count, in devices": round(DEVICES * table.noise_error),
        "epsilon": f"{plan.guarantee.epsilon:.3g}",
        "epsilon without a shuffler": f"{plan.guarantee.local_epsilon:.3g}",
    }


comparison = pd.DataFrame(
    [row(shuffled), row(local)], index=["shuffled cells", "local (as RAPPOR)"]
)
comparison.T

# %%
assert math.isclose(DEVICES * incrowd.forecast(local)[0].noise_error, by_hand, rel_tol=1e-3)

# %% [markdown]
# The error of a count differs by a factor of more than 100. Without a shuffler, a site needs some 4,000 devices
# before it can be distinguished from noise; with one, some twenty are enough. The last line is the price: if the
# shuffler records who sent what, almost nothing is left of the guarantee. RAPPOR's guarantee does not depend on
# anybody else. A team that cannot name a shuffler that its users would accept should use the local plan, and a shorter
# list.
#
# ## What a device sends
#
# The question travels as cells: each bit that is set after the flips is a separate report, without a name and
# unlinked to the others. A device sends one real report, unless its bit was flipped, and now and then an invented
# one.

# %%
rng = np.random.default_rng(2014)
weights = 1 / np.arange(1, len(SITES) + 1)
places = rng.choice(len(SITES), DEVICES, p=weights / weights.sum())
answers = pa.table({"homepage": pa.array(SITES).take(pa.array(places))})

reports = incrowd.randomize(shuffled, answers, simulation_seed=2014)
print(f"{len(reports[0]) / DEVICES:.2f} reports from each device")

# %% [markdown]
# ## Which sites are visible
#
# `above_noise(0.05)` marks the sites whose count could not be noise: the chance that any site without a single
# device is among them is 5%, for all 5,000 together.

# %%
(table,) = incrowd.estimate(shuffled, reports).tables
true = np.bincount(places, minlength=len(SITES))
visible = table.above_noise(0.05)
largest = np.argsort(-table.estimate)[:10]
pd.DataFrame(
    {
        "devices": (DEVICES * table.estimate[largest]).round().astype(int),
        "error": (DEVICES * table.error.noise[largest]).round(1),
        "true": true[largest],
    },
    index=pd.Index(np.array(SITES)[largest], name="site"),
)

# %%
print(f"{visible.sum():,} of {len(SITES):,} sites are visible.")
print(f"The smallest of them has {true[visible].min()} devices.")
print(f"Of the sites with 100 devices or more, {visible[true >= 100].mean():.1%} are visible.")

# %%
sample = np.unique(np.geomspace(1, len(SITES), 300).astype(int)) - 1
chart = pd.DataFrame(
    {"true devices": true[sample], "estimated devices": DEVICES * table.estimate[sample]}
)
points = alt.Chart(chart[(chart > 0).all(axis=1)]).mark_circle(opacity=0.6)
line = (
    alt.Chart(pd.DataFrame({"n": [1, 1e5]}))
    .mark_line(color="#888")
    .encode(x=alt.X("n", title="true devices"), y=alt.Y("n", title="estimated devices"))
)
scale = alt.Scale(type="log", domain=[1, 1e5], clamp=True)
ticks = alt.Axis(values=[10**power for power in range(6)])
(
    line
    + points.encode(
        x=alt.X("true devices", scale=scale, axis=ticks),
        y=alt.Y("estimated devices", scale=scale, axis=ticks),
    )
).properties(
    width=420, height=300, description="Estimated against true numbers of devices, for 300 sites"
)

# %% [markdown]
# Estimates of small sites scatter around the line, and the smallest may even be negative. Unbiased estimates of rare
# sites have to scatter like this: their mean over many surveys is the true number.
#
# ## The check against the truth
#
# All 5,000 errors together should have a mean of 0 and a standard deviation of 1, if each is divided by its
# stated error.

# %%
scaled = (table.estimate - true / DEVICES) / table.error.noise
print(f"mean {scaled.mean():.3f}, standard deviation {scaled.std():.3f}")
assert abs(scaled.mean()) < 4 / math.sqrt(len(SITES))
assert abs(scaled.std() - 1) < 0.05

# %% [markdown]
# ## Every week
#
# The team also asks whether the browser crashed this week. Asking the same devices again reveals more, and a
# ledger keeps account of it: it records what was asked and how many answered. Each new plan covers everything
# that is in it. The epsilon of each plan below is that of all weeks so far, not of one week. (A team gives `note`
# the reports as well. It would refuse those of a simulation, so here the ledger assumes that as many devices took
# part as planned.)

# %%
CRASHED = {"id": "crashed", "type": "yesno"}
ledger = Path("ledger.json")
ledger.unlink(missing_ok=True)
incrowd.new_ledger(ledger)
weeks = []
for week, epsilon in enumerate([0.4, 0.6, 0.8, 1.0], start=1):
    asked = survey(f"Crashes in week {week}", CRASHED, epsilon=epsilon)
    plan = incrowd.plan(asked, earlier=incrowd.Ledger.load(ledger).asked)
    crashed = rng.random(DEVICES) < 0.02 + 0.002 * week
    sent = incrowd.randomize(plan, pa.table({"crashed": crashed}), simulation_seed=week)
    incrowd.note(ledger, plan, as_planned=True)
    (share,) = incrowd.estimate(plan, sent).tables
    weeks.append(
        {
            "week": week,
            "epsilon so far": epsilon,
            "flipped bits": plan.messages[0].noise.q,
            "crashed, %": 100 * share.estimate[1],
            "error": 100 * share.error.noise[1],
            "true, %": 100 * crashed.mean(),
        }
    )
pd.DataFrame(weeks).set_index("week").round(5)

# %% [markdown]
# With a million devices, a week costs little precision. A question whose answer rarely changes, such as the home
# page, is better asked with [permanent responses](../questions.md#permanent-responses): the device draws the
# noise once and keeps it, so that asking again reveals nothing new. A plan with
# [`rounds`](../planning.md#planned-rounds) pays for all weeks in advance, with the same noise each week.
#
# ## Copies
#
# Could each device send its answer several times, with new noise each time? All copies are covered by one
# guarantee, so each of them needs more noise; their mean has less.

# %%
copies = []
for number in (1, 2, 4):
    content = {"name": "Crashes", "crowd": DEVICES, "copies": number, "question": [CRASHED]}
    plan = incrowd.plan(incrowd.Survey.of(content | {"privacy": {"epsilon": 1.0, "delta": 1e-8}}))
    (table,) = incrowd.forecast(plan)
    copies.append(
        {
            "copies": number,
            "flipped bits": plan.messages[0].noise.q,
            "error of the noise, in devices": DEVICES * table.noise_error,
        }
    )
pd.DataFrame(copies).set_index("copies").round(6)

# %% [markdown]
# Four times the traffic saves about a fifth of an error that is already tiny. Copies pay for joint reports of
# many bits, not here.
#
# ## What was promised, to whom, and what it rests on
#
# - **To each device, toward whoever reads what the shuffler released**: epsilon 1 and delta 10⁻⁸ for the home
#   page; and another epsilon 1 and delta 10⁻⁸ for the crashes of all four weeks, by the ledger. The two surveys do
#   not share a ledger, so a device that takes part in both is promised their composition, which epsilon 2 and delta
#   2·10⁻⁸ bound. One ledger for both would have been the better plan.
# - **It rests on the shuffler**: that it removes the names, mixes, and does not work with anybody who reads the
#   reports; and on a million honest devices, because invented ones hide nobody.
# - **Toward the shuffler**: it receives sealed reports that it cannot read.
# - **Without the shuffler**, the local epsilon of the table above remains.
# - That a device takes part is not hidden.
