import assert from "node:assert/strict"
import { mock, test } from "node:test"

import { readBundle, uploadBytes } from "../lib/bundle.js"
import { fromHex, toHex } from "../lib/bytes.js"
import { problemOf, seconds } from "../lib/connection.js"
import { parseCode, parseLink, shortForm } from "../lib/link.js"
import { sealer, X25519 } from "../lib/hpke.js"
import { isUsable, overhead, REPORT, seal } from "../lib/seal.js"
import { pairOf, vectors } from "./vectors.js"

const bundles = vectors("bundles").right
const keys = vectors("keys")

test("a plaintext is sealed to the bytes of the vectors, given their ephemeral key", async () => {
  const { plaintext, ephemeral_private, bundle, sealed } = vectors("sealed").right
  const pair = await pairOf(fromHex(ephemeral_private))
  const fixed = mock.method(crypto.subtle, "generateKey", async () => pair)
  const [made] = await seal(keys.key_configuration, REPORT, fromHex(bundle), [fromHex(plaintext)])
  fixed.mock.restore()
  assert.equal(toHex(made), sealed)
})

const quantum = vectors("sealed").post_quantum

/** Seals the plaintext of the vectors with X-Wing, where 64 bytes stand for the random ones. */
async function sealedWith(seed, configuration = quantum.key_configuration, bundle = quantum.bundle) {
  const drawn = mock.method(crypto, "getRandomValues", (into) => (into.set(fromHex(seed).subarray(0, into.length)), into))
  const [made] = await seal(configuration, REPORT, fromHex(bundle), [fromHex(quantum.plaintext)])
  drawn.mock.restore()
  return toHex(made)
}

test("a plaintext is sealed with X-Wing to the bytes of the vectors, given the seed of its draft", async () => {
  assert.equal(await sealedWith(quantum.eseed), quantum.sealed)
  assert.equal(quantum.sealed.length - quantum.plaintext.length, 2 * overhead(quantum.key_configuration))
  const changed = quantum.eseed.replace(/^../, (byte) => (byte === "00" ? "01" : "00"))
  assert.notEqual(await sealedWith(changed), quantum.sealed)
  assert.notEqual(await sealedWith(quantum.eseed, quantum.key_configuration.replace("07", "08")), quantum.sealed)
  assert.notEqual(await sealedWith(quantum.eseed, quantum.key_configuration, "00".repeat(32)), quantum.sealed)
})

test("nothing is sealed the same twice with X-Wing", async () => {
  const plaintext = fromHex(quantum.plaintext)
  const made = await seal(quantum.key_configuration, REPORT, fromHex(quantum.bundle), Array(9).fill(plaintext))
  assert.equal(new Set(made.map((each) => toHex(each.subarray(7, 39)))).size, 9)
})

test("keys that are malformed, of low order or of another suite are not usable", async () => {
  for (const right of [quantum.key_configuration, keys.key_configuration]) {
    const [start, key, end] = [right.slice(0, 6), right.slice(6, -12), right.slice(-12)]
    assert.equal(await isUsable(right), true)
    const wrong = [
      start + key.slice(0, -64) + "00".repeat(32) + end, // of low order
      start + key.slice(2) + end, start + key + "00" + end, right.slice(0, -2), right + "00", right.toUpperCase(),
      "070010" + key + end, "070030" + key + end, `07${start.slice(2) === "0020" ? "647a" : "0020"}` + key + end,
      start + key + "000400010002", start + key + "000400020001", start + key + "0008000100010001000" + "3",
    ]
    // Coefficients of ML-KEM are below 3329, which is 0xd01: one that is not, first and second in its three bytes, and last.
    if (key.length > 64) wrong.push(...[["010d00", 0], ["0010d0", 0], ["0010d0", 2 * 1149]].map(([three, at]) => start + key.slice(0, at) + three + key.slice(at + 6) + end))
    for (const each of wrong) assert.equal(await isUsable(each), false, each.slice(0, 20))
  }
  for (const nothing of [undefined, null, 7, "", "07toString", "07__proto__"]) assert.equal(await isUsable(nothing), false)
})

test("links, short forms and invitations read as those of the vectors", async () => {
  for (const { text, digest, short, link } of bundles) {
    const survey = await readBundle(new TextEncoder().encode(text), digest)
    assert.equal(shortForm(survey.digest), short)
    const found = parseLink(link)
    assert.equal(found.digest, digest)
    assert.equal(found.address, survey.bundle.addresses.shuffler)
    assert.equal(found.code, survey.bundle.codes ? keys.code.text : "")
  }
  const { text } = keys.code
  assert.equal(parseCode(` ${text.toLowerCase().replace(/.{4}/g, "$&-").replaceAll("1", "l").replaceAll("0", "o")} `), text)
  for (const wrong of ["", text.slice(1), text + "0", text.slice(1) + "U"])
    assert.throws(() => parseCode(wrong), { code: "code" })
})

for (const wrong of [
  "https://mix.example", "https://mix.example#", `http://mix.example#${"0".repeat(64)}`, `https://u@mix.example#${"0".repeat(64)}`,
  `https://mix.example//#${"0".repeat(64)}`, `https://mix.example?a#${"0".repeat(64)}`, `https://mix.example#${"0".repeat(64)}.`,
  `https://mix.example#${"0".repeat(64)}.${"U".repeat(16)}`, `https://mix.example#${"A".repeat(64)}`, `javascript:0#${"0".repeat(64)}`,
])
  test(`no link: ${wrong}`, () => assert.throws(() => parseLink(wrong), { code: "link" }))

test("every problem of the vectors has its code, and no other", () => {
  const ofReleases = ["signature", "release", "contradiction"]
  const { right, other } = vectors("problems")
  const read = ({ status, text }) => problemOf(status, new TextEncoder().encode(text).buffer)
  for (const given of right) {
    assert.equal(read(given).code, ofReleases.includes(given.name) ? "response" : given.name)
    assert.equal(read(given).again, given.retry)
    assert.equal(read({ ...given, status: given.status + 1 }).code, "response")
  }
  for (const given of other) assert.deepEqual([read(given).code, read(given).again], ["response", given.retry], given.why)
})

test("Retry-After is a number of seconds or a time", () => {
  assert.equal(seconds(null), 0)
  assert.equal(seconds("7"), 7)
  assert.equal(seconds("soon"), 0)
  assert.equal(seconds("Wed, 21 Oct 2015 07:28:00 GMT"), 0)
  const later = seconds(new Date(Date.now() + 60_000).toUTCString())
  assert.ok(later > 57 && later <= 60)
})

test("an upload has the length that the vectors say", async () => {
  const uploads = vectors("uploads").right
  for (const [i, { text, digest }] of bundles.entries()) {
    const { bundle } = await readBundle(new TextEncoder().encode(text), digest)
    assert.equal(uploadBytes(bundle), fromHex(uploads[i].bytes).length)
  }
})

test("the example of RFC 9458 is sealed to its bytes", async () => {
  const given = vectors("rfc9458")
  const pair = await pairOf(fromHex(given.client_ephemeral_secret_key))
  const fixed = mock.method(crypto.subtle, "generateKey", async () => pair)
  const sealed = await sealer(X25519, fromHex(given.key_config.slice(6, 70)), fromHex(given.info))
  const made = await sealed(fromHex(given.request))
  fixed.mock.restore()
  assert.equal(given.key_config.slice(0, 2) + "002000010001" + toHex(made), given.encapsulated_request)
})
