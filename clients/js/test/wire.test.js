import assert from "node:assert/strict"
import { mock, test } from "node:test"

import { readBundle, uploadBytes } from "../lib/bundle.js"
import { fromHex, toHex } from "../lib/bytes.js"
import { problemOf, seconds } from "../lib/connection.js"
import { parseCode, parseLink, shortForm } from "../lib/link.js"
import { sealer } from "../lib/hpke.js"
import { seal } from "../lib/seal.js"
import { vectors } from "./vectors.js"

const bundles = vectors("bundles").right
const keys = vectors("keys")

test("a plaintext is sealed to the bytes of the vectors, given their ephemeral key", async () => {
  const { plaintext, ephemeral_private, bundle, sealed } = vectors("sealed").right
  const pair = await pairOf(fromHex(ephemeral_private))
  const fixed = mock.method(crypto.subtle, "generateKey", async () => pair)
  const [made] = await seal(keys.key_configuration, fromHex(bundle), [fromHex(plaintext)])
  fixed.mock.restore()
  assert.equal(toHex(made), sealed)
})

async function pairOf(secret) {
  const pkcs8 = new Uint8Array([...fromHex("302e020100300506032b656e04220420"), ...secret])
  const privateKey = await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", true, ["deriveBits"])
  const { x } = await crypto.subtle.exportKey("jwk", privateKey)
  const publicKey = await crypto.subtle.importKey("raw", Buffer.from(x, "base64url"), "X25519", true, [])
  return { privateKey, publicKey }
}

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
  `https://mix.example/#${"0".repeat(64)}`, `https://mix.example?a#${"0".repeat(64)}`, `https://mix.example#${"0".repeat(64)}.`,
  `https://mix.example#${"0".repeat(64)}.${"U".repeat(16)}`, `https://mix.example#${"A".repeat(64)}`, `javascript:0#${"0".repeat(64)}`,
])
  test(`no link: ${wrong}`, () => assert.throws(() => parseLink(wrong), { code: "link" }))

test("every problem of the vectors has its code, and no other", () => {
  const ofReleases = ["signature", "release", "contradiction"]
  for (const { status, text } of vectors("problems")) {
    const name = JSON.parse(text).type.replace("urn:incrowd:problem:", "")
    const bytes = new TextEncoder().encode(text).buffer
    assert.equal(problemOf(status, bytes).code, ofReleases.includes(name) ? "response" : name)
    assert.equal(problemOf(status + 1, bytes).code, "response")
  }
  assert.equal(problemOf(502, new ArrayBuffer(0)).again, true)
  assert.equal(problemOf(418, new ArrayBuffer(0)).again, false)
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
  const sealed = await sealer(fromHex(given.key_config.slice(6, 70)), fromHex(given.info))
  const made = await sealed(fromHex(given.request))
  fixed.mock.restore()
  assert.equal(given.key_config.slice(0, 2) + "002000010001" + toHex(made), given.encapsulated_request)
})
