// A person at the page of a survey with two mixers; reads what to do as JSON, writes what was seen as JSON.
import { readFileSync } from "node:fs"

import { launch, opened, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { page: address, forgetful, services, stub, digest, codes, shots } = JSON.parse(readFileSync(0))
const browser = await launch()
const seen = {}
const link = (code = "", host = address) => `${host}#${digest}${code && "."}${code}`

/** A page whose services are behind their addresses. `down` has those that do not answer; `bodies` what was sent. */
async function visiting(url, options = {}) {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options })
  context.down = new Set()
  context.bodies = { "POST /tokens": [], "POST /upload": [], "DELETE /upload": [] }
  for (const [name, origin] of Object.entries(services))
    await context.route(`${origin}/**`, async (route) => {
      const request = route.request()
      const [method, path, body] = [request.method(), new URL(request.url()).pathname, request.postDataBuffer()]
      context.bodies[`${method} ${path}`]?.push(body.toString("base64"))
      if (context.down.has(`${name}${path}`)) return route.abort()
      const response = await fetch(`${stub}/${name}${path}`, { method, body })
      const headers = { "Access-Control-Allow-Origin": "*" }
      await route.fulfill({ status: response.status, headers, body: Buffer.from(await response.arrayBuffer()) })
    })
  const page = await opened({ newContext: async () => context }, url)
  return page
}

const press = async (page, selector) => {
  await tabTo(page, selector)
  await page.keyboard.press("Enter")
}

/** Until something is there; pauses between tries take no time. */
async function hurry(page, selector) {
  for (let waits = 0; waits < 100 && !(await page.locator(selector).count()); waits++) {
    await page.clock.fastForward(2000)
    await page.waitForTimeout(20)
  }
}

async function answer(page) {
  await page.check("#q1-0")
  await page.check("#q2-1")
  await press(page, "#all > button")
  await page.waitForSelector("#review td")
}

async function send(page) {
  await press(page, "#review form button")
  await hurry(page, "#sent, #outcome:not(:empty)")
  return page.locator("#sent, #outcome:not(:empty)").first().innerText()
}

/** Comes back later, without the link, and waits for what the page shows. */
async function comeBack(page, host = address) {
  await page.goto("about:blank")
  await page.goto(host)
  await page.waitForSelector("main h2")
}

const stored = (page) =>
  page.evaluate(async () => {
    const request = indexedDB.open("incrowd-sending")
    await new Promise((resolve) => (request.onsuccess = resolve))
    const all = request.result.transaction("answers").objectStore("answers").getAll()
    await new Promise((resolve) => (all.onsuccess = resolve))
    return all.result.map((record) => Object.keys(record).sort())
  })

/** Interrupted before the tokens, and before the upload; then sent, and taken back. */
async function interrupted() {
  const page = await visiting(link(codes[0]))
  const context = page.context()
  seen.runs = await page.locator(".cheat ul:nth-of-type(1) li").allInnerTexts()
  seen.cheat = await page.locator(".cheat ul:nth-of-type(2) li").allInnerTexts()
  seen.short = await text(page, ".short")
  seen.axeAsking = await violations(page)
  if (shots) await page.screenshot({ path: `${shots}/mixers.png`, fullPage: true })
  await answer(page)
  context.down.add("inviter/tokens")
  seen.noTokens = await send(page)
  seen.storedBefore = await stored(page)
  await comeBack(page)
  seen.drawnBefore = await text(page, "#review-title")
  seen.questions = await page.locator("#all").count()
  seen.axeDrawn = await violations(page)
  await press(page, '#languages [lang="de"]')
  seen.german = await text(page, "#review-title")
  await press(page, '#languages [lang="en"]')
  if (shots) await page.screenshot({ path: `${shots}/mixers-drawn.png`, fullPage: true })
  context.down = new Set(["first/upload"])
  seen.noUpload = await send(page)
  await comeBack(page)
  context.down = new Set()
  seen.sent = await send(page)
  seen.storedAfter = await stored(page)
  seen.axeSent = await violations(page)
  await press(page, ".done button")
  await page.waitForSelector(".done h2:not(#sent)")
  seen.withdrawn = await text(page, ".done h2")
  seen.bodies = context.bodies
  seen.asked = page.asked
  seen.complaints = page.complaints.filter((each) => !each.includes("ERR_FAILED"))
  await context.close()
}

/** The same at a page that stores nothing. */
async function forgetting() {
  const page = await visiting(link(codes[0], forgetful))
  page.context().down.add("inviter/tokens")
  for (let visits = 0; visits < 2; visits++) {
    await answer(page)
    await send(page)
    await comeBack(page, link(codes[0], forgetful))
  }
  seen.forgotten = page.context().bodies["POST /tokens"]
}

/** An inviter that marks a token, an invitation that is mistyped. */
async function failures() {
  let page = await visiting(link("M".repeat(16)))
  await answer(page)
  seen.marked = await send(page)
  seen.markedBodies = page.context().bodies
  page = await visiting(link(), { viewport: { width: 320, height: 640 } })
  await answer(page)
  seen.tooWide = await tooWide(page)
  await page.fill("#code", "0000-0000-0000-0000")
  seen.unknown = await send(page)
  await comeBack(page)
  seen.codeAsked = await page.locator("#code").isVisible()
  await send(page)
  await page.fill("#code", codes[1])
  await press(page, "#review form button")
  await hurry(page, "#sent")
  seen.corrected = page.context().bodies
  page = await visiting(`${address}#${"0".repeat(64)}`)
  seen.another = await text(page, ".notice")
}

for (const step of [interrupted, forgetting, failures]) {
  const begun = Date.now()
  await step()
  process.stderr.write(`${step.name}: ${Date.now() - begun} ms\n`)
}
await browser.close()
process.stdout.write(JSON.stringify(seen))
