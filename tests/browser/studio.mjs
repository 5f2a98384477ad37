// A researcher's first hour in the studio: from an SPSS file to a rehearsed collection with a
// regression. Writes what she reads as JSON, and the pictures of the manual if it is told where.
import { readFileSync } from "node:fs"

import { launch, text, tooWide, violations } from "./chromium.mjs"

const { address, data, shots, people, narrow } = JSON.parse(readFileSync(0))
const LONG = 240_000 // for a rehearsal
const seen = { axe: {}, wide: {}, complaints: [], asked: new Set() }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", timezoneId: "UTC", viewport: { width: 1240, height: 900 }, acceptDownloads: true })
context.on("request", (request) => seen.asked.add(new URL(request.url()).hostname))

const listened = (page) => {
  page.on("console", (message) => message.type() === "error" && seen.complaints.push(`${page.url()}: ${message.text()}`))
  page.on("pageerror", (error) => seen.complaints.push(`${page.url()}: ${error}`))
  return page
}

/** Looks at a state of a page: what axe finds, whether anything is cut off, a picture. */
async function look(page, name, selector) {
  seen.axe[name] = await violations(page)
  seen.wide[name] = await tooWide(page)
  if (!shots) return
  const target = selector ? page.locator(selector).first() : page
  await target.screenshot({ path: `${shots}/studio-${name}.png` })
}

const page = listened(await context.newPage())
await page.goto(address)
await look(page, "home")
await page.setInputFiles("#file", data)
await page.click("text=Import this file")
await page.waitForURL("**/design*")
seen.decisions = await page.locator(".decisions li").allInnerTexts()
await look(page, "imported")
while (await page.locator(".decisions button").count()) {
  const open = await page.locator(".decisions li").count()
  await page.locator(".decisions button").first().click()
  await page.waitForFunction((before) => document.querySelectorAll(".decisions li").length < before, open)
  await page.waitForFunction(() => document.activeElement !== document.body)
}
await page.click("#check button")
await page.waitForSelector("#check .good, #check .warn")
seen.check = await text(page, "#check .good, #check .warn")

// A question is worded and has labels; the preview is the page that people will see.
await page.click("#open-1")
await page.fill("#text-en", "Did you come to work although you were ill?")
await page.press("#text-en", "Tab")
await page.waitForFunction(() => document.querySelector("#open-1").textContent.includes("although"))
await page.waitForFunction(() => document.querySelector(".preview iframe")?.contentDocument?.body?.innerText.includes("although you were ill"))
await look(page, "design")
await page.click("#open-1")
await page.waitForSelector("#editor", { state: "detached" })

// A regression.
await page.click("#regression-form summary")
await page.selectOption("#outcome", "ill_at_work")
await page.check('#regression-form input[value="sector"]')
await page.click("text=Save the regression")
await page.waitForSelector("#regressions li")
seen.regression = await text(page, "#regressions li a")

// Precision and privacy: a slider, and what is certified.
await page.click("text=Precision and privacy")
await page.waitForSelector("#figures")
await page.fill("#epsilon", "2")
await page.press("#epsilon", "Tab") // which saves it
await page.waitForSelector("#figures .mark.certified", { timeout: LONG })
seen.marks = await page.locator("#figures .mark:not(.strength)").allInnerTexts()
await look(page, "precision")
await page.fill("#margin", "4")
await page.click("section[aria-labelledby=people-title] button")
await page.waitForFunction(() => document.querySelector("#people-answer").innerText.trim().length > 20)
seen.people = await text(page, "#people-answer")

// Publish: a certified plan, and the checklist.
await page.click("nav >> text=Publish")
await page.click("#plan-start")
await page.waitForSelector("text=plan.json matches the current survey", { timeout: LONG })
seen.steps = await page.locator("#wizard li").allInnerTexts()
await page.click("#continue")
await page.waitForSelector("#choice-shuffler")
await look(page, "publish")
await page.click("#wizard a[data-step=certify]")

// The rehearsal waits for the researcher, who answers in a tab of her own.
await page.click("text=Go to the rehearsal")
await page.fill("#rehearsal-people", String(people))
await page.check("#rehearsal-joining")
await page.click("#rehearsal-start")
await page.waitForSelector("#rehearsal-stage")
await look(page, "rehearsing")
await page.waitForSelector("#rehearsal-answer", { timeout: LONG })
const [survey] = await Promise.all([context.waitForEvent("page"), page.click("#rehearsal-answer")])
listened(survey)
await survey.waitForSelector("main h1")
for (let number = 1; await survey.locator(`[id="q${number}-0"], [id="q${number}"]`).count(); number++) {
  const option = survey.locator(`[id="q${number}-0"]`)
  if (await option.count()) await option.check()
  else await survey.fill(`[id="q${number}"]`, "44")
}
await survey.click("#all > button")
await survey.waitForSelector("#review td")
if (shots) await survey.screenshot({ path: `${shots}/studio-answering.png` })
await survey.click("#review form button")
await survey.waitForSelector("#sent")
seen.answered = await text(survey, "#sent")
await survey.close()
await page.waitForSelector("text=The rehearsal is complete.", { timeout: LONG })
await look(page, "rehearsed")

await page.click("nav >> text=Watch")
await page.waitForSelector("h1")
await look(page, "watch")

// Results: tables, and the regression that was asked for.
await page.click("nav >> text=Results")
await page.waitForSelector("#result-title")
seen.command = await page.locator(".again pre").first().textContent()
await look(page, "results")
const saved = async (label) => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(label)])
  return readFileSync(await download.path(), "utf8")
}
seen.json = await saved(".exports >> text=JSON")
await page.click("a:text-is('Regression')")
await page.selectOption("#outcome", { index: 1 })
await page.check("#on-sector")
await page.click("button:text-is('Show')")
await page.waitForSelector("#result-title")
seen.fit = await page.locator("#results table tbody th").allInnerTexts()
await look(page, "regression", ".result")
seen.script = await saved(".exports >> text=R script")
seen.regressing = await page.locator(".again pre").first().textContent()

// Every page in German, dark, on a narrow screen.
const small = await browser.newContext({ locale: "de-DE", colorScheme: "dark", viewport: { width: 320, height: 700 }, storageState: await context.storageState() })
const phone = listened(await small.newPage())
for (const path of narrow) {
  await phone.goto(new URL(path, page.url()).href)
  await phone.waitForSelector("main h1")
  await look(phone, `narrow ${path}`.replaceAll("/", "-"))
  seen.german = [...(seen.german ?? []), await text(phone, "main h1")]
}
await browser.close()
process.stdout.write(JSON.stringify({ ...seen, asked: [...seen.asked] }))
