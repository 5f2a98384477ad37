import { refuse } from "./errors.js"
import type { Randomizer } from "./questions.js"

const WHOLE = 2 ** 32
const ROUNDING = 2 ** -50 // of a logarithm of a ratio, towards more privacy

/** Every bit is flipped with probability `flip` / 2^32. */
export interface Flip {
  readonly flip: number
}

/** A bit is sent as 1 with probability zero / 2^32 if it is 0, and one / 2^32 if it is 1; one stage after the other. */
export interface Staged {
  readonly stages: readonly (readonly [zero: number, one: number])[]
}

/** One of so many options is kept with probability `keep` / 2^32; else another, all equally likely. */
export interface KAry {
  readonly keep: number
  readonly options: number
}

/** What happens to the bits of a question. `permanent`: of RAPPOR, the flip that a device may remember. */
export type Channel = (Flip | Staged | KAry) & { readonly permanent?: Flip; readonly again?: Staged | null }

/** The channel of a randomizer, its probabilities multiples of 2^-32 (docs/protocol.md, "Randomizers"). */
export function channelOf(randomizer: Randomizer, bits: number, id: string): Channel {
  const made = Object.hasOwn(makers, randomizer.kind) && makers[randomizer.kind](randomizer, bits)
  if (!made || !isDevice(made))
    return refuse(`the randomizer of "${id}" is not one that this client knows, or gives an answer away`)
  return made
}

const makers: { [kind: string]: (given: Randomizer, bits: number) => Channel } = {
  "bit flip": ({ noise, epsilon }) => ({ flip: noise == null ? flipFor(epsilon!) : Math.ceil(noise * WHOLE) }),
  warner: ({ spinner, epsilon }) => {
    const truth = spinner == null ? WHOLE - flipFor(epsilon!) : towardsHalf(spinner * WHOLE)
    return simplest([WHOLE - truth, truth])
  },
  simmons: ({ unrelated, prevalence, epsilon }) => {
    const yes = towardsHalf((prevalence ?? 0.5) * WHOLE)
    return simplest(unrelated == null ? simmonsFor(epsilon!, yes) : simmons(Math.ceil(unrelated * WHOLE), yes))
  },
  bit: ({ one_if_zero: zero, one_if_one: one }) => simplest(towardsEachOther(zero!, one!)),
  rappor: ({ f, epsilon, one_if_zero: zero, one_if_one: one }) => {
    const flip = f == null ? flipFor(epsilon!) : Math.ceil((f / 2) * WHOLE)
    if (zero == null) return { flip, permanent: { flip }, again: null }
    const again = towardsEachOther(zero, one!)
    return { stages: [[flip, WHOLE - flip], again], permanent: { flip }, again: { stages: [again] } }
  },
  "k-ary": ({ keep, epsilon }, options) => ({
    keep: keep == null ? keepFor(epsilon!, options) : Math.floor(keep * WHOLE),
    options,
  }),
}

type Bit = readonly [zero: number, one: number]

/** A bit flip with q < 1/2 where the bit channel is one. */
const simplest = (bit: Bit): Channel =>
  bit[0] + bit[1] === WHOLE && bit[0] > 0 && bit[0] < WHOLE / 2 ? { flip: bit[0] } : { stages: [bit] }

const towardsHalf = (number: number): number => (number > WHOLE / 2 ? Math.floor(number) : Math.ceil(number))

function towardsEachOther(zero: number, one: number): Bit {
  const high = Math.floor(Math.max(zero, one) * WHOLE)
  const low = Math.min(Math.ceil(Math.min(zero, one) * WHOLE), high)
  return zero <= one ? [low, high] : [high, low]
}

/** The unrelated question, whose answer is "yes" with probability yes / 2^32. The product has up to 64 bits. */
function simmons(unrelated: number, yes: number): Bit {
  const product = BigInt(unrelated) * BigInt(yes)
  const below = Number(product >> 32n)
  return [below + (product & 0xffffffffn ? 1 : 0), WHOLE - unrelated + below]
}

/** ln(larger / smaller), rounded up; the difference is exact, so that ratios near 1 keep their digits. */
const logRatio = (larger: number, smaller: number): number =>
  Math.log1p((larger - smaller) / smaller) * (1 + ROUNDING)

const bitEpsilon = ([zero, one]: Bit): number =>
  Math.max(...[[zero, one], [WHOLE - zero, WHOLE - one]].map((row) => logRatio(Math.max(...row), Math.min(...row))))

/** The first of the numerators from `start` whose report keeps `epsilon` by itself. */
function firstWithin(epsilon: number, start: number, step: number, loss: (numerator: number) => number): number {
  for (let numerator = start; numerator > 0 && numerator < WHOLE; numerator += step) {
    const found = loss(numerator)
    if (found > 0 && found <= epsilon) return numerator
    if (!(found > 0)) break
  }
  return NaN
}

const flipFor = (epsilon: number): number =>
  firstWithin(epsilon, Math.ceil(WHOLE / (1 + Math.exp(Math.min(epsilon, 700)))), 1, (flip) =>
    logRatio(WHOLE - flip, flip),
  )

function simmonsFor(epsilon: number, yes: number): Bit {
  const rarer = Math.min(yes, WHOLE - yes) / WHOLE
  const start = Math.ceil(WHOLE / (1 + rarer * Math.expm1(Math.min(epsilon, 700))))
  return simmons(firstWithin(epsilon, start, 1, (unrelated) => bitEpsilon(simmons(unrelated, yes))), yes)
}

function keepFor(epsilon: number, options: number): number {
  const wanted = WHOLE / (1 + (options - 1) * Math.exp(-epsilon))
  return firstWithin(epsilon, Math.min(Math.floor(wanted) + 1, WHOLE - 1), -1, (keep) =>
    logRatio(keep * (options - 1), WHOLE - keep),
  )
}

/** Whether it tells something and gives nothing away. */
function isDevice(channel: Channel): boolean {
  const inside = (numerator: number, limit: number): boolean =>
    Number.isInteger(numerator) && numerator > 0 && numerator < limit
  if (channel.permanent && !inside(channel.permanent.flip, WHOLE / 2)) return false
  if ("flip" in channel) return inside(channel.flip, WHOLE / 2)
  if ("keep" in channel) return channel.options > 1 && inside(channel.keep, WHOLE) && channel.keep * channel.options > WHOLE
  const stage = channel.stages.length > 1 ? channel.stages.slice(1) : channel.stages
  return stage.every(([zero, one]) => zero !== one && [zero, one].every((n) => n >= 0 && n <= WHOLE)) &&
    (channel.permanent !== undefined || channel.stages[0].every((n) => inside(n, WHOLE)))
}
