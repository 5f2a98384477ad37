// The device's side of blind signatures: RSABSSA-SHA384-PSS-Deterministic with 2,048 bits and e = 65537 (RFC 9474).
//
// BigInt does not take constant time. Whoever can time this device may learn about a blinding factor, which connects a
// token with the request for it. This reveals nothing about the answers: factors and salts are drawn anew, only
// the device has them, and messages contain only nonces and hashes of sealed reports.
import { concat, fromHex, sha256, toHex, twoBytes, utf8, type Bytes } from "./bytes.js"
import type { Draw } from "./random.js"

/** An inviter's public key for tokens, with e = 65537. */
export interface TokenKey {
  /** Big-endian, 256 bytes. */
  readonly modulus: Bytes
  /** The same number. */
  readonly n: bigint
}

/** A blinded message, which alone leaves the device, and what undoes the blinding. As long as the modulus, big-endian. */
export interface Blinded {
  /** m r^e modulo n, where m is the encoded message and r the factor. */
  readonly blinded: Bytes
  /** The inverse of r modulo n. */
  readonly inverse: Bytes
}

const BYTES = 256
const SALT_BYTES = 48
const HASH_BYTES = 48
const ROOTS = 16
const CHALLENGE_LABEL = utf8("incrowd key test 2\0")
const CHALLENGE_BYTES = 272 // 128 bits more than n: the remainder is uniform but for 2^-128
const SMALL_PRIMES = /* @__PURE__ */ primesBelow(65536).map(BigInt)

export const tokenKey = (modulus: Bytes): TokenKey => ({ modulus, n: toNumber(modulus) })

/**
 * Checks a key: its modulus has exactly 2,048 bits, no factor below 2^16, and is not a prime; and x -> x^e is
 * one-to-one modulo n, so that every blinded message is uniformly distributed: 16 challenges, which the key itself
 * determines, have roots. If e divided p - 1 for a factor p, each would have one with probability 1/e. Throws a
 * RangeError that says what is wrong.
 */
export async function checkKey({ modulus, n }: TokenKey, roots: readonly Bytes[]): Promise<void> {
  const bits = n.toString(2).length
  check(modulus.length === BYTES && bits === 8 * BYTES, `has ${bits} bits in ${modulus.length} bytes, not 2048 bits in ${BYTES} bytes`)
  const factor = SMALL_PRIMES.find((prime) => n % prime === 0n)
  check(!factor, `has the factor ${factor}; its factors are larger than 65536`)
  check(powerOf2(n - 1n, n) !== 1n, "is a prime number") // Fermat: 1 for every prime
  check(roots.length === ROOTS, `has ${roots.length} roots, not ${ROOTS}`)
  let product = 1n
  for (const [i, bytes] of roots.entries()) {
    const root = toNumber(bytes)
    const challenge = toNumber(await mgf1(sha256, concat(CHALLENGE_LABEL, modulus, twoBytes(i)), CHALLENGE_BYTES)) % n
    check(bytes.length === BYTES && root < n && publicPower(root, n) === challenge, `has a root ${i} that is not one of its challenge`)
    product = (product * challenge) % n
  }
  invert(product, n)
}

function check(holds: boolean, otherwise: string): void {
  if (!holds) throw new RangeError(`a token key ${otherwise}`)
}

/**
 * Blinds each message under the key at the same place, with a fresh salt and factor (RFC 9474, section 4.2). Throws a
 * RangeError if a key has a factor in common with a message or a random number.
 */
export async function blind(messages: readonly Bytes[], keys: readonly TokenKey[], draw: Draw): Promise<Blinded[]> {
  const encoded = messages.map((message, i) => encode(message, randomBytes(SALT_BYTES, draw), keys[i].modulus.length))
  return blindEncoded(await Promise.all(encoded), keys, draw)
}

/** Blinds encoded messages. The inverses of all factors of one key take one inversion. */
export function blindEncoded(encoded: readonly bigint[], keys: readonly TokenKey[], draw: Draw): Blinded[] {
  const factors = keys.map((key) => uniformFactor(key, draw))
  const inverses: bigint[] = []
  for (const n of new Set(keys.map((key) => key.n))) {
    const places = keys.flatMap((key, i) => (key.n === n ? [i] : []))
    const numbers = places.flatMap((i) => [factors[i], encoded[i]]) // m needs no inverse, but must have one
    const inverted = invertAll(numbers, n)
    places.forEach((place, i) => (inverses[place] = inverted[2 * i]))
  }
  return keys.map(({ n, modulus }, i) => ({
    blinded: toBytes((encoded[i] * publicPower(factors[i], n)) % n, modulus.length),
    inverse: toBytes(inverses[i], modulus.length),
  }))
}

/**
 * Unblinds the signatures of all messages, in their order, and verifies them as everyone else does (RFC 9474, section
 * 4.4). No signature is returned unless all are valid: throws a RangeError otherwise.
 */
export async function finalize(
  messages: readonly Bytes[],
  keys: readonly TokenKey[],
  inverses: readonly Bytes[],
  signatures: readonly Bytes[],
  saltLength = SALT_BYTES,
): Promise<Bytes[]> {
  if (signatures.length !== keys.length) throw new RangeError(`it has ${signatures.length} signatures, not ${keys.length}`)
  const verifiers = new Map<TokenKey, Promise<CryptoKey>>()
  for (const key of keys) if (!verifiers.has(key)) verifiers.set(key, verifier(key))
  const tokens = keys.map(async (key, i) => {
    const { n, modulus } = key
    const signature = toNumber(signatures[i])
    const token = toBytes((signature * toNumber(inverses[i])) % n, modulus.length)
    const right = signatures[i].length === modulus.length && signature < n
    const valid = right && (await crypto.subtle.verify({ name: "RSA-PSS", saltLength }, await verifiers.get(key)!, token, messages[i]))
    if (!valid) throw new RangeError(`signature ${i} is not valid`)
    return token
  })
  return Promise.all(tokens)
}

function verifier({ modulus }: TokenKey): Promise<CryptoKey> {
  const base64url = (bytes: Bytes): string =>
    btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "")
  const key = { kty: "RSA", n: base64url(modulus), e: "AQAB" } // 65537
  return crypto.subtle.importKey("jwk", key, { name: "RSA-PSS", hash: "SHA-384" }, false, ["verify"])
}

/** EMSA-PSS with SHA-384 and MGF1 for a modulus of this many full bytes (RFC 8017, section 9.1.1). */
export async function encode(message: Bytes, salt: Uint8Array, bytes: number): Promise<bigint> {
  const hash = await sha384(concat(new Uint8Array(8), await sha384(message), salt))
  const block = concat(new Uint8Array(bytes - HASH_BYTES - salt.length - 2), Uint8Array.of(1), salt)
  const mask = await mgf1(sha384, hash, block.length)
  const masked = block.map((byte, i) => byte ^ mask[i])
  masked[0] &= 127
  return toNumber(concat(masked, hash, Uint8Array.of(0xbc)))
}

const sha384 = async (bytes: Bytes): Promise<Bytes> => new Uint8Array(await crypto.subtle.digest("SHA-384", bytes))

/** MGF1 (RFC 8017, appendix B.2.1): the hashes of a seed followed by 0, 1, ... in four bytes, cut after `length` bytes. */
async function mgf1(hash: (bytes: Bytes) => Promise<Bytes>, seed: Bytes, length: number): Promise<Bytes> {
  const blocks: Bytes[] = []
  for (let at = 0; at < length; at += blocks[0].length)
    blocks.push(await hash(concat(seed, twoBytes(0), twoBytes(blocks.length))))
  return concat(...blocks).slice(0, length)
}

/** x^65537 modulo n. */
function publicPower(x: bigint, n: bigint): bigint {
  let power = x
  for (let i = 0; i < 16; i++) power = (power * power) % n
  return (power * x) % n
}

/** 2^exponent modulo n, bit by bit. */
function powerOf2(exponent: bigint, n: bigint): bigint {
  let power = 1n
  for (const bit of exponent.toString(2)) power = ((power * power) << BigInt(bit)) % n
  return power
}

/** The inverses of all numbers modulo n, from that of their product (Montgomery's trick). */
function invertAll(numbers: readonly bigint[], n: bigint): bigint[] {
  const products = [1n]
  for (const number of numbers) products.push((products.at(-1)! * number) % n)
  let inverse = invert(products.at(-1)!, n)
  const inverses: bigint[] = []
  for (let i = numbers.length - 1; i >= 0; i--) {
    inverses[i] = (inverse * products[i]) % n
    inverse = (inverse * numbers[i]) % n
  }
  return inverses
}

/** The inverse modulo n by Euclid's algorithm. A number without one has a factor of n: no inviter's key has such. */
function invert(number: bigint, n: bigint): bigint {
  let [a, b, x, y] = [n, number, 0n, 1n] // a = x number, b = y number (mod n)
  while (b) {
    const quotient = a / b
    ;[a, b] = [b, a - quotient * b]
    ;[x, y] = [y, x - quotient * y]
  }
  check(a === 1n, "has a factor in common with a message or a random number")
  return x < 0n ? x + n : x
}

/** From 1 to n - 1, all equally likely. */
function uniformFactor({ modulus, n }: TokenKey, draw: Draw): bigint {
  for (;;) {
    const number = toNumber(randomBytes(modulus.length, draw))
    if (number > 0n && number < n) return number
  }
}

/** count: a multiple of 8. */
const randomBytes = (count: number, draw: Draw): Uint8Array => new Uint8Array(draw(count / 8).buffer)

const toNumber = (bytes: Uint8Array): bigint => BigInt(`0x0${toHex(bytes)}`)

const toBytes = (number: bigint, length: number): Bytes => fromHex(number.toString(16).padStart(2 * length, "0"))

function primesBelow(limit: number): number[] {
  const composite = new Uint8Array(limit)
  const primes: number[] = []
  for (let i = 2; i < limit; i++) {
    if (composite[i]) continue
    primes.push(i)
    for (let multiple = i * i; multiple < limit; multiple += i) composite[multiple] = 1
  }
  return primes
}
