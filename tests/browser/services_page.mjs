// A person at the page of a survey to which services add the noise; writes what she reads as JSON.
import { readFileSync } from "node:fs"

import { launch, opened, text, tooWide, violations } from "./chromium.mjs"

const { page: address, digest, code } = JSON.parse(readFileSync(0))
const browser = await launch()
const link = `${address}#${digest}.${code.replaceAll("-", "")}`

async function read(options) {
  const page = await opened(browser, link, options)
  for (const selector of ["#q1-0", "#q2-1"]) await page.check(selector)
  await page.click("#all > button")
  await page.waitForSelector("#review td")
  return {
    claims: await page.locator(".promise .claim").allInnerTexts(),
    promise: await page.locator(".promise p:not(.claim)").allInnerTexts(),
    cheat: await page.locator(".cheat li").allInnerTexts(),
    example: await text(page, "#review-title + p"),
    sent: await page.locator("#review tbody td:nth-child(3)").allInnerTexts(),
    redraws: await page.locator("#review .scroll + p button").count(),
    tooWide: await tooWide(page),
    axe: await violations(page),
    complaints: page.complaints,
  }
}

const english = await read({ viewport: { width: 800, height: 1120 } })
const german = await read({ viewport: { width: 320, height: 640 }, colorScheme: "dark", locale: "de-DE" })
await browser.close()
process.stdout.write(JSON.stringify({ english, german }))
