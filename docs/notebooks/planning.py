# %% [markdown]
# # Planning a study
#
# A researcher wants to ask students of two faculties whether they have cheated on an exam. Before she applies for
# funding, she has to know how many people she needs, what further questions would cost, and how likely she is to find
# the difference that she expects. All of this can be computed before anybody is asked.

# %%
import altair as alt
import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.stats import norm

import incrowd

renderer = alt.renderers.enable("svg")  # charts as pictures, which need no network


def survey(crowd, epsilon=1.0, noise="devices", more=(), tables=(), **options):
    """Return the survey of a crowd, with more questions and tables."""
    faculty = {"id": "faculty", "type": "choice", "options": ["law", "medicine"]}
    cheated = {"id": "cheated", "type": "yesno", "shares": {"no": 0.85, "yes": 0.15}}
    return incrowd.Survey.of(
        {
            "name": "Honesty in exams",
            "crowd": crowd,
            "privacy": {"epsilon": epsilon, "delta": 1e-6, "noise": noise},
            "question": [faculty, cheated, *more],
            "table": [{"questions": ["faculty", "cheated"]}, *tables],
            **options,
        }
    )


def margin(plan, questions):
    """Return the margin of error of a table's cells, in percentage points (95%)."""
    (table,) = [each for each in incrowd.forecast(plan) if each.questions == questions]
    return 196 * table.standard_error


# %% [markdown]
# ## How many people?
#
# `forecast` states the error of each table, which has two parts: sampling, because only some people are asked, and
# the noise. The dotted line is what the same number of people would give without any protection.

# %%
CROWDS = [100, 150, 200, 300, 500, 700, 1000, 1500, 2000, 3000, 5000]
JOINT = ("faculty", "cheated")
rows = []
for crowd in CROWDS:
    for noise in ("devices", "services"):
        (table,) = [
            each
            for each in incrowd.forecast(incrowd.plan(survey(crowd, noise=noise)))
            if each.questions == JOINT
        ]
        rows.append(
            {
                "people": crowd,
                "from": f"noise from the {noise}",
                "margin": 196 * table.standard_error,
            }
        )
        plain = np.sqrt(max(0, table.standard_error**2 - table.noise_error**2))
    rows.append({"people": crowd, "from": "without privacy", "margin": 196 * plain})
needed = pd.DataFrame(rows)
WAYS = ["noise from the devices", "noise from the services", "without privacy"]
legend = alt.Legend(orient="top", columns=1, title=None)
alt.Chart(needed).mark_line(strokeWidth=2).encode(
    x=alt.X("people", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(values=CROWDS)),
    y=alt.Y("margin", title="margin of a cell, in points", scale=alt.Scale(type="log")),
    color=alt.Color(
        "from", scale=alt.Scale(domain=WAYS, range=["#0b5cad", "#8a4600", "#767676"]), legend=legend
    ),
    strokeDash=alt.StrokeDash(
        "from", scale=alt.Scale(domain=WAYS, range=[[1, 0], [6, 3], [2, 2]]), legend=legend
    ),
).properties(width=430, height=260, description="Margin of error by number of people")

# %%
needed.pivot(index="people", columns="from", values="margin").round(1)

# %% [markdown]
# The noise of a cell is equal to a few people, in any crowd. So it dominates in small crowds, and hardly matters with
# more than a thousand people.
#
# ## From a margin to a number, or to an epsilon
#
# `solve` goes the other way: what does it take for every requested table to have at most a given margin?

# %%
enough = incrowd.solve(survey(1000), "crowd", margin=0.03)
strict = incrowd.solve(survey(2000), "epsilon", margin=0.03)
print(f"With epsilon 1, {enough.survey.crowd:,} people are enough for a margin of 3 points.")
print(f"With 2,000 people, epsilon {strict.guarantee.epsilon:.2f} is enough.")

# %%
for plan in (enough, strict):
    assert max(1.96 * each.standard_error for each in incrowd.forecast(plan)) < 0.0301

# %% [markdown]
# ## What would one more question cost?
#
# Each further table needs its own noise, and all tables share one guarantee. "Effective people" is the number
# of people who would give the least precise table the same error without privacy.

# %%
WHY = {"id": "why", "type": "choice", "options": ["pressure", "habit", "chance", "other"]}
YEAR = {"id": "year", "type": "choice", "options": ["first", "second", "third", "later"]}
CHANGES = {
    "as planned": {},
    "and the reason": {"more": [WHY]},
    "the reason by faculty": {"more": [WHY], "tables": [{"questions": ["faculty", "why"]}]},
    "and the year": {"more": [WHY, YEAR]},
    "all pairs": {"more": [WHY, YEAR], "tables": "pairs"},
    "any table later": {"more": [WHY, YEAR], "tables": "any"},
}


def changed(more=(), tables=()):
    """Return the survey with further questions, for 2,000 people."""
    asked = survey(2000, more=more, tables=() if isinstance(tables, str) else tables)
    if not isinstance(tables, str):
        return asked
    content = asked.model_dump(by_alias=True, exclude_none=True, exclude={"requested"})
    return incrowd.Survey.of(content | {"tables": tables})


plans = {name: incrowd.plan(changed(**change)) for name, change in CHANGES.items()}
pd.DataFrame(
    {
        name: {
            "margin of faculty by cheated, in points": margin(plan, JOINT),
            "effective people": min(
                each.effective_sample_size_uneven for each in incrowd.forecast(plan)
            ),
            "epsilon if the shuffler fails": plan.guarantee.local_epsilon,
        }
        for name, plan in plans.items()
    }
).T.round(1).astype({"effective people": int})

# %% [markdown]
# ## Will the difference be found?
#
# She expects that 10% have cheated in one faculty and 20% in the other. The power is the probability that an
# interval for the difference excludes zero. A formula needs only the errors of both shares. With half of the
# people in each faculty, the noise of a cell weighs twice as much.

# %%
LAW, MEDICINE = 0.10, 0.20


def power(crowd):
    """Return the probability that a test at 5% finds the difference, by the normal distribution."""
    plan = incrowd.plan(survey(crowd))
    (table,) = [each for each in incrowd.forecast(plan) if each.questions == JOINT]
    half = crowd / 2
    variance = 0.0
    for share in (LAW, MEDICINE):
        noise = (table.noise_error * crowd / half) ** 2
        # The share is a quotient: the noise of the size of the group matters as well.
        variance += share * (1 - share) / half + noise * ((1 - share) ** 2 + share**2)
    shift = (MEDICINE - LAW) / np.sqrt(variance)
    return norm.cdf(shift - 1.96) + norm.cdf(-shift - 1.96)


sizes = [200, 300, 400, 600, 800, 1000]
powers = pd.Series([power(size) for size in sizes], pd.Index(sizes, name="people"), name="power")
powers.round(2).to_frame()

# %% [markdown]
# A simulation needs no formula. Each trial draws new people and new noise, and asks `compare` whether the
# interval for the difference excludes zero.

# %%
SIZE, TRIALS = 400, 60
plan, rng = incrowd.plan(survey(SIZE)), np.random.default_rng(1)


def study(trial, chances=(LAW, MEDICINE)):
    """Return the interval for the difference in one simulated study."""
    faculty = rng.integers(0, 2, SIZE)
    cheated = rng.random(SIZE) < np.array(chances)[faculty]
    people = pa.table({"faculty": np.array(["law", "medicine"])[faculty], "cheated": cheated})
    sent = incrowd.randomize(plan, people, simulation_seed=trial)
    return incrowd.compare(plan, sent, "faculty", "cheated", reference="law").differences[1]


studies = [study(trial) for trial in range(TRIALS)]
hits = np.mean([each.low > 0 for each in studies])
print(
    f"found in {hits:.0%} of {TRIALS} studies of {SIZE} people; by the formula, {powers[SIZE]:.0%}"
)

# %%
shown = pd.DataFrame(
    [(100 * each.low, 100 * each.high) for each in studies], columns=["low", "high"]
)
shown["study"] = shown.low.rank(method="first")
truth = alt.Chart(pd.DataFrame({"x": [0, 10]})).mark_rule(strokeDash=[4, 3]).encode(x="x")
(
    alt.Chart(shown)
    .mark_rule(strokeWidth=2)
    .encode(
        x=alt.X("low", title="difference in points: the intervals of 60 studies"),
        x2="high",
        y=alt.Y("study", axis=None),
        color=alt.condition("datum.low > 0", alt.value("#0b5cad"), alt.value("#a8a8a8")),
    )
    + truth
).properties(width=430, height=260, description="Intervals of 60 studies, with 0 and the truth")

# %% [markdown]
# Blue intervals find the difference; the dashed lines are zero and the truth. If the truth is inside in 95% of
# studies, the intervals are right.

# %%
covered = np.mean([each.low <= MEDICINE - LAW <= each.high for each in studies])
print(f"The truth is inside in {covered:.0%}.")
assert covered > 0.85  # with a coverage of 95%, 3 in 1,000 simulations of 60 studies fail here
assert abs(hits - powers[SIZE]) < 0.2  # three standard deviations of 60 studies

# %% [markdown]
# ## A rehearsal on invented answers
#
# `simulate` checks every table at once: whether the estimates are unbiased, and how often the intervals contain
# the truth. It takes answers that look like those you expect.

# %%
half = np.arange(SIZE) % 2
cheats = np.where(half == 0, np.arange(SIZE) % 20 < 2, np.arange(SIZE) % 20 < 4)
expected = pa.table({"faculty": np.array(["law", "medicine"])[half], "cheated": cheats})
incrowd.simulate(plan.survey, expected, trials=100, seed=1)

# %% [markdown]
# ## What will be promised, to whom, and what it will rest on
#
# - **To each student, toward everybody who reads the mixed reports**: epsilon 1 and delta 10⁻⁶. The sentence for
#   the ethics committee:

# %%
print(incrowd.guarantee_sentence(plan.guarantee))

# %% [markdown]
# - **It rests on the shuffler**, which must be run by another organization, and on as many honest people as were
#   planned. Over a network, nothing is released if fewer answer. In files, their weaker guarantee is computed and
#   stated.
# - **The forecasts** assume the shares that the survey states (15% have cheated), and that people answer
#   honestly. They are no promise to the students, but they are what the researcher can promise to her funder.
