/** A law on whole numbers: `chance[i]` belongs to `first + i`; what is left out is below 1e-40 of the largest. */
interface Law {
  readonly first: number
  readonly chance: Float64Array
}

/** The binomial law, from its mode outwards by the ratio of neighbours, which loses no digits. */
function binomial(trials: number, chance: number): Law {
  const mode = Math.min(trials, Math.floor((trials + 1) * chance))
  const odds = chance / (1 - chance)
  const below: number[] = []
  for (let k = mode, w = 1; k > 0 && w > 1e-40; k--) below.push((w *= k / ((trials - k + 1) * odds)))
  const above: number[] = []
  for (let k = mode, w = 1; k < trials && w > 1e-40; k++) above.push((w *= ((trials - k) / (k + 1)) * odds))
  const weights = [...below.reverse(), 1, ...above]
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return { first: mode - below.length, chance: Float64Array.from(weights, (weight) => weight / total) }
}

/** P[X + Y > n] for independent X and Y. */
function tailOfSum(x: Law, y: Law, n: number): number {
  const tail = new Float64Array(y.chance.length + 1) // tail[i] = P[Y >= first + i]
  for (let i = y.chance.length - 1; i >= 0; i--) tail[i] = tail[i + 1] + y.chance[i]
  return x.chance.reduce((sum, chance, i) => {
    const least = n + 1 - (x.first + i) - y.first
    return sum + chance * tail[Math.min(Math.max(least, 0), y.chance.length)]
  }, 0)
}

/**
 * Whether `slots` is the fewest that a person in `most` of so many cells overflows with probability at most `chance`,
 * with noise q. A relative 1e-6 is left for other ways to add the same numbers.
 */
export function fewestSlots(slots: number, most: number, cells: number, q: number, chance: number) {
  const set = binomial(most, 1 - q)
  const unset = binomial(cells - most, q)
  const enough = tailOfSum(set, unset, slots) <= chance * (1 + 1e-6)
  return enough && tailOfSum(set, unset, slots - 1) > chance * (1 - 1e-6)
}
