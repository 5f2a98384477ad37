// A person at the survey page; reads what to do as JSON, writes what was seen as JSON.
import { readFileSync } from "node:fs"

import { launch, opened, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { page: address, digest, codes, quantum, shuffler, shots, tampered } = JSON.parse(readFileSync(0))
const browser = await launch()
const seen = {}
const link = (code, pinned = digest) => `${address}#${pinned}${code ? `.${code}` : ""}`

/** Answers every type of question without a pointer. */
async function answer(page) {
  const { keyboard } = page
  await tabTo(page, "#q1-0")
  await keyboard.press("ArrowDown")
  await tabTo(page, "#q2-0")
  await keyboard.press("Space")
  await tabTo(page, "#q3-0")
  await keyboard.press("Space")
  await tabTo(page, "#q3-2")
  await keyboard.press("Space")
  await tabTo(page, "#q4")
  await keyboard.type("4")
  await tabTo(page, "#q5")
  await keyboard.type("Ärger")
  await tabTo(page, "#q6")
  await keyboard.type("place 1234")
  await keyboard.press("ArrowDown")
  await keyboard.press("Enter")
  await tabTo(page, "#q7")
  for (const wanted of ["number 3", "number 7"]) {
    await keyboard.type(wanted)
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
  }
  await tabTo(page, "#q8")
  await keyboard.type("12.5")
  await tabTo(page, "#q9")
  await keyboard.type("-3")
}

const press = async (page, selector) => {
  await tabTo(page, selector)
  await page.keyboard.press("Enter")
}

const look = async (page) => {
  await press(page, "#all > button")
  await page.waitForSelector("#review td")
}

async function send(page, wanted = "#sent, #outcome:not(:empty)") {
  await press(page, "#review form button")
  await page.waitForSelector(wanted)
}

/** Until something is there; pauses between tries take no time. */
async function hurry(page, selector) {
  for (let waits = 0; waits < 100 && !(await page.locator(selector).count()); waits++) {
    await page.clock.fastForward(2000)
    await page.waitForTimeout(20)
  }
}

async function shoot(page, name) {
  if (!shots) return
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.screenshot({ path: `${shots}/${name}-${scheme}.png`, fullPage: true })
  }
  await page.emulateMedia({ colorScheme: "light" })
}

/** The whole way: mistakes first, then answers, examples, a dead network, sent. */
async function whole() {
  const page = await opened(browser, link(codes[0]))
  seen.bar = await page.evaluate(() => location.href)
  seen.title = await page.title()
  seen.question = await text(page, "legend >> nth=0")
  await press(page, "#all > button")
  seen.mistakes = await page.locator("#mistakes li").count()
  await shoot(page, "mistakes-wide")
  seen.axeAsking = await violations(page)
  await answer(page)
  seen.range = await text(page, "#q4 + output")
  seen.becomes = [await text(page, "#q8 + output"), await text(page, "#q9 + output")]
  await look(page)
  seen.axeReviewing = await violations(page)
  seen.answers = await page.locator("#review tbody td:nth-child(2)").allInnerTexts()
  const examples = new Set()
  for (let draws = 0; draws < 8; draws++) {
    const shown = await page.locator("#review tbody td:nth-child(3)").allInnerTexts()
    examples.add(shown.join("|"))
    seen.example = shown
    await press(page, "#review .scroll + p button")
  }
  seen.examples = examples.size
  await press(page, '#languages [lang="de"]')
  seen.german = await text(page, "legend >> nth=0")
  seen.germanAnswers = await page.locator("#review tbody td:nth-child(2)").allInnerTexts()
  seen.lang = await page.evaluate(() => document.documentElement.lang)
  seen.axeGerman = await violations(page)
  await press(page, '#languages [lang="en"]')
  await shoot(page, "wide")
  const bodies = []
  await page.route(`${shuffler}/upload`, (route) => {
    bodies.push(route.request().postDataBuffer().toString("base64"))
    return route.abort()
  })
  await press(page, "#review form button")
  await hurry(page, "#outcome:not(:empty)")
  seen.unreachable = await text(page, "#outcome")
  seen.locked = await page.locator("#q1-0").isDisabled()
  await page.unroute(`${shuffler}/upload`)
  page.on("request", (request) => request.method() === "POST" && bodies.push(request.postDataBuffer().toString("base64")))
  await send(page, "#sent")
  seen.tries = bodies.length
  seen.sameBytes = new Set(bodies).size === 1
  seen.axeSent = await violations(page)
  await shoot(page, "sent-wide")
  seen.kept = await page.evaluate(async () => [localStorage.length, sessionStorage.length, document.cookie, (await indexedDB.databases()).length])
  seen.records = await records(page)
  seen.asked = page.asked
  seen.complaints = page.complaints.filter((each) => !each.includes("ERR_FAILED"))
  await page.context().close()
}

/** What the page stores in the browser: the fields of each record. */
const records = (page) =>
  page.evaluate(async () => {
    const request = indexedDB.open("incrowd-sending")
    await new Promise((resolve) => (request.onsuccess = resolve))
    const all = request.result.transaction("answers").objectStore("answers").getAll()
    await new Promise((resolve) => (all.onsuccess = resolve))
    request.result.close()
    return all.result.map((record) => Object.keys(record).sort())
  })

/** Sent and taken back; then the same person comes back, and another one with an invitation of her own. */
async function takenBack() {
  const visit = async (code) => {
    await page.goto("about:blank")
    await page.goto(link(code))
    await page.waitForSelector("#review-title")
  }
  const page = await opened(browser, link(codes.at(-1)))
  await outcome(page)
  await page.click(".done button")
  await page.waitForSelector(".done h2:not(#sent)")
  seen.withdrawn = await text(page, "#status")
  await visit(codes.at(-1))
  seen.returning = [await text(page, "#review-title"), await page.locator("#all, #another").count()]
  await visit(codes[1])
  seen.another = [await text(page, "#review-title"), await page.locator("#another").count()]
  seen.axeAnswered = await violations(page)
  await page.click("#another")
  seen.mayAnswer = await page.locator("#q1-0").isEnabled()
}

/** Answers with a pointer, fast, and gives what is said when it is sent. */
async function outcome(page) {
  for (const selector of ["#q1-0", "#q2-1"]) await page.check(selector)
  await page.fill("#q4", "2")
  await page.fill("#q5", "word")
  await page.fill("#q6", "place 7")
  await page.press("#q6", "Escape")
  await page.fill("#q8", "10")
  await page.click("#all > button")
  await page.click("#review form button")
  await page.waitForSelector("#sent, #outcome:not(:empty)")
  return page.locator("#sent, #outcome:not(:empty)").first().innerText()
}

async function failures() {
  let page = await opened(browser, link(codes[2]))
  seen.used = await outcome(page)
  page = await opened(browser, link(""))
  seen.noCode = await outcome(page)
  const sent = []
  page.on("request", (request) => request.method() === "POST" && sent.push(request.postDataBuffer().toString("base64")))
  for (const code of ["0000-0000-0000-0000", "oooo oooo oooo 1111"]) {
    await page.fill("#code", code)
    await page.click("#review form button")
    await page.waitForFunction(() => document.getElementById("outcome").textContent.includes("recognize"))
    seen.unknown = await text(page, "#outcome")
    await page.waitForFunction(() => !document.querySelector("#review form button").disabled)
  }
  seen.mistyped = sent
  page = await opened(browser, link(codes[0], "0".repeat(64)))
  seen.refused = await text(page, ".notice")
  seen.refusedAsks = await page.locator("input").count()
  seen.axeFailed = await violations(page)
  page = await opened(browser, `${address}#${digest}.short`)
  seen.broken = await text(page, ".notice")
}

async function unreachableAtFirst() {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.clock.install()
  await page.route(`${shuffler}/**`, (route) => route.abort())
  await page.goto(link(codes[0]))
  await hurry(page, ".notice")
  seen.dead = await text(page, ".notice")
  await page.unroute(`${shuffler}/**`)
  await page.click("main button")
  await page.waitForSelector("#q1-0")
  seen.back = await page.title()
}

async function byHand() {
  const page = await opened(browser, address, { locale: "de-DE" })
  seen.byHand = await text(page, ".short")
  seen.browsers = await page.evaluate(() => document.documentElement.lang)
}

async function others() {
  const page = await opened(browser, link(codes[0]))
  seen.blocked = await page.evaluate(async () => {
    const found = new Promise((resolve) => addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true }))
    fetch("http://127.0.0.1:1/").catch(() => null)
    return found
  })
  seen.markup = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<b>markup</b>"
      return "taken"
    } catch (error) {
      return error.name
    }
  })
  const changed = await (await browser.newContext()).newPage()
  await changed.goto(`${tampered}#${digest}`)
  await changed.waitForTimeout(300)
  seen.tampered = await changed.locator("h1").count()
}

async function narrow() {
  const options = { viewport: { width: 320, height: 640 } }
  const page = await opened(browser, link(codes[0]), options)
  for (const selector of ["#q1-0", "#q2-1"]) await page.check(selector)
  await page.fill("#q4", "2")
  await page.fill("#q5", "word")
  await page.fill("#q6", "place 7")
  await page.press("#q6", "Escape")
  await page.fill("#q8", "10")
  await page.click("#all > button")
  await page.waitForSelector("#review td")
  seen.tooWide = await tooWide(page)
  await shoot(page, "narrow")
  if (shots) await page.fill("#q6", "place 12").then(() => page.screenshot({ path: `${shots}/list-narrow.png` }))
  if (shots) await page.pdf({ path: `${shots}/printed.pdf` }).catch(() => null)
}

/** Another survey, whose reports are sealed with X-Wing. */
async function postQuantum() {
  const page = await opened(browser, quantum)
  page.on("request", (request) => request.method() === "POST" && (seen.quantum = request.postDataBuffer().toString("base64")))
  await page.check("#q1-0")
  await page.click("#all > button")
  await page.click("#review form button")
  await page.waitForSelector("#sent, #outcome:not(:empty)")
  seen.quantumSent = await page.locator("#sent").count()
  seen.quantumFiles = page.asked.map(({ url }) => url)
  seen.quantumComplaints = page.complaints
}

async function closed() {
  seen.last = await outcome(await opened(browser, link(codes[1])))
  for (let tries = 0; tries < 20 && !seen.closed?.includes("closed"); tries++) {
    seen.closed = await outcome(await opened(browser, link(codes[2])))
  }
}

const steps = [unreachableAtFirst, failures, byHand, others, narrow, postQuantum, takenBack, whole, closed]
for (const step of steps) {
  const begun = Date.now()
  await step()
  process.stderr.write(`${step.name}: ${Date.now() - begun} ms\n`)
}
await browser.close()
process.stdout.write(JSON.stringify(seen))
