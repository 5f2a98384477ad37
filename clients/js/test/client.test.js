import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { readFileSync } from "node:fs"
import { after, mock, test } from "node:test"

import { readBundle } from "../lib/bundle.js"
import { canonical } from "../lib/canonical.js"
import { drawExample, fetchSurvey, IncrowdError, sealAnswers, sendUpload, withdrawUpload, withInvitation } from "../lib/index.js"
import { vectors } from "./vectors.js"

const answers = { smokes: true, region: null, drugs: ["alcohol"], visits: 3, site: "s05" }
const patience = { whole: 3000, one: 400, first: 20, longest: 50 }

/** A shuffler that answers as it is told, one answer after the other, and keeps what it was asked. */
async function shuffler(change = {}) {
  const asked = []
  const told = []
  const server = createServer(async (request, response) => {
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    const body = Buffer.concat(pieces)
    if (request.url === "/bundle") return response.end(text)
    asked.push({ method: request.method, url: request.url, headers: request.headers, body })
    const [status, headers = {}, said = ""] = told.shift() ?? [201]
    if (status === "silence") return
    if (status === "hang up") return request.socket.destroy()
    response.writeHead(status, headers).end(said)
  })
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
  after(() => (server.closeAllConnections(), server.close()))
  const address = `http://127.0.0.1:${server.address().port}`
  const bundle = JSON.parse(vectors("bundles").right[1].text)
  const text = canonical({ ...bundle, addresses: { ...bundle.addresses, shuffler: address }, ...change })
  const link = `${address}#${createHash("sha256").update(text).digest("hex")}`
  const survey = await fetchSurvey(link, patience)
  const stratum = survey.bundle.strata[0]
  return { link, survey, asked, told, upload: await sealAnswers(survey, answers, { stratum }) }
}

const problem = (name, status) => [status, {}, JSON.stringify({ type: `urn:incrowd:problem:${name}`, status })]

test("the same bytes are sent until they are taken", async () => {
  const { survey, asked, told, upload } = await shuffler()
  told.push(["hang up"], ["silence"], [503, { "Retry-After": "0" }], [502], problem("slow", 408), [429], [201])
  await sendUpload(survey, upload, patience)
  assert.equal(asked.length, 7)
  for (const { method, url, headers, body } of asked) {
    assert.deepEqual([method, url, headers["content-type"]], ["POST", "/upload", "application/octet-stream"])
    assert.ok(body.equals(upload))
    assert.equal(headers["content-length"], String(upload.length))
    for (const name of ["cookie", "referer", "authorization", "transfer-encoding"]) assert.equal(headers[name], undefined)
  }
})

test("a pause is as long as Retry-After says", async () => {
  const { survey, told, upload } = await shuffler()
  told.push([503, { "Retry-After": "1" }], [201])
  const begun = Date.now()
  await sendUpload(survey, upload, patience)
  assert.ok(Date.now() - begun >= 1000)
})

for (const [name, status] of [["closed", 410], ["code-used", 409], ["code-unknown", 403], ["not-open", 403], ["length", 400]])
  test(`what is final is not asked again: ${name}`, async () => {
    const { survey, asked, told, upload } = await shuffler()
    told.push(problem(name, status))
    await assert.rejects(sendUpload(survey, upload, patience), { name: "IncrowdError", code: name })
    assert.equal(asked.length, 1)
  })

test("a redirection is not followed, and an answer of somebody else is an error", async () => {
  const { survey, told, asked, upload } = await shuffler()
  told.push([302, { Location: "/elsewhere" }], [302, { Location: "/elsewhere" }])
  await assert.rejects(sendUpload(survey, upload, patience), { code: "response", again: false })
  assert.deepEqual(asked.map(({ url }) => url), ["/upload"])
  told.length = 0
  told.push([404])
  await assert.rejects(sendUpload(survey, upload, patience), { code: "response" })
})

test("patience ends, and says that it may be tried again", async () => {
  const { survey, told, upload } = await shuffler()
  told.push(...Array(100).fill(["hang up"]))
  await assert.rejects(sendUpload(survey, upload, { ...patience, whole: 200 }), { code: "unreachable", again: true })
  told.length = 0
  told.push([503, { "Retry-After": "3600" }])
  await assert.rejects(sendUpload(survey, upload, patience), { code: "response", again: true })
})

test("of an answer without an end, only the beginning is read", async () => {
  const MUCH = 2 ** 28
  for (const status of [200, 400]) {
    let written = 0
    const server = createServer(async (request, response) => {
      request.resume()
      response.writeHead(status)
      while (written < MUCH && !response.destroyed) {
        written += 2 ** 16
        if (!response.write(Buffer.alloc(2 ** 16))) await Promise.race(["drain", "close"].map((event) => new Promise((done) => response.once(event, done))))
      }
      response.end()
    })
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
    after(() => (server.closeAllConnections(), server.close()))
    const link = `http://127.0.0.1:${server.address().port}#${"0".repeat(64)}`
    await assert.rejects(fetchSurvey(link, { ...patience, one: 20_000 }), { code: status === 200 ? "bundle-refused" : "response" })
    assert.ok(written < MUCH / 4, written)
  }
})

test("another invitation takes the place of a refused one, and nothing else changes", async () => {
  const { text, digest } = vectors("bundles").right.find(({ text }) => JSON.parse(text).codes)
  const survey = await readBundle(new TextEncoder().encode(text), digest)
  const [stratum] = survey.bundle.strata
  const sealed = await sealAnswers(survey, answers, { stratum, code: "0".repeat(16) })
  const corrected = withInvitation(survey, sealed, "1111-1111-1111-1111")
  assert.equal(Buffer.from(corrected.subarray(32, 48)).toString(), "1".repeat(16))
  assert.equal(Buffer.from(sealed.subarray(32, 48)).toString(), "0".repeat(16), "the stored bytes stay")
  assert.deepEqual([...corrected.subarray(0, 32), ...corrected.subarray(48)], [...sealed.subarray(0, 32), ...sealed.subarray(48)])
  assert.throws(() => withInvitation(survey, sealed, "short"), { code: "code" })
})

test("without a digest, whichever survey there is is read, and its short form can be compared", async () => {
  const { link, survey } = await shuffler()
  const { digest } = await fetchSurvey({ address: link.split("#")[0], digest: null, code: "" }, patience)
  assert.deepEqual(digest, survey.digest)
})

test("an upload is withdrawn by its bytes", async () => {
  const { survey, asked, told, upload } = await shuffler()
  told.push([204], problem("not-found", 410))
  await withdrawUpload(survey, upload, patience)
  assert.equal(asked[0].method, "DELETE")
  assert.ok(asked[0].body.equals(upload))
  await assert.rejects(withdrawUpload(survey, upload, patience), { code: "not-found" })
})

test("a bundle that is not the pinned one is refused, and nothing is sent", async () => {
  const { link, asked } = await shuffler()
  const other = link.slice(0, -1) + (link.endsWith("0") ? "1" : "0")
  await assert.rejects(fetchSurvey(other, patience), { code: "bundle-refused" })
  assert.equal(asked.length, 0)
})

test("uploads of all answers have one length, no two reports are equal, and all begin with the header", async () => {
  const { survey, upload } = await shuffler()
  const other = await sealAnswers(survey, { ...answers, drugs: [], region: "west" }, { stratum: "island" })
  assert.equal(other.length, upload.length)
  assert.deepEqual([...upload.slice(32, 50)], Array(18).fill(0))
  assert.equal(other[49], 2)
  const sealed = Array.from({ length: 22 }, (_, i) => Buffer.from(other.slice(50 + 59 * i, 109 + 59 * i)).toString("hex"))
  assert.equal(new Set(sealed).size, 22)
  assert.ok(sealed.every((each) => each.startsWith(survey.bundle.key_configuration.slice(0, 6) + "00010001")))
})

test("what does not fit is said before anything is drawn", async () => {
  const { survey, upload } = await shuffler()
  const seal = (changed, options = { stratum: "north" }) => sealAnswers(survey, { ...answers, ...changed }, options)
  for (const changed of [
    { smokes: "maybe" }, { smokes: null }, { region: "nowhere" }, { drugs: ["alcohol", "cannabis", "other"] }, { drugs: "alcohol" },
    { visits: -1 }, { visits: NaN }, { visits: "3" }, { site: undefined }, { site: "toString" },
  ])
    await assert.rejects(seal(changed), { code: "answer", question: Object.keys(changed)[0] })
  await assert.rejects(seal({}, {}), { code: "stratum" })
  await assert.rejects(seal({}, { stratum: "south-west" }), { code: "stratum" })
  await assert.rejects(seal({}, { stratum: "north", code: "0".repeat(16) }), { code: "code" })
  await assert.rejects(sendUpload(survey, upload.slice(1), patience), { code: "length" })
  const invited = await shuffler({ strata: ["all"], codes: true }).catch((error) => error)
  assert.ok(invited instanceof IncrowdError && invited.code === "code")
})

test("an example says what could be sent, and is drawn anew", async () => {
  const { survey } = await shuffler()
  const drawn = await Promise.all(Array.from({ length: 30 }, () => drawExample(survey, answers)))
  const [[[smokes, region]]] = drawn[0]
  assert.equal(smokes.question, "smokes")
  assert.ok(["yes", "no"].includes(smokes.answers[0]))
  assert.ok(region.answers.every((answer) => ["north", "east", "south", "west", "no answer"].includes(answer)))
  assert.ok(drawn.every((messages) => messages[2].every(([{ answers }]) => /^s\d\d$/.test(answers[0]))))
  assert.ok(drawn.flatMap((messages) => messages[2]).every(([{ answers, invented }]) => invented === (answers[0] !== "s05")))
  assert.ok(new Set(drawn.map((messages) => JSON.stringify(messages))).size > 25)
})

test("the example of the README runs as it stands", async () => {
  const { link, asked, told } = await shuffler({ strata: ["all"] })
  told.push([201], [204])
  const [, example] = /```js\n([^]*?)```/.exec(readFileSync(new URL("../README.md", import.meta.url), "utf8"))
  const library = new URL("../lib/index.js", import.meta.url)
  const code = `const link = ${JSON.stringify(link)}\n${example.replace('"incrowd"', JSON.stringify(library))}`
  const log = mock.method(console, "log", () => {})
  await import(`data:text/javascript,${encodeURIComponent(code)}`)
  assert.equal(log.mock.callCount(), 5)
  log.mock.restore()
  assert.deepEqual(asked.map(({ method }) => method), ["POST", "DELETE"])
  assert.ok(asked[0].body.equals(asked[1].body))
})
