/** Draws 64-bit words of fresh random bits, each as two halves, the lower half first. */
export type Draw = (words: number) => Uint32Array

const RANGE = 2n ** 64n
const AT_ONCE = 16384 // Web Crypto gives at most 65,536 bytes at a time

/** Random words of the operating system. */
export const systemWords: Draw = (words) => {
  const halves = new Uint32Array(2 * words)
  for (let at = 0; at < halves.length; at += AT_ONCE) crypto.getRandomValues(halves.subarray(at, at + AT_ONCE))
  return halves
}

/** Numbers below `limit`, all equally likely: a word in the incomplete last round of remainders is drawn again. */
export function uniformBelow(limit: number, count: number, draw: Draw): number[] {
  const accepted = RANGE - (RANGE % BigInt(limit))
  const words = bigWords(draw(count))
  for (;;) {
    const again = words.flatMap((word, at) => (word < accepted ? [] : [at]))
    if (again.length === 0) return words.map((word) => Number(word % BigInt(limit)))
    bigWords(draw(again.length)).forEach((word, i) => (words[again[i]] = word))
  }
}

const bigWords = (halves: Uint32Array): bigint[] =>
  Array.from({ length: halves.length / 2 }, (_, i) => (BigInt(halves[2 * i + 1]) << 32n) | BigInt(halves[2 * i]))

/** The numbers from 0 in uniformly random order (Fisher and Yates). */
export function randomOrder(count: number, draw: Draw): number[] {
  const order = Array.from({ length: count }, (_, i) => i)
  for (let i = count - 1; i > 0; i--) {
    const [j] = uniformBelow(i + 1, 1, draw)
    ;[order[i], order[j]] = [order[j], order[i]]
  }
  return order
}
