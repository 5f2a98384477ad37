// A respondent at the demonstration, without a pointer, and the pages of a kit as they print.
import { readFileSync } from "node:fs"

import { launch, opened, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { demonstration, pages, dark } = JSON.parse(readFileSync(0))
const browser = await launch()
const seen = { pages: {} }

const page = await opened(browser, demonstration, { viewport: { width: 360, height: 780 }, colorScheme: dark ? "dark" : "light" })
seen.before = await text(page, "#heard")
seen.axeBefore = await violations(page)
await tabTo(page, "#answers input:checked")
await page.keyboard.press("ArrowDown")
seen.answer = await text(page, "#answers label:has(:checked)")
await tabTo(page, "#draw")
await page.keyboard.press("Enter")
seen.you = await text(page, "#seen")
seen.heard = await text(page, "#heard")
seen.shares = await text(page, "#shares")
await tabTo(page, "#many")
await page.keyboard.press("Enter")
seen.rows = await page.locator("#rows tr").evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)))
seen.axe = await violations(page)
seen.tooWide = await tooWide(page)
seen.asked = page.asked.map(({ url }) => url)
seen.complaints = [...page.complaints]
await page.evaluate(() => fetch("https://example.org/").catch(() => {}))
seen.blocked = page.complaints.some((each) => each.includes("Content Security Policy"))

for (const address of pages) {
  const printed = await opened(browser, address)
  seen.pages[address] = { axe: await violations(printed) }
  for (const format of ["A4", "Letter"]) {
    const pdf = (await printed.pdf({ format })).toString("latin1")
    seen.pages[address][format] = pdf.match(/\/Type \/Page\b[^s]/g).length
  }
}
await browser.close()
process.stdout.write(JSON.stringify(seen))
