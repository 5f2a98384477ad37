/** So many 64-bit words of fresh random bits, each as two halves, the lower half first. */
export type Draw = (words: number) => Uint32Array

/** Words of the operating system. Web Crypto gives at most 65,536 bytes at a time. */
export const systemWords: Draw = (words) => {
  const halves = new Uint32Array(2 * words)
  for (let at = 0; at < halves.length; at += 16384) crypto.getRandomValues(halves.subarray(at, at + 16384))
  return halves
}

/** A uniform number below `limit` (at most 2^32): drawn again while it lies in the incomplete last round. */
export function uniformBelow(limit: number, draw: Draw): number {
  const whole = 2 ** 32 - (2 ** 32 % limit)
  for (;;) {
    const [half] = draw(1)
    if (half < whole) return half % limit
  }
}

/** The numbers from 0 in uniformly random order (Fisher and Yates). */
export function randomOrder(count: number, draw: Draw): number[] {
  const order = Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const j = uniformBelow(i + 1, draw)
    ;[order[i], order[j]] = [order[j], order[i]]
  }
  return order
}
