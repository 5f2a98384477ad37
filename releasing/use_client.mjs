// Answers a survey with the installed package `incrowd`, from Node and from a page without a bundler.
// node use_client.mjs VECTORS [BROWSER_TESTS]
import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

import { drawExample, fetchSurvey, IncrowdError, sealAnswers, sendUpload } from "incrowd"

const [vectors, browserTests] = process.argv.slice(2)
const answers = { smokes: true, region: null, drugs: ["alcohol"], visits: 3, site: "s05" }
const vector = JSON.parse(readFileSync(join(vectors, "bundles.json"), "utf8")).right[1]
const stated = JSON.parse(vector.text).addresses.shuffler

const page = (link) => `<!doctype html><meta charset="utf-8"><title>answering</title>
<script type="module">
  import { fetchSurvey, sealAnswers, sendUpload } from "./incrowd.js"
  const survey = await fetchSurvey(${JSON.stringify(link)})
  await sendUpload(survey, await sealAnswers(survey, ${JSON.stringify(answers)}, { stratum: survey.bundle.strata[0] }))
  document.title = "sent"
</script>`

const taken = []
const server = createServer(async (request, response) => {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  const file = join("node_modules", "incrowd", "dist", request.url)
  if (request.url === "/bundle") return response.end(text)
  if (request.url === "/upload") return response.writeHead(taken.push(Buffer.concat(pieces)) && 201).end()
  if (request.url === "/") return response.writeHead(200, { "Content-Type": "text/html" }).end(page(link))
  if (!existsSync(file)) return response.writeHead(404).end()
  response.writeHead(200, { "Content-Type": "text/javascript" }).end(readFileSync(file))
})
await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
const address = `http://127.0.0.1:${server.address().port}`
const text = vector.text.replaceAll(stated, address)
const link = `${address}#${createHash("sha256").update(text).digest("hex")}`

const survey = await fetchSurvey(link)
assert.ok(drawExample(survey, answers))
await assert.rejects(fetchSurvey(link.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"))), IncrowdError)
await sendUpload(survey, await sealAnswers(survey, answers, { stratum: survey.bundle.strata[0] }))
assert.deepEqual(taken.map((body) => body.length), [vector.upload_bytes])
console.log("answered from Node")

if (browserTests) {
  const { launch } = await import(pathToFileURL(join(browserTests, "chromium.mjs")))
  const browser = await launch()
  try {
    const tab = await browser.newPage()
    const complaints = []
    tab.on("pageerror", (error) => complaints.push(String(error)))
    await tab.goto(address)
    await tab.waitForFunction(() => document.title === "sent", null, { timeout: 30_000 }).catch(() => complaints.push("nothing was sent"))
    assert.deepEqual(complaints, [])
  } finally {
    await browser.close()
  }
  assert.deepEqual(taken.map((body) => body.length), [vector.upload_bytes, vector.upload_bytes])
  assert.notDeepEqual(taken[0], taken[1])
  console.log("answered from a page")
}
server.closeAllConnections()
server.close()
