# %% [markdown]
# # A privacy engineer checks a guarantee
#
# A survey asks 2,000 people one yes/no question, and promises epsilon 1 with delta 10⁻⁶. Before she signs, a
# privacy engineer wants to know where these numbers come from, to compute them once more without this package,
# and to see what an attacker achieves who knows everything except one answer. She also wants to know what is left
# if the shuffler fails.

# %%
import math

import altair as alt
import numpy as np
import pandas as pd
from scipy.stats import binom

import incrowd
from incrowd import accountant

renderer = alt.renderers.enable("svg")  # charts as pictures, which need no network
CROWD, EPSILON, DELTA = 2_000, 1.0, 1e-6

# %% [markdown]
# ## The noise
#
# Each person's bit is flipped with probability q. `smallest_noise` finds the smallest q that gives the guarantee
# in a crowd of 2,000; it stops when delta is within a few hundred-thousandths of the goal. The result is a multiple of
# 1/2³², rounded up, so that devices can draw exactly this probability.

# %%
flip = accountant.smallest_noise("exact", lambda noise: noise, CROWD, EPSILON, DELTA)
certificate = accountant.certify("exact", flip, CROWD, EPSILON)
q = float(flip.q)
print(f"q = {q:.6f}, local epsilon {flip.epsilon:.2f}")
print(f"certified delta {certificate.delta.upper:.6e}, which assumes: {certificate.assumption}")
assert certificate.proved and certificate.delta.upper <= DELTA

# %% [markdown]
# A ten-thousandth less noise is not enough:

# %%
less = accountant.BitFlip(round(0.9999 * flip.numerator))
too_large = accountant.certify("exact", less, CROWD, EPSILON).delta
print(f"delta is at least {too_large.lower:.6e}")
assert too_large.lower > DELTA

# %% [markdown]
# ## The same by hand
#
# After mixing, all that an attacker sees is how many reports say yes. Let m of the other 1,999 people have the
# answer yes. The number of ones is then a sum of two binomial variables, plus the bit of the person in question.
# Delta is the largest sum of max(0, P − exp(ε)·P′), over all m and both orders of the two answers. This is short
# enough to write down with scipy alone.


# %%
def counts(ones, zeros, noise):
    """Return the distribution of the number of reports that say yes."""
    kept = binom.pmf(np.arange(ones + 1), ones, 1 - noise)
    flipped = binom.pmf(np.arange(zeros + 1), zeros, noise)
    return np.convolve(kept, flipped)


def delta_by_hand(crowd, noise, epsilon, others):
    """Return the larger delta of both orders, given how many of the others say yes."""
    no, yes = counts(others, crowd - others, noise), counts(others + 1, crowd - others - 1, noise)
    excess = (np.maximum(0, a - math.exp(epsilon) * b).sum() for a, b in ((no, yes), (yes, no)))
    return max(excess)


numbers = [0, 1, 2, 5, 10, 100, 500, 1000, 1500, 1989, 1997, 1998, 1999]
deltas = [delta_by_hand(CROWD, q, EPSILON, others) for others in numbers]
pd.DataFrame({"others who say yes": numbers, "delta": deltas}).set_index("others who say yes").map(
    "{:.4e}".format
)

# %%
assert max(deltas) <= certificate.delta.upper
assert math.isclose(max(deltas), certificate.delta.upper, rel_tol=1e-4)

# %% [markdown]
# The certificate is the largest of them, to within rounding, and is not below it. The worst crowds are those in which
# all others give the same answer. For several questions and many people, enumeration is impossible; there, [the
# bounds](../accountant.md#analyses) `seat` and `blanket` hold for every collection. This is how far they are from
# the truth for one bit:

# %%
pd.DataFrame(
    {
        name: {
            "delta": f"{accountant.certify(name, flip, CROWD, EPSILON).delta.upper:.2e}",
            "smallest epsilon": round(accountant.smallest_epsilon(name, flip, CROWD, DELTA), 3),
        }
        for name in ("exact", "seat", "blanket", "local")
    }
).T

# %% [markdown]
# ## The optimal attacker
#
# An attacker knows the answers of all others, and sees the mixed reports. She has to decide whether the person
# said yes. By the lemma of Neyman and Pearson, no test is better than one that compares the likelihoods.
# Differential privacy bounds all tests: at a false positive rate a, the true positive rate is at most exp(ε)·a +
# δ, and at most 1 − exp(−ε)·(1 − δ − a).

# %%
OTHERS = 0  # how many of the others say yes: the worst crowd
no, yes = counts(OTHERS, CROWD - OTHERS, q), counts(OTHERS + 1, CROWD - OTHERS - 1, q)
order = np.argsort(-np.log(np.maximum(yes, 1e-300)) + np.log(np.maximum(no, 1e-300)))
roc = pd.DataFrame(
    {"false positives": np.cumsum(no[order]), "true positives": np.cumsum(yes[order])}
)


def bound(false_positives):
    """Return the largest rate of true positives that epsilon and delta allow."""
    small = math.exp(EPSILON) * false_positives + DELTA
    large = 1 - math.exp(-EPSILON) * (1 - DELTA - false_positives)
    return np.minimum(small, large)


grid = np.linspace(0, 1, 201)
limits = pd.DataFrame({"false positives": grid, "bound": bound(grid), "guessing": grid})


def curve(data, column, color, dash):
    """Return one line of the chart."""
    mark = alt.Chart(data).mark_line(color=color, strokeDash=dash, strokeWidth=2)
    return mark.encode(
        x=alt.X("false positives", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y(column, title="true positives", scale=alt.Scale(domain=[0, 1])),
        order="false positives",
    )


(
    curve(roc.iloc[:: max(1, len(roc) // 400)], "true positives", "#0b5cad", [1, 0])
    + curve(limits, "bound", "#8a4600", [6, 3])
    + curve(limits, "guessing", "#767676", [2, 2])
).properties(
    width=380,
    height=300,
    description="True against false positive rate: the optimal attacker, her bound, and guessing",
)

# %% [markdown]
# The solid line is the best that anybody can do; the dashed line is the bound that epsilon and delta give; the
# dotted line is guessing. The optimal attacker stays close to guessing, because epsilon has to hold for rare
# outcomes as well: those in which the reports happen to say most about the person.

# %%
assert (roc["true positives"] <= bound(roc["false positives"]) + 1e-9).all()
advantage = (roc["true positives"] - roc["false positives"]).max()
print(f"She is right in {50 + 50 * advantage:.1f}% of cases, if yes and no are equally likely.")

# %% [markdown]
# A simulation agrees: 200,000 collections, half of them with each answer, and a count that is compared with the
# best threshold.

# %%
rng = np.random.default_rng(1)
truth = rng.random(200_000) < 0.5
seen = rng.binomial(CROWD - 1, q, truth.size) + np.where(rng.random(truth.size) < q, ~truth, truth)
guess = yes[seen] > no[seen]
right = (guess == truth).mean()
print(f"{100 * right:.1f}% of the guesses are right")
assert abs(right - (0.5 + advantage / 2)) < 5 * 0.5 / math.sqrt(truth.size)

# %% [markdown]
# ## If the shuffler fails
#
# A shuffler that keeps a list hands over each report with its sender. Then the flip of this one bit is all that
# protects a person, and the attacker is right unless it was flipped.

# %%
pd.DataFrame(
    {
        "crowd of 2,000": [EPSILON, 50 + 50 * advantage],
        "with names": [flip.epsilon, 100 * (1 - q)],
    },
    index=["epsilon", "attacker is right, %"],
).round(2)

# %% [markdown]
# So the guarantee rests almost entirely on the shuffler. A plan can limit what would be left with
# `local_epsilon`. This is what different limits cost in a survey of this size:


# %%
def planned(**limit):
    """Return the plan of the survey, with what is left without the shuffler limited."""
    privacy = {"epsilon": EPSILON, "delta": DELTA} | limit
    question = {"id": "answer", "type": "yesno"}
    content = {"name": "One question", "crowd": CROWD, "privacy": privacy, "question": [question]}
    return incrowd.plan(incrowd.Survey.of(content))


limited = [planned(), *(planned(local_epsilon=limit) for limit in (4.0, 3.0, 2.0, 1.0))]
pd.DataFrame(
    {
        "epsilon without the shuffler": [plan.guarantee.local_epsilon for plan in limited],
        "attacker with names is right, %": [
            100 * (1 - plan.messages[0].noise.q) for plan in limited
        ],
        "error of the noise, in people": [
            CROWD * incrowd.forecast(plan)[0].noise_error for plan in limited
        ],
    }
).round(2)

# %% [markdown]
# ## If people are missing, or collude
#
# The guarantee counts on 2,000 honest people. With fewer, epsilon grows at the same delta: with half of them it
# about doubles, and with a quarter, hardly anything but the flip of each bit protects a person. If you expect some
# people to collude, say so before planning (`colluding`), so that the noise allows for them.

# %%
crowds = [2_000, 1_000, 500, 250, 100]
pd.DataFrame(
    {
        "honest people": crowds,
        "epsilon": [accountant.smallest_epsilon("exact", flip, crowd, DELTA) for crowd in crowds],
    }
).set_index("honest people").round(2)

# %% [markdown]
# ## Choosing epsilon and delta
#
# Epsilon says how much the attacker's odds can change: from even odds to at most e : 1, which is 73%. Delta is
# added to the probabilities: it allows for rare outcomes that say more. One common rule asks for a delta below
# 1/N, so that it is unlikely to harm even one of N people; here, 10⁻⁶ is 500 times smaller. [Choosing epsilon and
# delta](../choosing.md) discusses both. The curve shows what else this noise could promise.

# %%
curve_of_reports = accountant.privacy_curve("exact", flip, CROWD)
epsilons = np.linspace(0.2, 1.6, 57)
profile = pd.DataFrame(
    {"epsilon": epsilons, "delta": [curve_of_reports.delta(e) for e in epsilons]}
)
alt.Chart(profile).mark_line(color="#0b5cad").encode(
    x="epsilon", y=alt.Y("delta", scale=alt.Scale(type="log"), axis=alt.Axis(format=".0e"))
).properties(width=380, height=220, description="Delta as a function of epsilon, falling")

# %% [markdown]
# ## What was promised, to whom, and what it rests on
#
# - **To each person, toward everybody who sees the mixed reports**, even if they know all other answers: epsilon
#   1 and delta 10⁻⁶.
# - **It rests on** the shuffler, which removes names and does not work with anybody who reads the reports; 2,000
#   people whose devices draw the noise as planned; and their random number generators.
# - **Toward the shuffler together with the collector**: the local epsilon above, unless the plan limits it.
# - The mathematics is [published](../mathematics.md) with its proofs. What this page recomputed is one bit;
#   nobody outside the project has [audited](../limits.md) the software.
