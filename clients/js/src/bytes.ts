/** Bytes in a separate buffer, as Web Crypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>

const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

export const utf8 = (text: string): Bytes => new TextEncoder().encode(text)

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

export const isHex = (text: unknown, bytes: number): text is string =>
  typeof text === "string" && text.length === 2 * bytes && /^[0-9a-f]*$/.test(text)

export const fromHex = (text: string): Bytes =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16))

export function concat(...parts: Uint8Array[]): Bytes {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** A number below 65,536 as two bytes, big-endian. */
export const twoBytes = (number: number): Bytes => Uint8Array.of(number >> 8, number & 255)

export const equal = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i])

export const sha256 = async (bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))

/** Base 32: five bits per digit, the first bits first. The number of bits is a multiple of 5. */
export function toBase32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, "0")).join("")
  return (bits.match(/.{5}/g) ?? []).map((five) => DIGITS[parseInt(five, 2)]).join("")
}

export const grouped = (text: string): string => (text.match(/.{1,4}/g) ?? []).join("-")

/** Normalizes typed text: no hyphens or white space, capitals, I and L read as 1, O as 0. */
export const cleanBase32 = (text: string): string =>
  text.replace(/[-\s]/g, "").toUpperCase().replace(/[IL]/g, "1").replace(/O/g, "0")

export const isBase32 = (text: string): boolean => [...text].every((digit) => DIGITS.includes(digit))
