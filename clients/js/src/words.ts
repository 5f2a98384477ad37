import { concat, sha256, utf8, type Bytes } from "./bytes.js"

const DOMAIN = utf8("incrowd word 1")

/** A number as eight bytes, big-endian. */
export function eightBytes(number: number): Bytes {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number))
  return bytes
}

/** Each part after its length, so that different sequences of parts give different bytes. */
export const framed = (...parts: Bytes[]): Bytes => concat(...parts.flatMap((part) => [eightBytes(part.length), part]))

/** The bit of each block that a normalized word sets in a cohort. A block is a power of two up to 1,024. */
export const placesOfWord = (question: { id: string; hashes: number; block: number }, cohort: number, word: string): Promise<number[]> =>
  Promise.all(
    Array.from({ length: question.hashes }, async (_, block) => {
      const text = framed(DOMAIN, utf8(question.id), eightBytes(cohort), eightBytes(block), utf8(word))
      const digest = await sha256(text)
      return ((digest[30] << 8) | digest[31]) % question.block
    }),
  )
