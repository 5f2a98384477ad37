import type { Draw } from "./random.js"

const BLOCK = 7
const ALL = 0xffffffff

/** Whether bit `at` is 1, counted from the lowest bit of the first word. */
export const bitOf = (words: Uint32Array, at: number): boolean => ((words[at >>> 5] >>> (at & 31)) & 1) === 1

const setBit = (words: Uint32Array, at: number): void => {
  words[at >>> 5] |= 1 << (at & 31)
}

const halvesFor = (lanes: number): number => 2 * Math.ceil(lanes / 64)

/**
 * Independent bits, each 1 with probability exactly `numerator` / 2^32: in every lane random bits race against the
 * binary digits of the probability, and the first difference decides (docs/protocol.md, "Report").
 */
export function bernoulli(lanes: number, numerator: number, draw: Draw): Uint32Array {
  const result = new Uint32Array(halvesFor(lanes))
  if (numerator === 2 ** 32) return withoutRest(result.fill(ALL), lanes)
  const digits = numerator === 0 ? 0 : Math.clz32(numerator & -numerator) + 1 // without trailing zeros
  let racing: (number | undefined)[] | null = null // places in the result; null: identical; undefined: padding
  for (let first = 0; first < digits; first += BLOCK) {
    const open = new Uint32Array(racing === null ? result.length : halvesFor(racing.length)).fill(ALL)
    if (open.length === 0) break
    const ones = raceBlock(open, numerator, first, Math.min(first + BLOCK, digits), draw)
    if (racing === null) result.set(ones)
    else racing.forEach((place, lane) => place !== undefined && bitOf(ones, lane) && setBit(result, place))
    const before: (number | undefined)[] | null = racing
    racing = lanesOf(open).map((lane) => (before === null ? lane : before[lane]))
  }
  return withoutRest(result, lanes)
}

/** Sets the unused lanes of the last word to zero. */
function withoutRest(words: Uint32Array, lanes: number): Uint32Array {
  for (let lane = lanes; lane < 32 * words.length; lane++) words[lane >>> 5] &= ~(1 << (lane & 31))
  return words
}

/** Races the open lanes against the digits from `first`; returns the lanes that are decided as 1. */
function raceBlock(open: Uint32Array, numerator: number, first: number, end: number, draw: Draw): Uint32Array {
  const ones = new Uint32Array(open.length)
  for (let digit = first; digit < end; digit++) {
    const one = (numerator >>> (31 - digit)) & 1
    const drawn = draw(open.length / 2)
    for (let i = 0; i < open.length; i++) {
      if (one) ones[i] |= open[i] & ~drawn[i]
      open[i] &= one ? drawn[i] : ~drawn[i]
    }
  }
  return ones
}

/** The places of the bits that are 1, in ascending order. */
export function lanesOf(words: Uint32Array): number[] {
  const places: number[] = []
  words.forEach((word, i) => {
    for (let rest = word; rest !== 0; rest &= rest - 1) places.push(32 * i + 31 - Math.clz32(rest & -rest))
  })
  return places
}
