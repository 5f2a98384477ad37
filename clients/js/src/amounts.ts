import type { Draw } from "./random.js"

/** The bits that an amount sets if it is rounded down or up, and 2^32 times the probability of rounding up. */
export interface Rounding {
  readonly down: number[]
  readonly up: number[]
  readonly chance: number
}

/**
 * The place of the edge below a number, and 2^32 times the probability of the edge above it that preserves the mean. A
 * number outside the edges counts as the nearest edge (docs/protocol.md, "Amounts").
 */
export function between(edges: readonly number[], number: number): [below: number, chance: number] {
  const inside = Math.max(edges[0], Math.min(number, edges.at(-1)!))
  const below = edges.slice(1, -1).filter((edge) => edge <= inside).length
  const share = (inside - edges[below]) / (edges[below + 1] - edges[below])
  return [below, whole(share * 2 ** 32)]
}

/** The nearest integer, ties to even: all numbers from 2^52 to 2^53 are integers. */
const whole = (number: number): number => number + 2 ** 52 - 2 ** 52

/** Rounds down or up by the upper half of one word: up with probability exactly `chance` / 2^32. */
export const rounded = ({ down, up, chance }: Rounding, draw: Draw): number[] => (draw(1)[1] < chance ? up : down)
