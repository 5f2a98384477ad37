// A person at the page of a survey whose answers travel in pieces; writes what she reads as JSON.
import { readFileSync } from "node:fs"

import { launch, opened, text, tooWide, violations } from "./chromium.mjs"

const { page: address, digest, code, draws, shots } = JSON.parse(readFileSync(0))
const browser = await launch()
const link = `${address}#${digest}.${code.replaceAll("-", "")}`
const seen = {}

async function answered(options) {
  const page = await opened(browser, link, options)
  for (const selector of ["#q1-0", "#q2-0", "#q3-1", "#q4-0", "#q4-2"]) await page.check(selector)
  await page.fill("#q5", "4")
  await page.click("#all > button")
  await page.waitForSelector("#review td")
  return page
}

/** Of each question the lines that could be sent. */
const shown = async (page) => (await page.locator("#review tbody td:nth-child(3)").allInnerTexts()).map((told) => told.split("\n"))

const page = await answered({ viewport: { width: 800, height: 1120 } })
seen.claims = await page.locator(".promise .claim").allInnerTexts()
seen.cheat = await page.locator(".cheat li").allInnerTexts()
seen.example = await text(page, "#review-title + p")
seen.examples = []
for (let drawn = 0; drawn < draws; drawn++) {
  seen.examples.push(await shown(page))
  if (drawn + 1 === draws) break // without noise of the device, there is nothing to draw again
  const before = await page.locator("#review table").elementHandle()
  await page.click("#review .scroll + p button")
  await page.waitForFunction((table) => !table.isConnected, before)
}
seen.axe = await violations(page)
if (shots) await page.locator("#review").screenshot({ path: `${shots}/pieces.png` })
const narrow = await answered({ viewport: { width: 320, height: 640 }, colorScheme: "dark", locale: "de-DE" })
seen.tooWide = await tooWide(narrow)
seen.german = { claims: await narrow.locator(".promise .claim").allInnerTexts(), example: await shown(narrow) }
seen.axeGerman = await violations(narrow)
if (shots) await narrow.screenshot({ path: `${shots}/pieces-narrow.png`, fullPage: true })
seen.complaints = [...page.complaints, ...narrow.complaints]
await browser.close()
process.stdout.write(JSON.stringify(seen))
