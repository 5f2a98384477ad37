import { questionsOf, type Plan } from "./plan.js"
import { isMemoized } from "./questions.js"

/** A distribution of integers: `chance[i]` belongs to `first + i`; omitted values are below 1e-40 of the largest. */
interface Law {
  readonly first: number
  readonly chance: Float64Array
}

/** The binomial distribution, from its mode outwards by ratios of neighbors, which loses no digits. */
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

/** The distribution of the sum of two independent numbers. */
function sum(x: Law, y: Law): Law {
  const chance = new Float64Array(x.chance.length + y.chance.length - 1)
  x.chance.forEach((p, i) => y.chance.forEach((q, j) => (chance[i + j] += p * q)))
  return { first: x.first + y.first, chance }
}

/** P[X > n]. */
const above = ({ first, chance }: Law, n: number): number =>
  chance.subarray(Math.max(0, n + 1 - first)).reduceRight((total, p) => total + p, 0)

/** A message of cells: the largest number that one person sets, their number, and the noise. */
export interface Sets {
  readonly most: number
  readonly cells: number
  readonly q: number
}

/**
 * Whether `slots` is the smallest number that a person who sets as many cells as possible exceeds with probability at
 * most `chance`. A relative tolerance of 1e-6 allows for other orders of summation.
 */
export function fewestSlots(slots: number, messages: readonly Sets[], chance: number): boolean {
  const law = messages.flatMap(({ most, cells, q }) => [binomial(most, 1 - q), binomial(cells - most, q)]).reduce(sum)
  return above(law, slots) <= chance * (1 + 1e-6) && above(law, slots - 1) > chance * (1 - 1e-6)
}

/** The numbers of the messages whose reports share slots, for each number of slots. */
export type Pools = readonly (readonly number[])[]

/**
 * The pools of an upload to one shuffler. Each permanent set has a separate pool, since it is drawn once
 * and has to fit no matter what else is drawn; all other messages share the first pool.
 */
export function sharedPools(plan: Plan): Pools {
  const sets = [...plan.messages.keys()].filter((i) => isPermanentSet(plan, i))
  const shared = [...plan.messages.keys()].filter((i) => !sets.includes(i))
  return [...(shared.length ? [shared] : []), ...sets.map((i) => [i])]
}

/** With two mixers, or if services add noise, every slot belongs to a message. */
export const separatePools = (plan: Plan): Pools => plan.messages.map((_, i) => [i])

const isPermanentSet = (plan: Plan, i: number): boolean =>
  plan.messages[i].cells && isMemoized(questionsOf(plan, plan.messages[i])[0])
