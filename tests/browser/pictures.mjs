// Makes the pictures of the manual: the survey page of the health survey, wide and light, narrow and dark.
import { readFileSync } from "node:fs"

import { launch, opened } from "./chromium.mjs"

const { page: address, digest, code, folder } = JSON.parse(readFileSync(0))
const browser = await launch()
const link = `${address}#${digest}.${code.replaceAll("-", "")}`

async function answered(options) {
  const page = await opened(browser, link, options)
  for (const selector of ["#q1-0", "#q2-2", "#q5-1"]) await page.check(selector)
  await page.fill("#q3", "7")
  await page.fill("#q4", "2")
  await page.click("#all > button")
  await page.waitForSelector("#review td")
  return page
}

/** Draws examples until one has an invented piece of two questions, and leaves none of the person's own out. */
async function untilInvented(page) {
  for (;;) {
    const shown = await page.locator("#review tbody td:nth-child(3)").allInnerTexts()
    const whole = shown.slice(0, -1).every((told) => !told.startsWith("nothing"))
    if (whole && shown[0].includes("invented:")) return
    const before = await page.locator("#review table").elementHandle()
    await page.click("#review .scroll + p button")
    await page.waitForFunction((table) => !table.isConnected, before)
  }
}

const wide = await answered({ viewport: { width: 800, height: 1120 } })
await untilInvented(wide)
await wide.evaluate(() => document.activeElement.blur())
await wide.locator("#review").screenshot({ path: `${folder}/survey-page.png` })
const narrow = await answered({ viewport: { width: 360, height: 780 }, colorScheme: "dark", locale: "de-DE" })
await narrow.evaluate(() => document.activeElement.blur())
await narrow.evaluate(() => scrollTo({ top: 0, behavior: "instant" }))
await narrow.screenshot({ path: `${folder}/survey-page-narrow.png` })
await browser.close()
process.stdout.write("{}")
