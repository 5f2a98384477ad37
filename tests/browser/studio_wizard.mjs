// Planning a survey with five questions, from an empty folder to certified figures that are for the values on the
// screen. Writes what a person reads as JSON, and pictures if it is told where.
import { readFileSync } from "node:fs"

import { launch, text, tooWide, violations } from "./chromium.mjs"

const { address, shots } = JSON.parse(readFileSync(0))
const CERTIFIED = 120_000
const seen = { axe: {}, wide: {}, complaints: [] }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", timezoneId: "UTC", viewport: { width: 1240, height: 900 } })
const page = await context.newPage()
page.on("console", (message) => message.type() === "error" && seen.complaints.push(`${page.url()}: ${message.text()}`))
page.on("pageerror", (error) => seen.complaints.push(`${page.url()}: ${error}`))
await page.goto(address)

/** Looks at a page on a desktop and on a phone, in English and in German. */
async function look(name) {
  for (const width of [1240, 360]) {
    await page.setViewportSize({ width, height: 900 })
    seen.axe[`${name} ${width}`] = await violations(page)
    seen.wide[`${name} ${width}`] = await tooWide(page)
    if (shots) await page.screenshot({ path: `${shots}/${name}-${width}.png`, fullPage: true })
  }
  await page.setViewportSize({ width: 1240, height: 900 })
}

const next = async () => {
  await page.click(".wizard button.main")
  await page.waitForLoadState()
}

await page.click('a[href="/plan"]')
await page.waitForURL("**/plan")
await next()
seen.missing = await text(page, ".problems")
await page.fill("#title", "Climate at work")
await page.fill("#question", "Have you been bullied?")
await page.check('[name=everybody][value="yes"]')
await look("who")
await next()
await page.fill("#invited", "450")
await page.fill("#expected", "60")
await look("how-many")
await next()
await look("sensitive")
await next()
await page.fill("#group-1", "Department")
await page.fill("#answers-1", "Office\nWorkshop\nCanteen")
await look("comparisons")
await page.click("button[name=back]")
await next()
seen.remembered = await page.inputValue("#answers-1")
await next()
await look("mixing")
await next()
await page.waitForURL("**/ways*")
seen.ways = await page.locator(".ways-to-collect .card").allInnerTexts()
await look("ways")
await page.click('button[name=way][value="devices"]')
await page.waitForURL("**/precision")
await page.waitForSelector("#certificate .good", { timeout: CERTIFIED })
seen.summary = await text(page, ".summary-line")
seen.marks = await page.locator("#figures .mark").allInnerTexts()
await look("precision")

// The number of people for a margin, and a comparison: both are for these values.
await page.fill("#margin", "8")
await page.click("text=Calculate")
await page.waitForSelector("#people-answer .certified", { timeout: CERTIFIED })
seen.people = await text(page, "#people-answer")
await page.click("form:has([name=drop-chosen]) button")
await page.waitForSelector("#what-if table")
const answers = async () => [await text(page, "#people-answer"), await text(page, "#what-if")]
await page.fill("#epsilon", "2")
await page.dispatchEvent("#epsilon", "change")
await page.waitForSelector("#people-answer .outdated:visible")
await page.waitForSelector("#what-if .outdated:visible")
seen.outdated = await answers()
await look("outdated")
await page.fill("#epsilon", "1")
await page.dispatchEvent("#epsilon", "change")
await page.waitForSelector("#people-answer .outdated", { state: "hidden" })
seen.again = await answers()

// The preview shows the promise of the newest values.
await page.goto(page.url().replace(/precision.*/, "design"))
const promised = async () => page.frameLocator(".preview iframe").locator("body").innerText()
await page.waitForSelector("#survey .card strong")
seen.expected = await text(page, "#survey .card")
await look("design")
const first = await promised()
const frame = await page.getAttribute(".preview iframe", "src")
await page.fill("#invited", "900")
await page.press("#invited", "Tab")
await page.waitForFunction((before) => document.querySelector(".preview iframe")?.getAttribute("src") !== before, frame)
await page.waitForTimeout(2000)
seen.promises = [first, await promised()]

// The same in German.
await page.click("button[name=language][value=de]")
await page.waitForLoadState()
await page.waitForSelector("#survey .card strong")
await look("german-design")
seen.german = await text(page, "#survey .card")
await page.goto(page.url().replace(/design.*/, "ways"))
await look("german-ways")
seen.germanWays = await text(page, "main")
await page.goto(page.url().replace(/ways.*/, "precision"))
await look("german-precision")
await page.goto(new URL("/plan", page.url()).href)
await look("german-who")

await browser.close()
console.log(JSON.stringify(seen))
