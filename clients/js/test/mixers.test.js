import assert from "node:assert/strict"
import * as node from "node:crypto"
import { createServer } from "node:http"
import { after, before, beforeEach, mock, test } from "node:test"

import { readBundle, uploadBytes } from "../lib/bundle.js"
import { fromHex, toHex } from "../lib/bytes.js"
import { canonical } from "../lib/canonical.js"
import { fetchSurvey, requestTokens, sealAnswers, sendUpload, withdrawUpload } from "../lib/index.js"
import { SHARED } from "../lib/mixing.js"
import { sealedBytes } from "../lib/parties.js"
import * as tokens from "../lib/tokens.js"
import { pairOf, vectors } from "./vectors.js"

const given = vectors("mixers")
const bytes = (text) => new TextEncoder().encode(text)
const read = (text) => readBundle(bytes(text), node.createHash("sha256").update(text).digest("hex"))
const survey = await read(given.bundle)
const answers = { smokes: true, region: "east" }
const drawn = given.person
const readDrawn = (survey, bytes) => tokens.readDrawn(SHARED, survey, sealedBytes(survey.bundle), bytes)
const [code, stratum] = [drawn.code, survey.bundle.strata[drawn.stratum]]
const patience = { whole: 3000, one: 400, first: 20, longest: 50 }
const { RSA_NO_PADDING, RSA_PKCS1_PSS_PADDING } = node.constants
const keys = given.token_keys.map((key) => node.createPrivateKey({ key: Buffer.from(key, "hex"), format: "der", type: "pkcs8" }))

// --- the bundle ------------------------------------------------------------------------------------------------------

test("the bundle of the vectors", () => {
  assert.equal(toHex(survey.digest), given.digest)
  assert.equal(2 * sealedBytes(survey.bundle), drawn.inners[0].length)
  assert.equal(2 * uploadBytes(survey.bundle), drawn.upload.length)
})

/** A JSON merge patch (RFC 7396). */
function merged(content, patch) {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch
  return Object.entries(patch).reduce((result, [key, value]) => ({ ...result, [key]: merged(result[key], value) }), content)
}

const REASONS = {
  "the root of another challenge": "root 3",
  "the roots of another key": "root 0",
  "fifteen roots": "15 roots",
  "an even modulus": "factor 2;",
  "one token key for two purposes": "inviter.messages",
  "no token keys of messages": "inviter.messages",
  "one host for both mixers": "addresses",
  "an address in the clear": "addresses",
  "one organization that invites and counts": "runs",
  "an organization without a name": "runs",
  "one key for two services": "keys",
  "one key for both layers": "collector.key_configuration",
  "a key of low order": "second.key_configuration",
  "fewer slots": "slots",
  "slots as with one shuffler": "slots",
  "no invitations": "codes",
  "small strata merged": "small_strata",
  "less than a day to deliver": "disposes",
  "a release before it closes": "canonical JSON",
  "a key too many": "what it says about a party",
  "the format with one shuffler": "canonical JSON",
}

test("every wrong bundle of the vectors has its reason", () =>
  assert.deepEqual(Object.keys(given.wrong_bundles).sort(), Object.keys(REASONS).sort()))

for (const [why, patch] of Object.entries(given.wrong_bundles))
  test(`refused: ${why}`, async () => {
    const text = canonical(merged(JSON.parse(given.bundle), patch))
    await assert.rejects(read(text), (error) => error.code === "bundle-refused" && error.message.includes(REASONS[why]))
  })

for (const { inviter, collector, same } of given.organizations)
  test(`${inviter} and ${collector} are ${same ? "one organization" : "different organizations"}`, async () => {
    const reading = read(canonical(merged(JSON.parse(given.bundle), { runs: { inviter, collector } })))
    if (same) await assert.rejects(reading, (error) => error.code === "bundle-refused" && error.message.includes("runs"))
    else assert.equal((await reading).bundle.runs.inviter, inviter)
  })

const cells = vectors("mixers-cells")

test("a bundle with cells, whose layers are sealed with X-Wing", async () => {
  const { bundle, digest } = await read(cells.bundle)
  assert.equal(toHex(digest), cells.digest)
  assert.equal(2 * sealedBytes(bundle), cells.person.inners[0].length)
  assert.equal(2 * uploadBytes(bundle), cells.person.upload.length)
})

for (const [why, patch] of Object.entries(cells.wrong_bundles))
  test(`refused, with cells and X-Wing: ${why}`, async () => {
    const text = canonical(merged(JSON.parse(cells.bundle), patch))
    await assert.rejects(read(text), (error) => error.code === "bundle-refused" && /slots|key_configuration/.test(error.message))
  })

// --- one person ------------------------------------------------------------------------------------------------------

const hexed = (many) => many.map(fromHex)

/** Lets these bytes stand for random ones, and these for new private keys of X25519. */
async function fixed(random, ephemeral, action) {
  const pairs = await Promise.all(ephemeral.map((secret) => pairOf(fromHex(secret))))
  const stream = Buffer.from(random.join(""), "hex")
  let at = 0
  const values = mock.method(crypto, "getRandomValues", (into) => {
    const view = Buffer.from(into.buffer, into.byteOffset, into.byteLength)
    assert.equal(stream.copy(view, 0, at, (at += view.length)), view.length)
    return into
  })
  const generated = mock.method(crypto.subtle, "generateKey", async () => pairs.shift())
  const made = await action()
  values.mock.restore()
  generated.mock.restore()
  assert.deepEqual([at, pairs.length], [stream.length, 0])
  return made
}

/** The words with which an order is drawn (Fisher and Yates), lowest byte first. */
function wordsOf(order) {
  const now = order.map((_, i) => i)
  const words = []
  for (let last = order.length - 1; last > 0; last--) {
    const other = now.indexOf(order[last])
    words.push(other.toString(16).padStart(2, "0").padEnd(16, "0"))
    ;[now[last], now[other]] = [now[other], now[last]]
  }
  return words
}

const seal = () => tokens.blindSlots(SHARED, survey, bytes(code), Uint8Array.of(0, drawn.stratum), hexed(drawn.plaintexts))
const random = [drawn.nonce, ...drawn.salts, ...drawn.blindings]
let stored
const upload = () => tokens.uploadOf(SHARED, survey, readDrawn(survey, stored), fromHex(drawn.answer))

test("the same randomness gives the request of the vectors, and what is stored before it", async () => {
  stored = await fixed(random, drawn.inner_ephemerals, seal)
  const { request, nonce, inners } = readDrawn(survey, stored)
  assert.deepEqual([toHex(request), toHex(nonce), inners.map(toHex)], [drawn.request, drawn.nonce, drawn.inners])
})

test("the answer of the vectors gives their upload", async () =>
  assert.equal(toHex(await fixed(wordsOf(drawn.order), drawn.outer_ephemerals, upload)), drawn.upload))

test("without fixed randomness nothing is blinded, sealed or ordered the same twice", async () => {
  const uploads = [await upload(), await upload()].map(toHex)
  assert.equal(uploads[0].slice(0, 644), uploads[1].slice(0, 644))
  assert.notEqual(uploads[0], uploads[1])
  const people = [await sealAnswers(survey, answers, { code, stratum }), await sealAnswers(survey, answers, { code, stratum })]
  for (const field of ["nonce", "inverses", "inners"]) {
    const values = people.flatMap((person) => [readDrawn(survey, person)[field]].flat().map(toHex))
    assert.equal(new Set(values).size, values.length, field)
  }
})

// --- services --------------------------------------------------------------------------------------------------------

/** The inviter's answer to a request, by OpenSSL. */
function signed({ bundle }, request) {
  const of = [0, ...bundle.slots.flatMap((count, message) => Array(count).fill(message + 1))]
  const values = of.map((_, i) => request.subarray(48 + 256 * i, 304 + 256 * i))
  return Buffer.concat(values.map((value, i) => node.privateDecrypt({ key: keys[of[i]], padding: RSA_NO_PADDING }, value)))
}

let live
const servers = []
before(async () => (live = await running()))
after(() => servers.forEach((server) => (server.closeAllConnections(), server.close())))
const [asked, told] = [[], []]
beforeEach(() => (asked.length = told.length = 0))

/** A survey at an inviter and a first mixer, which answer as they are told, and keep what they were asked. */
async function running() {
  const start = async (name) => {
    const server = createServer(async (request, response) => {
      const pieces = []
      for await (const piece of request) pieces.push(piece)
      if (request.url === "/bundle") return response.end(text)
      const body = Buffer.concat(pieces)
      asked.push({ name, method: request.method, url: request.url, body })
      const [status, answer] = told.shift() ?? [200]
      if (status === "hang up") return request.socket.destroy()
      response.writeHead(status).end(answer ? answer(body) : name === "inviter" ? signed(survey, body) : "")
    })
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
    servers.push(server)
    return { address: `http://127.0.0.1:${server.address().port}` }
  }
  const parties = { inviter: await start("inviter"), first: await start("first") }
  const text = canonical(merged(JSON.parse(given.bundle), parties))
  const link = `${parties.inviter.address}#${node.createHash("sha256").update(text).digest("hex")}.${code}`
  return fetchSurvey(link, patience)
}

const problem = (name, status) => [status, () => JSON.stringify({ type: `urn:incrowd:problem:${name}`, status })]
const lies = (change) => [200, (body) => change(signed(survey, body))]

test("tokens are requested, the upload is sent and withdrawn, with the same bytes each time", async () => {
  const sealed = await sealAnswers(live, answers, { stratum })
  told.push(["hang up"], ["hang up"], [503], [200])
  const upload = await requestTokens(live, sealed, patience)
  told.push(["hang up"], [200], [204])
  await sendUpload(live, upload, patience)
  await withdrawUpload(live, upload, patience)
  const at = asked.map(({ name, method, url }) => `${name} ${method} ${url}`)
  assert.deepEqual(at, [...Array(4).fill("inviter POST /tokens"), ...Array(2).fill("first POST /upload"), "first DELETE /upload"])
  assert.ok(asked.slice(0, 4).every(({ body }) => body.equals(sealed.subarray(0, drawn.request.length / 2))))
  assert.ok(asked.slice(4).every(({ body }) => body.equals(upload)))
  assert.equal(upload.length, uploadBytes(live.bundle))
  assert.ok(!Buffer.from(upload).includes(code))
  const entry = upload.subarray(66, 322)
  const text = Buffer.concat([bytes("incrowd entry 2\0"), live.digest, upload.subarray(34, 66)])
  const verifies = (key) => node.verify("sha384", text, { key, padding: RSA_PKCS1_PSS_PADDING, saltLength: 48 }, entry)
  assert.deepEqual(keys.map((key) => verifies(node.createPublicKey(key))), keys.map((_, i) => i === 0))
})

test("after any interruption the stored bytes give the same request, and the same tokens", async () => {
  const stored = Uint8Array.from(await sealAnswers(live, answers, { stratum }))
  const uploads = [await requestTokens(live, stored, patience), await requestTokens(live, stored, patience)]
  assert.ok(asked[0].body.equals(asked[1].body))
  assert.equal(toHex(uploads[0].subarray(0, 322)), toHex(uploads[1].subarray(0, 322)))
  const again = await sealAnswers(live, answers, { stratum }) // a client that draws again requests other tokens, which none may have
  await requestTokens(live, again, patience)
  assert.ok(!asked[2].body.equals(asked[0].body))
})

test("nothing is uploaded unless all signatures are valid", async () => {
  const sealed = await sealAnswers(live, answers, { stratum })
  const size = 256
  const last = drawn.request.length / 2 - 48
  const swapped = (answer) => Buffer.concat([answer.subarray(0, last - 2 * size), answer.subarray(-size), answer.subarray(last - 2 * size, -size)])
  for (const [code, change] of [
    ["tokens", (answer) => (answer[0] ^= 1, answer)],
    ["tokens", (answer) => (answer[last - 1] ^= 1, answer)],
    ["tokens", swapped],
    ["response", (answer) => answer.subarray(0, -size)],
    ["response", (answer) => answer.subarray(0, -1)],
    ["response", (answer) => Buffer.concat([answer, answer.subarray(0, size)])],
    ["response", () => Buffer.alloc(0)],
    ["response", () => Buffer.from("<html>")],
  ]) {
    told.push(lies(change))
    await assert.rejects(requestTokens(live, sealed, patience), { code, again: false, message: /Nothing was uploaded/ })
  }
  assert.ok(asked.every(({ name }) => name === "inviter"))
})

for (const [name, status] of [["code-used", 409], ["code-unknown", 403], ["closed", 410], ["too-often", 429], ["token", 403]])
  test(`what is final is not asked again: ${name}`, async () => {
    told.push(problem(name, status))
    await assert.rejects(requestTokens(live, await sealAnswers(live, answers, { stratum }), patience), { code: name, again: false })
    assert.equal(asked.length, 1)
  })

test("bytes of another survey, or of another step, are refused before anything is sent", async () => {
  const sealed = await sealAnswers(live, answers, { stratum })
  await assert.rejects(requestTokens(survey, sealed, patience), { code: "length" })
  await assert.rejects(requestTokens(live, sealed.subarray(1), patience), { code: "length" })
  await assert.rejects(sendUpload(live, sealed, patience), { code: "length" })
  assert.equal(asked.length, 0)
})

test("with one shuffler, what is sealed is the upload, and no tokens are requested", async () => {
  const { text, digest } = vectors("bundles").right[0]
  const one = await readBundle(bytes(text), digest)
  const sealed = await sealAnswers(one, { ...answers, drugs: ["alcohol"], visits: 3, site: "s05" }, { code })
  assert.equal(await requestTokens(one, sealed), sealed)
})
