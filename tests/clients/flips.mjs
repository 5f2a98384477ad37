// Writes lanes as bytes: how many, with which numerator over 2^32, and how they are drawn.
import { readFileSync, writeSync } from "node:fs"

const { bernoulli, systemWords } = await import(process.argv[2])
const { lanes, numerator, how } = JSON.parse(readFileSync(0))

/** A mistake that is often made: one byte over 255 compared with the probability. */
function byBytes() {
  const words = new Uint32Array(lanes / 32)
  for (let at = 0; at < lanes; at += 65536) {
    crypto.getRandomValues(new Uint8Array(65536)).forEach((byte, i) => {
      if (at + i < lanes && byte / 255 < numerator / 2 ** 32) words[(at + i) >> 5] |= 1 << ((at + i) & 31)
    })
  }
  return words
}

const bytes = new Uint8Array((how === "bytes" ? byBytes() : bernoulli(lanes, numerator, systemWords)).buffer)
for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
