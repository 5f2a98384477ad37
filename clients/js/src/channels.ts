import { refuse } from "./errors.js"
import { bernoulli, bitOf } from "./flip.js"
import { uniformBelow, type Draw } from "./random.js"

/** A device with fixed probabilities, as a survey names it (docs/protocol.md, "Randomizers"). */
export interface Randomizer {
  readonly kind: string
  readonly memoized?: boolean
  readonly epsilon?: number
  readonly noise?: number
  readonly spinner?: number
  readonly unrelated?: number
  readonly prevalence?: number
  readonly f?: number
  readonly one_if_zero?: number
  readonly one_if_one?: number
  readonly keep?: number
}

const WHOLE = 2 ** 32
const ROUNDING = 2 ** -50 // relative, of the logarithm of a ratio, towards more privacy

/**
 * The randomization of the bits of a question. `sound`: whether reports carry information, and none reveals an answer.
 * `flip`: the probability of a bit flip, times 2^32. `permanent`: the flip of RAPPOR that a device may remember; `again`:
 * its other stage, which is drawn for each report.
 */
export interface Channel {
  readonly sound: boolean
  readonly respond: (rows: boolean[][], draw: Draw) => boolean[][]
  readonly flip?: number
  readonly permanent?: Channel
  readonly again?: Channel | null
}

const inside = (numerator: number, limit: number): boolean =>
  Number.isInteger(numerator) && numerator > 0 && numerator < limit

/** Every bit is flipped with probability `flip` / 2^32. */
export const bitFlip = (flip: number) => ({
  flip,
  sound: inside(flip, WHOLE / 2),
  respond: (rows: boolean[][], draw: Draw) => combined(rows, [flip], draw, (bit, [flipped]) => bit !== flipped),
})

/** In each stage, a bit is sent as 1 with probability zero / 2^32 if it is 0, and one / 2^32 if it is 1. */
const staged = (...stages: Bit[]) => ({
  stages,
  sound: differ(stages[0]) && stages[0].every((numerator) => inside(numerator, WHOLE)),
  respond: (rows: boolean[][], draw: Draw) =>
    stages.reduce(
      (sent, [zero, one]) =>
        combined(sent, [zero, WHOLE - one], draw, (bit, [raised, lowered]) => (bit ? !lowered : raised)),
      rows,
    ),
})

/** An option is kept with probability `keep` / 2^32; otherwise it moves on by 1 to options - 1 places. */
const kAry = (keep: number, options: number) => ({
  keep,
  options,
  sound: options > 1 && inside(keep, WHOLE) && keep * options > WHOLE,
  respond: (rows: boolean[][], draw: Draw) => {
    const unchanged = bernoulli(rows.length, keep, draw)
    const steps = uniformBelow(options - 1, rows.length, draw)
    return rows.map((row, copy) => {
      const sent = bitOf(unchanged, copy) ? row.indexOf(true) : (row.indexOf(true) + 1 + steps[copy]) % options
      return row.map((_, i) => i === sent)
    })
  },
})

/** Combines every bit with fresh bits of these probabilities; all bits of the first are drawn before the second. */
function combined(
  rows: boolean[][],
  numerators: number[],
  draw: Draw,
  report: (bit: boolean, drawn: boolean[]) => boolean,
): boolean[][] {
  const width = rows[0].length
  const masks = numerators.map((numerator) => bernoulli(rows.length * width, numerator, draw))
  return rows.map((row, copy) => row.map((bit, i) => report(bit, masks.map((mask) => bitOf(mask, copy * width + i)))))
}

const differ = ([zero, one]: Bit): boolean => zero !== one && [zero, one].every((n) => n >= 0 && n <= WHOLE)

/** The channel of a randomizer, its probabilities multiples of 2^-32 (docs/protocol.md, "Randomizers"). */
export function channelOf(randomizer: Randomizer, bits: number, id: string): Channel {
  const made = isComplete(randomizer) && makers[randomizer.kind](randomizer, bits)
  if (!made || !made.sound)
    return refuse(`the randomizer of "${id}" is not one that this client knows, or gives an answer away`)
  return made
}

/** Whether a randomizer has exactly one of the sets of numbers that its kind takes. */
function isComplete({ kind, memoized = false, ...numbers }: Randomizer): boolean {
  const given = [kind, ...Object.keys(numbers).sort(), JSON.stringify(memoized)].join(" ")
  return COMPLETE.test(given) && Object.values(numbers).every(Number.isFinite)
}

const COMPLETE = new RegExp(
  "^((bit flip (noise|epsilon)|warner (spinner|epsilon)|simmons ((prevalence )?unrelated|epsilon)|" +
    "bit one_if_one one_if_zero|k-ary (keep|epsilon)) false|rappor (f|epsilon)( one_if_one one_if_zero)? (true|false))$",
)

const makers: { [kind: string]: (given: Randomizer, bits: number) => Channel } = {
  "bit flip": ({ noise, epsilon }) => bitFlip(noise === undefined ? flipFor(epsilon!) : Math.ceil(noise * WHOLE)),
  warner: ({ spinner, epsilon }) => {
    const truth = spinner === undefined ? WHOLE - flipFor(epsilon!) : towardsHalf(spinner * WHOLE)
    return simplest([WHOLE - truth, truth])
  },
  simmons: ({ unrelated, prevalence = 0.5, epsilon }) => {
    const yes = towardsHalf(prevalence * WHOLE)
    return simplest(unrelated === undefined ? simmonsFor(epsilon!, yes) : simmons(Math.ceil(unrelated * WHOLE), yes))
  },
  bit: ({ one_if_zero: zero, one_if_one: one }) => simplest(towardsEachOther(zero!, one!)),
  rappor: ({ f, epsilon, one_if_zero: zero, one_if_one: one }) => {
    const permanent = bitFlip(f === undefined ? flipFor(epsilon!) : Math.ceil((f / 2) * WHOLE))
    if (zero === undefined) return { ...permanent, permanent, again: null }
    const again = towardsEachOther(zero, one!)
    const both = staged([permanent.flip, WHOLE - permanent.flip], again)
    return { ...both, sound: permanent.sound && differ(again), permanent, again: staged(again) }
  },
  "k-ary": ({ keep, epsilon }, options) =>
    kAry(keep === undefined ? keepFor(epsilon!, options) : Math.floor(keep * WHOLE), options),
}

type Bit = readonly [zero: number, one: number]

/** A bit flip with q < 1/2 where the bit channel is one. */
const simplest = (bit: Bit): Channel =>
  bit[0] + bit[1] === WHOLE && bit[0] > 0 && bit[0] < WHOLE / 2 ? bitFlip(bit[0]) : staged(bit)

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
    const lost = loss(numerator)
    if (lost > 0 && lost <= epsilon) return numerator
    if (!(lost > 0)) break
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
