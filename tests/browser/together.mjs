// People at the survey page in Chromium, each in a browser context of their own: answers, sends, and writes what was seen.
import { readFileSync } from "node:fs"

import { launch, opened } from "./chromium.mjs"

const { people } = JSON.parse(readFileSync(0))
const browser = await launch()

/** One person. link: the page's, with the invitation. checked: the answers, as selectors. */
async function visit({ link, checked, locale }) {
  const page = await opened(browser, link, { locale })
  await page.waitForSelector("#all, .notice")
  if (await page.locator(".notice").count()) throw new Error(await page.innerText("main"))
  const questions = await page.innerText("#all")
  for (const selector of checked) await page.check(selector)
  await page.click("#all > button")
  await page.waitForSelector("#review td")
  const review = await page.locator("#review td").allInnerTexts()
  await page.click("#review form button")
  await page.waitForSelector("#sent, #outcome:not(:empty)")
  const seen = {
    questions,
    review,
    outcome: await page.locator("#sent, #outcome:not(:empty)").first().innerText(),
    origin: await page.evaluate(() => location.origin),
    asked: page.asked.map(({ url }) => url),
    referrers: page.asked.map(({ referrer }) => referrer).filter(Boolean),
    complaints: page.complaints,
  }
  await page.context().close()
  return seen
}

const seen = await Promise.all(people.map(visit))
await browser.close()
process.stdout.write(JSON.stringify(seen))
