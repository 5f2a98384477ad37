import type { Draw } from "./random.js"

/** The bits that an amount sets when it is rounded down and up, and 2^32 times the chance of the latter. */
export interface Rounding {
  readonly down: number[]
  readonly up: number[]
  readonly chance: number
}

/**
 * The place of the edge below a number, and 2^32 times the chance of the next one, which keeps the mean; a number
 * outside of the edges is moved to the nearest (docs/protocol.md, "Amounts").
 */
export function between(edges: readonly number[], number: number): [below: number, chance: number] {
  const inside = Math.max(edges[0], Math.min(number, edges.at(-1)!))
  const below = edges.slice(1, -1).filter((edge) => edge <= inside).length
  const share = (inside - edges[below]) / (edges[below + 1] - edges[below])
  return [below, whole(share * 2 ** 32)]
}

/** The nearest whole number, of two the even one: from 2^52 to 2^53 there are no other numbers. */
const whole = (number: number): number => number + 2 ** 52 - 2 ** 52

/** Down or up, as the upper half of one word says: up with probability exactly `chance` / 2^32. */
export const rounded = ({ down, up, chance }: Rounding, draw: Draw): number[] => (draw(1)[1] < chance ? up : down)
