import assert from "node:assert/strict"
import * as node from "node:crypto"
import { test } from "node:test"

import { blind, blindEncoded, checkKey, encode, finalize, tokenKey } from "../lib/blind.js"
import { fromHex, toHex } from "../lib/bytes.js"
import { systemWords } from "../lib/random.js"
import { vectors } from "./vectors.js"

const E = 65537n
const SALT = 48
const { RSA_NO_PADDING, RSA_PKCS1_PSS_PADDING } = node.constants

const utf8 = (text) => new TextEncoder().encode(text)
const number = (bytes) => BigInt(`0x${Buffer.from(bytes).toString("hex")}`)
const bytes = (value, length = 256) => fromHex(value.toString(16).padStart(2 * length, "0"))
const hash = (name, ...parts) => node.createHash(name).update(Buffer.concat(parts)).digest()
const twoBytes = (value) => Buffer.from([value >> 8, value & 255])

/** An inviter by OpenSSL. */
function inviter() {
  const { privateKey, publicKey } = node.generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: Number(E) })
  const modulus = Buffer.from(publicKey.export({ format: "jwk" }).n, "base64url")
  const power = (value) => node.privateDecrypt({ key: privateKey, padding: RSA_NO_PADDING }, value)
  return { privateKey, publicKey, modulus: new Uint8Array(modulus), n: number(modulus), power }
}
const [first, second] = [inviter(), inviter()]
const keys = [first, second].map(({ modulus }) => tokenKey(modulus))

/** x^exponent modulo n, bit by bit. */
function power(x, exponent, n) {
  let result = 1n
  for (const bit of exponent.toString(2)) result = (((result * result) % n) * (bit === "1" ? x : 1n)) % n
  return result
}

function gcd(a, b) {
  while (b) [a, b] = [b, a % b]
  return a
}

/** x with x value = 1 modulo n, found by Bezout's recursion. */
function inverse(value, n) {
  const bezout = (a, b) => {
    if (b === 0n) return [1n, 0n]
    const [x, y] = bezout(b, a % b)
    return [y, x - (a / b) * y]
  }
  return ((bezout(value % n, n)[0] % n) + n) % n
}

/** A source that gives these bytes and then ends. */
function drawOf(...parts) {
  const all = Buffer.concat(parts)
  let at = 0
  const draw = (words) => {
    assert.ok(at + 8 * words <= all.length, "more is drawn than there is")
    return new Uint32Array(Uint8Array.from(all.subarray(at, (at += 8 * words))).buffer)
  }
  return { draw, left: () => all.length - at }
}

const verifies = (publicKey, message, signature) =>
  node.verify("sha384", message, { key: publicKey, padding: RSA_PKCS1_PSS_PADDING, saltLength: SALT }, signature)

for (const given of vectors("rfc9474").vectors)
  test(`the vector ${given.name} of RFC 9474`, async () => {
    const [n, inv] = [given.n, given.inv].map((hex) => BigInt(`0x${hex}`))
    const key = { modulus: bytes(n, 512), n } // of 4,096 bits: no key of a survey
    const [message, salt] = [fromHex(given.input_msg), fromHex(given.salt)]
    const encoded = await encode(message, salt, 512)
    if (given.encoded_msg) assert.equal(toHex(bytes(encoded, 512)), given.encoded_msg)
    const factor = bytes(inverse(inv, n), 512)
    const blinded = blindEncoded([encoded], [key], drawOf(factor).draw)
    assert.equal(toHex(blinded[0].blinded), given.blinded_msg)
    assert.equal(number(blinded[0].inverse), inv)
    const [token] = await finalize([message], [key], [blinded[0].inverse], [fromHex(given.blind_sig)], salt.length)
    assert.equal(toHex(token), given.sig)
    if (salt.length !== SALT) return
    const { draw, left } = drawOf(salt, factor)
    assert.deepEqual(await blind([message], [key], draw), blinded)
    assert.equal(left(), 0)
  })

test("OpenSSL verifies the tokens of several messages and keys, each for its message and key only", async () => {
  const of = [0, 1, 0, 0, 1]
  const messages = of.map((_, i) => utf8(`message ${i}`))
  const blinded = await blind(messages, of.map((i) => keys[i]), systemWords)
  const signed = blinded.map(({ blinded }, i) => [first, second][of[i]].power(blinded))
  const tokens = await finalize(messages, of.map((i) => keys[i]), blinded.map(({ inverse }) => inverse), signed)
  for (const [i, token] of tokens.entries())
    for (const [j, message] of messages.entries())
      for (const [k, { publicKey }] of [first, second].entries())
        assert.equal(verifies(publicKey, message, token), i === j && of[i] === k)
})

test("a signature by OpenSSL has the encoding of its message and its salt", async () => {
  const message = utf8("a message")
  const options = { key: first.privateKey, padding: RSA_PKCS1_PSS_PADDING, saltLength: SALT }
  const encoded = power(number(node.sign("sha384", message, options)), E, first.n)
  const all = Buffer.from(bytes(encoded))
  const digest = all.subarray(207, 255)
  const mask = [0, 1, 2, 3, 4].map((i) => hash("sha384", digest, Buffer.from([0, 0, 0, i]))).flatMap((part) => [...part])
  const salt = Uint8Array.from(all.subarray(159, 207), (byte, i) => byte ^ mask[159 + i])
  assert.equal(await encode(message, salt, 256), encoded)
  assert.notEqual(await encode(utf8("a massage"), salt, 256), encoded)
})

test("the same message is never blinded to the same value, and no factor is used twice", async () => {
  const blinded = await blind([utf8("m"), utf8("m"), utf8("m")], [keys[0], keys[0], keys[1]], systemWords)
  for (const field of ["inverse", "blinded"])
    assert.equal(new Set(blinded.map((each) => String(each[field]))).size, 3)
})

test("a factor that is 0 or too large is drawn again", () => {
  const tries = [bytes(0n), bytes(first.n), bytes(2n ** 2048n - 1n), bytes(first.n - 1n)]
  const { draw, left } = drawOf(...tries)
  const [{ inverse, blinded }] = blindEncoded([5n], [keys[0]], draw)
  assert.equal(left(), 0)
  assert.equal(number(inverse), first.n - 1n) // -1 is its own inverse
  assert.equal(number(blinded), first.n - 5n)
})

test("no token is returned if any signature is wrong, which only the check after unblinding shows", async () => {
  const messages = [utf8("one"), utf8("two")]
  const blinded = await blind(messages, [keys[0], keys[0]], systemWords)
  const inverses = blinded.map(({ inverse }) => inverse)
  const tokens = (...signatures) => finalize(messages, [keys[0], keys[0]], inverses, signatures)
  const [one, two] = blinded.map(({ blinded }) => first.power(blinded))
  const flipped = Uint8Array.from(two, (byte, i) => byte ^ (i === 200 ? 1 : 0))
  const marked = bytes((number(two) * 2n) % first.n) // what an inviter would do to recognize a token
  for (const wrong of [flipped, marked, one, bytes(0n), blinded[1].blinded, bytes(first.n - number(two))]) {
    const unchecked = bytes((number(wrong) * number(inverses[1])) % first.n)
    assert.equal(verifies(first.publicKey, messages[1], unchecked), false)
    await assert.rejects(tokens(one, wrong), { name: "RangeError", message: "signature 1 is not valid" })
  }
  await assert.rejects(tokens(one), { name: "RangeError", message: /1 signatures, not 2/ })
  await assert.rejects(tokens(one, two.subarray(1)), { name: "RangeError", message: "signature 1 is not valid" })
  await assert.rejects(tokens(one, Buffer.concat([[0], two].map(Buffer.from))), { message: "signature 1 is not valid" })
  assert.equal((await tokens(one, two)).length, 2)
})

test("a signature has one form: its sum with the modulus is refused", async () => {
  const message = [utf8("m")]
  for (;;) {
    const [{ blinded, inverse }] = await blind(message, [keys[0]], systemWords)
    const signature = first.power(blinded)
    if (number(signature) + first.n >= 2n ** 2048n) continue // the sum does not have 256 bytes
    await finalize(message, [keys[0]], [inverse], [signature])
    return assert.rejects(finalize(message, [keys[0]], [inverse], [bytes(number(signature) + first.n)]), RangeError)
  }
})

test("a message with a factor of the modulus is refused: no factor would hide it", async () => {
  const { salt, encoded, n, factor } = await sharing()
  const key = tokenKey(bytes(n))
  const random = node.randomBytes(256)
  random[0] &= 127
  const value = (encoded * power(number(random), E, n)) % n
  assert.equal(gcd(value, n) % factor, 0n) // what the inviter would see in spite of the blinding
  await assert.rejects(blind([utf8("m")], [key], drawOf(salt, random).draw), { name: "RangeError", message: /in common/ })
  await blind([utf8("another")], [key], systemWords)
  assert.throws(() => blindEncoded([2n], [key], drawOf(bytes(factor)).draw), { name: "RangeError" })
})

/** A modulus made after a salt was chosen: the large part of the encoded message times a prime. */
async function sharing() {
  for (;;) {
    const salt = node.randomBytes(SALT)
    const encoded = await encode(utf8("m"), salt, 256)
    let factor = encoded
    for (let i = 2n; i < 65536n; i++) while (factor % i === 0n) factor /= i
    const bits = 2048 - factor.toString(2).length
    if (bits < 24) continue
    const n = factor * node.generatePrimeSync(bits, { bigint: true })
    if (n >= 2n ** 2047n) return { salt, encoded, n, factor }
  }
}

test("a modulus has 2,048 bits, no factor below 2^16, and more than one factor", async () => {
  const { n } = first
  const [p, q] = [0, 0].map(() => node.generatePrimeSync(1016, { bigint: true })) // OpenSSL sets their two highest bits
  for (const [modulus, reason] of [
    [bytes(n + 1n), /factor 2;/],
    [bytes(n - (n % 6n) + 3n), /factor 3;/],
    [bytes(65521n * p * q), /factor 65521;/],
    [bytes(65537n * p * q), /0 roots/], // the least factor that is allowed
    [bytes(node.generatePrimeSync(2048, { bigint: true })), /is a prime number/],
    [bytes(n >> 1n), /2047 bits in 256 bytes/],
    [bytes(n >> 8n, 255), /2040 bits in 255 bytes/],
    [bytes(n, 257), /2048 bits in 257 bytes/],
    [bytes(n * 256n + 1n, 257), /2056 bits in 257 bytes/],
    [bytes(BigInt(`0x${vectors("rfc9474").vectors[0].n}`), 512), /4096 bits in 512 bytes/],
    [new Uint8Array(256), /1 bits in 256 bytes/],
    [new Uint8Array(0), /1 bits in 0 bytes/],
  ])
    await assert.rejects(checkKey(tokenKey(modulus), []), { name: "RangeError", message: reason })
})

/** The challenges of a key, by Node's hashes. */
const challenges = (modulus) =>
  Array.from({ length: 16 }, (_, i) => {
    const blocks = Array.from({ length: 9 }, (_, block) =>
      hash("sha256", Buffer.from("incrowd key test 2\0"), modulus, twoBytes(i), twoBytes(0), twoBytes(block)),
    )
    return number(Buffer.concat(blocks).subarray(0, 272)) % number(modulus)
  })

test("the roots of a key are checked, all of them and in their order", async () => {
  const roots = challenges(first.modulus).map((value) => first.power(bytes(value)))
  await checkKey(keys[0], roots)
  const refused = (wrong, message) => assert.rejects(checkKey(keys[0], wrong), { name: "RangeError", message })
  for (let i = 0; i < 16; i++) await refused(roots.with(i, bytes(number(roots[i]) ^ 1n)), RegExp(`root ${i} that`))
  await refused(roots.slice(1), /15 roots, not 16/)
  await refused([...roots, roots[0]], /17 roots, not 16/)
  await refused([roots[1], roots[0], ...roots.slice(2)], /root 0 that/)
  await refused(roots.with(3, Buffer.concat([Buffer.from([0]), roots[3]])), /root 3 that/)
  await refused(challenges(second.modulus).map((value) => second.power(bytes(value))), /root 0 that/)
})

test("a key whose challenge shares a factor with it is refused", async () => {
  // One of 40 factors near 2^16 divides one of the 16 challenges of every hundredth key. The product has 2,048 bits.
  const large = [0, 0].map(() => node.generatePrimeSync(694, { bigint: true }))
  const small = primes(65537n, 40)
  const product = [...small, ...large].reduce((one, other) => one * other)
  for (let [last] = primes(900_000n, 1); ; [last] = primes(last + 1n, 1)) {
    const n = product * last
    if (n < 2n ** 2047n || n >= 2n ** 2048n) continue
    const values = challenges(bytes(n))
    if (!values.some((value) => small.some((factor) => value % factor === 0n))) continue
    const d = inverse(E, [...small, ...large, last].reduce((order, factor) => order * (factor - 1n), 1n))
    const roots = values.map((value) => bytes(power(value, d, n)))
    return assert.rejects(checkKey(tokenKey(bytes(n)), roots), { name: "RangeError", message: /in common/ })
  }
})

/** The first primes that are not below a number. */
function primes(least, count) {
  const found = []
  for (let i = least; found.length < count; i++) if (node.checkPrimeSync(i)) found.push(i)
  return found
}

test("a root has one form: its sum with the modulus is refused", async () => {
  for (let owner = first; ; owner = inviter()) {
    const roots = challenges(owner.modulus).map((value) => owner.power(bytes(value)))
    const small = roots.findIndex((root) => number(root) + owner.n < 2n ** 2048n)
    if (small < 0) continue // no sum has 256 bytes
    const wrong = roots.with(small, bytes(number(roots[small]) + owner.n))
    return assert.rejects(checkKey(tokenKey(owner.modulus), wrong), { name: "RangeError" })
  }
})

test("a key whose exponent divides p - 1 has no roots to show", async () => {
  const p = prime({ add: 2n * E, rem: 1n }, (p) => ((p - 1n) / E) % E !== 0n)
  const q = prime({}, (q) => (q - 1n) % E !== 0n)
  const n = p * q
  const key = tokenKey(bytes(n))
  const values = challenges(key.modulus)
  const without = values.filter((value) => power(value % p, (p - 1n) / E, p) !== 1n) // Euler's criterion
  assert.ok(without.length >= 14) // each has a root with probability 1/65537
  const d = inverse(E, ((p - 1n) / E) * (q - 1n)) // a root of each number that has one
  const powerOf7 = power(7n, E, n)
  assert.equal(power(power(powerOf7, d, n), E, n), powerOf7)
  await assert.rejects(checkKey(key, values.map((value) => bytes(power(value, d, n)))), { name: "RangeError" })
})

function prime(options, condition) {
  for (;;) {
    const drawn = node.generatePrimeSync(1024, { ...options, bigint: true })
    if (condition(drawn)) return drawn
  }
}
