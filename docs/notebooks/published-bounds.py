# %% [markdown]
# # The same mechanism, by published bounds
#
# A privacy engineer knows the literature on shuffled reports, and `dp_accounting`. What does this package compute that
# she does not have already? This page computes the guarantee of two mechanisms by every method that we could verify:
# bit flips, and a choice of five answers by k-ary response, both with local epsilon 2, among 10,000 people, once and in
# 100 rounds.
#
# All of them are upper bounds of the same number, and all are correct. A smaller one is closer to the truth.

# %%
import math
from collections import Counter
from fractions import Fraction
from itertools import product

import altair as alt
import numpy as np
import pandas as pd
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy.optimize import brentq
from scipy.stats import binom

from incrowd import accountant

quiet = np.seterr(over="ignore")  # inside dp_accounting, where a bound is not needed
renderer = alt.renderers.enable("svg")  # charts as pictures, which need no network
CROWD, LOCAL, DELTA, ROUNDS, OPTIONS = 10_000, 2.0, 1e-6, 100, 5
bit = accountant.BitFlip.from_epsilon(LOCAL)
choice = accountant.KAry.from_epsilon(LOCAL, OPTIONS)
BITS, CHOICES = "bit flips", "k-ary response"

# %% [markdown]
# ## This package
#
# A certificate holds for all answers of all people. For bits it is exact to within 10⁻⁴, for other reports nearly so
# ([the empty seat](../empty-seat.md)). The curve composes: `**` is for rounds with new noise.

# %%
curves = {
    BITS: accountant.privacy_curve("shuffle", bit, CROWD, steps=36),
    CHOICES: accountant.privacy_curve("shuffle", choice, CROWD, steps=36),
}
ours = {
    BITS: accountant.smallest_epsilon("shuffle", bit, CROWD, DELTA),
    CHOICES: accountant.smallest_epsilon("shuffle", choice, CROWD, DELTA),
}
rows = [("this package", name, 1, ours[name]) for name in curves]
rows += [
    ("this package", name, ROUNDS, (curve**ROUNDS).epsilon(DELTA)) for name, curve in curves.items()
]
assert round(ours[BITS], 3) == 0.087

# %% [markdown]
# ## dp_accounting, with our curve
#
# `dp_accounting` 0.6 has no shuffled reports. But it takes [the curve of one round](../accountant.md) as a distribution
# of losses, and composes it with its own program.

# %%
there = {name: accountant.to_dp_accounting(curve) for name, curve in curves.items()}
for name, distribution in there.items():
    composed = distribution.self_compose(ROUNDS)
    rows.append(("dp_accounting, our curve", name, 1, distribution.get_epsilon_for_delta(DELTA)))
    rows.append(("dp_accounting, our curve", name, ROUNDS, composed.get_epsilon_for_delta(DELTA)))

# %% [markdown]
# ## What no bound can be below
#
# The guarantee covers every crowd, so the epsilon of any particular one is a lower bound of the truth. Let all others hold
# one answer, which is neither of the two of the person in question if there are more than two. Of the reports, let the
# analyst count only those of the two answers. Each of the others sends each of them with a small probability o, and
# their numbers have a known distribution. Here `dp_accounting` rounds losses down (an optimistic estimate), so that its
# composition is below the truth as well.


# %%
def numbers(cloned, own, other):
    """Return the laws of the numbers of reports of two answers, for either answer of a person.

    Each of the others sends one of the two with probability `cloned`, both alike. She sends her own answer with
    probability `own`, and the other one with probability `other`.
    """
    likely = range(*binom.ppf([1e-13, 1 - 1e-13], CROWD - 1, cloned).astype(int))
    laws = []
    for one, two in ((own, other), (other, own)):
        counted = {n: np.zeros(n + 1) for n in (*likely, likely.stop)}
        for n in likely:
            near = np.arange(*binom.ppf([1e-17, 1 - 1e-16], n, 0.5).astype(int))
            split = np.zeros(n + 1)
            split[near] = binom.pmf(n, CROWD - 1, cloned) * binom.pmf(near, n, 0.5)
            counted[n + 1] += one * np.append(0, split) + two * np.append(split, 0)
            counted[n] += (1 - own - other) * split
        laws.append(np.concatenate([*counted.values()]))
    return laws


def homogeneous():
    """Return the laws of the number of ones if one person says yes, or no, and all others no."""
    others = binom.pmf(np.arange(CROWD), CROWD - 1, float(bit.q))
    without, with_one = np.append(others, 0), np.append(0, others)
    return [p * with_one + (1 - p) * without for p in (float(bit.p), float(bit.q))]


def optimistic(p, q, step=1e-5):
    """Return a distribution of dp_accounting whose losses are rounded down; rare outcomes are left out."""
    masses = []
    for one, other in ((p, q), (q, p)):
        some = (one > 1e-16) & (other > 1e-16)
        place = np.floor(np.log(one[some] / other[some]) / step).astype(int)
        place, inverse = np.unique(place, return_inverse=True)
        masses.append(
            dict(zip(place.tolist(), np.bincount(inverse, one[some]).tolist(), strict=True))
        )
    return pld.PrivacyLossDistribution.create_from_rounded_probability(
        *(masses[0], 0.0, step),
        pessimistic_estimate=False,
        rounded_probability_mass_function_add=masses[1],
        infinity_mass_add=0.0,
        symmetric=False,
    )


power = math.exp(LOCAL)
among = 1 / (power + OPTIONS - 1)  # the probability of each answer that is not one's own
crowds = {BITS: homogeneous(), CHOICES: numbers(2 * among, power * among, among)}
for name, (p, q) in crowds.items():
    once = optimistic(p, q)
    rows.append(("lower bound", name, 1, once.get_epsilon_for_delta(DELTA)))
    rows.append(
        ("lower bound", name, ROUNDS, once.self_compose(ROUNDS).get_epsilon_for_delta(DELTA))
    )

# %% [markdown]
# ## Hiding among the clones
#
# Feldman, McMillan, and Talwar (2021) have a closed form for any mechanism with local epsilon ε₀, valid for
# ε₀ ≤ ln(n / (16 ln(2/δ))):
#
# ε = ln(1 + (e^ε₀ − 1)/(e^ε₀ + 1) · (8 √(e^ε₀ ln(4/δ)/n) + 8 e^ε₀/n))
#
# Its (ε, δ) of one round composes as the (ε, δ) of any mechanism does, which `dp_accounting` computes.


# %%
def closed_form(delta):
    """Return epsilon by theorem 3.1 of Feldman, McMillan, and Talwar (2021)."""
    assert math.log(CROWD / (16 * math.log(4 / delta))) >= LOCAL  # as their program requires
    power = math.exp(LOCAL)
    spread = 8 * math.sqrt(power * math.log(4 / delta) / CROWD) + 8 * power / CROWD
    return math.log1p((power - 1) / (power + 1) * spread)


def of_rounds(delta):
    """Return epsilon of all rounds; half of delta is for the delta of the single ones."""
    each = delta / (2 * ROUNDS)
    one = pld.common.DifferentialPrivacyParameters(closed_form(each), each)
    composed = pld.from_privacy_parameters(one, value_discretization_interval=1e-3)
    return composed.self_compose(ROUNDS).get_epsilon_for_delta(delta)


for name in curves:
    rows.append(("clones 2021, closed form", name, 1, closed_form(DELTA)))
    rows.append(("clones 2021, closed form", name, ROUNDS, of_rounds(DELTA)))
assert round(closed_form(DELTA), 3) == 0.501

# %% [markdown]
# The theorem behind it reduces any such mechanism to two laws, and they can be computed directly, which is much
# sharper. Each of the other people sends, with a small probability, a report that looks like one of the two answers of
# the person in question (a clone), each of the two alike. The analyst sees the numbers of both kinds, in which she is
# counted too.
#
# - In 2021, a person is a clone with probability e^−ε₀, and the person in question is counted for her own answer with
#   probability e^ε₀/(e^ε₀ + 1), otherwise for the other one.
# - The *stronger* clones of 2023 use more of each report, and so does the *variation-ratio reduction* (Wang et al.
#   2024). For bit flips both are the same: a person is a clone of either kind with probability o = 1/(e^ε₀ + 1) each.
#
# `pair_curve` takes the two laws, and its curve composes like every other one.

# %%
old = numbers(1 / power, power / (power + 1), 1 / (power + 1))
stronger = numbers(2 / (power + 1), power / (power + 1), 1 / (power + 1))
pairs = {
    ("clones 2021, numerical", (BITS, CHOICES)): old,
    ("stronger clones, variation ratio", (BITS,)): stronger,
}
for (method, names), (p, q) in pairs.items():
    curve = accountant.pair_curve(p, q, step=2e-4)
    composed = (curve**ROUNDS).epsilon(DELTA)
    for name in names:
        rows.append((method, name, 1, curve.epsilon(DELTA)))
        rows.append((method, name, ROUNDS, composed))

# %% [markdown]
# For k-ary response with k answers, o = 1/(e^ε₀ + k − 1), and the person in question is counted for neither answer with
# probability 1 − o (e^ε₀ + 1). The two laws of the variation ratio are then those of the particular crowd above. They are
# *not a bound for every crowd*, because what is not a clone depends on who sent it. Three people show it, of whom the two
# others hold the second of the two answers and a third one. The sums are in fractions:


# %%
def three_people(gain, options, others):
    """Return the law of the numbers of reports of each answer, for either answer of one person."""
    o = Fraction(1, gain + options - 1)
    laws = []
    for own in (0, 1):
        law = Counter()
        for sent in product(range(options), repeat=3):
            chance = math.prod(
                o * gain if one == answer else o
                for one, answer in zip(sent, (own, *others), strict=True)
            )
            law[tuple(map(sent.count, range(options)))] += chance
        laws.append(law)
    return laws


def excess(p, q, ratio):
    """Return the larger delta of both orders, at epsilon = ln(ratio)."""
    return max(sum(max(a[s] - ratio * b[s], 0) for s in a) for a, b in ((p, q), (q, p)))


alike, mixed = (excess(*three_people(2, 3, others), Fraction(3, 2)) for others in ((2, 2), (1, 2)))
assert (alike, mixed) == (Fraction(1, 32), Fraction(5, 128))

# %% [markdown]
# At local epsilon ln 2, three answers, and ε = ln 1.5, the reduction has δ = 1/32, and so does the program of its
# authors. The mixed crowd has 5/128, a quarter more. In a crowd of 10,000 the difference is hardly visible, but the
# reduction is not a bound, so it has no row for k-ary response in the table. Its number is that of the lower bound. The
# first version of the stronger clones had a similar error: in an erratum, whose summary we read, its authors say that
# the proof fails where the probability of a clone of either kind is below 1/(e^ε₀ + 1). That is so for k > 2. For bit
# flips, the probability is exactly 1/(e^ε₀ + 1).
#
# ## The privacy blanket
#
# Balle, Bell, Gascón, and Nissim (2019) hide a person among the part of the reports that does not depend on the answers,
# the *blanket* w(s), the smallest probability of report s. With P and Q for the two answers of the person in question,
#
# δ(ε) = E[max(0, G₁ + … + Gₙ)] / n,
#
# where each G is (P(s) − e^ε Q(s)) / w(s) with probability w(s), and otherwise 0. Su, Cheng, and Wang (2025) show that no
# decomposition of the reports gives a smaller bound, and compute it by Fourier transforms. So do we here, independently
# of the analysis `blanket` of this package. Each value is split between two points of a lattice so that its mean stays
# the same, which can only raise δ. `dp_accounting` connects the dots of the curve and composes it.

# %%
FINE = 36  # points of the lattice up to the largest value
SIZE = 1 << 15  # points of a circle that holds the sum
GAP, LAST = 2e-3, 100  # the step of epsilon in the curve, and the number of steps


def blanket(p, q, epsilon):
    """Return the bound of delta for the answers with laws p and q; the blanket is their smallest probability."""
    cover = np.minimum(p, q)
    values = np.append((p - math.exp(epsilon) * q) / cover, 0.0)
    chances = np.append(cover, 1 - cover.sum())
    step = abs(values).max() / FINE
    below = np.floor(values / step).astype(int)
    first, upper = below.min(), values / step - below
    law = np.bincount(below - first, chances * (1 - upper), SIZE)
    law += np.bincount(below - first + 1, chances * upper, SIZE)
    total = np.maximum(np.fft.irfft(np.fft.rfft(law) ** CROWD, SIZE), 0)
    places = math.floor(CROWD * (values @ chances) / step) - SIZE // 2 + np.arange(SIZE)
    return np.maximum(places, 0) @ total[(places - CROWD * first) % SIZE] * step / CROWD


laws = {BITS: np.full(2, 1 / (power + 1)), CHOICES: np.full(OPTIONS, among)}
for name, channel in ((BITS, bit), (CHOICES, choice)):
    p, q = laws[name].copy(), laws[name].copy()
    p[0], q[1] = power * p[0], power * q[1]
    once = brentq(lambda epsilon, p=p, q=q: blanket(p, q, epsilon) - DELTA, 0.01, 1)
    assert math.isclose(
        once, accountant.smallest_epsilon("blanket", channel, CROWD, DELTA), rel_tol=1e-3
    )
    deltas = np.minimum.accumulate([blanket(p, q, GAP * i) for i in range(LAST + 1)])
    mirrored = [-math.expm1(-GAP * i) + math.exp(-GAP * i) * deltas[i] for i in range(LAST, 0, -1)]
    dots = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        GAP, -LAST, LAST, np.append(mirrored, deltas)
    )
    composed = pld.PrivacyLossDistribution(dots).self_compose(ROUNDS)
    rows.append(("blanket", name, 1, once))
    rows.append(("blanket", name, ROUNDS, composed.get_epsilon_for_delta(DELTA)))

# %% [markdown]
# ## All of them
#
# Epsilon at delta 10⁻⁶, among 10,000 people:

# %%
frame = pd.DataFrame(rows, columns=["method", "mechanism", "rounds", "epsilon"])
order = frame[frame.rounds == 1].groupby("method").epsilon.mean().sort_values().index
table = frame.pivot(index="method", columns=["mechanism", "rounds"], values="epsilon").loc[order]
table.map("{:.4f}".format).replace("nan", "")

# %%
chart = alt.Chart(frame).encode(
    alt.X("epsilon").scale(type="log").title("epsilon at delta 1e-6"),
    alt.Y("method").sort(list(order)).title(None),
)
legend = alt.Legend(orient="top", title=None)
legend = alt.Legend(orient="top", title=None)
marks = chart.mark_point(filled=True, size=70).encode(
    alt.Shape("mechanism", legend=legend), alt.Color("mechanism", legend=legend)
)
marks.properties(width=260, height=190).facet(row=alt.Row("rounds").title("rounds"))

# %%
once, often = table[BITS, 1], table[BITS, ROUNDS]
assert (
    once["lower bound"] <= once["this package"] < once["blanket"] < once["clones 2021, numerical"]
)
assert often["lower bound"] <= often["this package"] < 1.02 * often["lower bound"]
choices = table[CHOICES, 1]
assert choices["lower bound"] <= choices["this package"] < 1.001 * choices["lower bound"]
assert math.isclose(choices["blanket"], choices["this package"], rel_tol=1e-3)
assert math.isclose(once["blanket"], once["stronger clones, variation ratio"], rel_tol=1e-2)
assert math.isclose(often["this package"], often["dp_accounting, our curve"], rel_tol=1e-2)

# %% [markdown]
# ## Checked against published programs
#
# We ran two programs of the authors on these settings, for one round: that of the clones of 2021
# ([apple/ml-shuffling-amplification](https://github.com/apple/ml-shuffling-amplification)) and that of the variation ratio
# ([wangsw/PrivacyAmplification](https://github.com/wangsw/PrivacyAmplification)). Each states a lower and an upper value
# of its bound, and the numbers above are between them, apart from the rounding of the lower bound:

# %%
programs = {
    ("clones 2021, numerical", BITS): (0.155044, 0.161838),
    ("stronger clones, variation ratio", BITS): (0.114399, 0.114401),
    ("lower bound", CHOICES): (0.097034, 0.097036),  # the variation ratio, which is no bound here
}
ROUNDING = 1e-5  # of the losses in the lower bound
for (method, name), (low, high) in programs.items():
    assert low - ROUNDING <= table[name, 1][method] <= high, method

# %% [markdown]
# The closed form is 0.501 by the theorem. The program of its authors has a slightly larger one, 0.524.
#
# ## What this says, and what it does not
#
# - **Closed forms are for theory.** They hold for any mechanism and show how epsilon depends on its parameters. For
#   choosing noise they cost a factor of more than five here.
# - **For bits, decompositions are not exact.** The blanket, the stronger clones, and the variation ratio are the same
#   bound, a third above the truth: they tell the analyst too much about the others. The certificate of this package is
#   equal to the lower bound, to the digits shown; after 100 rounds it is less than 1% above it.
# - **For k-ary response with five answers, the blanket is as good as ours.** Both are within 0.1% of the truth. Anyone
#   who computes it with another program loses nothing that matters. This package uses it where it is the smaller one.
# - **Composition is equally good everywhere.** Given the curve of one round, `dp_accounting` and this package agree. An
#   (ε, δ) of one round, in contrast, composes badly.
# - **Generality.** The clones hold for any mechanism of local epsilon 2, and for adaptive ones. Our certificates are for
#   the mechanisms of this package, with the noise that is stated.
# - **What all of them assume:** a shuffler that is trusted to mix, and 10,000 people who send honestly randomized
#   reports. None of them says anything about a shuffler that does not mix.
#
# **How the formulas were verified.** The laws of the clones of 2021 and of the variation ratio are those of their authors'
# programs, and give the same numbers. The closed form is also in the second program, with n − 1 for n. The blanket is
# computed here in a second way, which agrees with the analysis of this package. Of the erratum of the stronger clones we
# read the summary,
# not the proofs of the papers of 2023 and later: what this page says about k-ary response rests on the enumeration above.
#
# ## Sources
#
# - B. Balle, J. Bell, A. Gascón, K. Nissim (2019). The privacy blanket of the shuffle model.
#   <https://arxiv.org/abs/1903.02837>
# - V. Feldman, A. McMillan, K. Talwar (2021). Hiding among the clones: a simple and nearly optimal analysis of privacy
#   amplification by shuffling. <https://arxiv.org/abs/2012.12803>
# - V. Feldman, A. McMillan, K. Talwar (2023). Stronger privacy amplification by shuffling for Rényi and approximate
#   differential privacy. <https://arxiv.org/abs/2208.04591>
# - S. Wang, Y. Peng, J. Li, and others (2024). Privacy amplification via shuffling: unified, simplified, and tightened.
#   <https://arxiv.org/abs/2304.05007>
# - P. Su, H. Cheng, P. Wang (2025). Decomposition-based optimal bounds for privacy amplification via shuffling.
#   <https://arxiv.org/abs/2504.07414>
