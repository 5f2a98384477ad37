// A person at the page of a survey with parts, conditions, a matrix and consent; writes what she notices as JSON.
import { readFileSync } from "node:fs"

import { launch, opened, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { page: address, digest, codes, shots } = JSON.parse(readFileSync(0))
const browser = await launch()
const link = (code) => `${address}#${digest}.${code.replaceAll("-", "")}`
const NEXT = "#all > button"

/** Of one window: problems of each part, and a picture of it. */
function looking(page, name) {
  const found = { axe: [], tooWide: [] }
  const look = async (part) => {
    found.axe.push(...(await violations(page)).map((each) => `${part}: ${each}`))
    if (await tooWide(page)) found.tooWide.push(part)
    if (shots) await page.screenshot({ path: `${shots}/${name}-${part}.png`, fullPage: true })
  }
  return { found, look }
}

const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent)
const status = (page) => text(page, "#status")
/** What a screen reader finds: names of groups, fields and boxes that are not hidden. */
const tree = (page) => page.locator("#all").ariaSnapshot()

async function press(page, selector, key = "Enter") {
  await tabTo(page, selector)
  await page.keyboard.press(key)
}

/** By keyboard, in a window as narrow as a telephone. */
async function byKeyboard() {
  const seen = {}
  const page = await opened(browser, link(codes[0]), { viewport: { width: 360, height: 640 } })
  const { found, look } = looking(page, "narrow")
  const { keyboard } = page

  await press(page, NEXT)
  seen.missing = await page.locator("#mistakes li").allInnerTexts()
  await look("mistakes")
  await press(page, "#agree", "Space")
  await press(page, "#q2-0", "ArrowDown")
  await tabTo(page, "#q1")
  const typed = async (number) => {
    await page.fill("#q1", "")
    await keyboard.type(number)
    await press(page, NEXT)
    const message = await text(page, "#q1-error")
    if (message) await page.focus("#q1")
    return message
  }
  seen.limits = [await typed("200"), await typed("17.5"), await typed("17")]
  seen.second = [await focused(page), await text(page, ".part:not([hidden]) > .quiet")]

  await press(page, "#q3-0", "ArrowDown") // yes and no, from nothing chosen: the second
  await keyboard.press("ArrowUp")
  seen.news = [await status(page)]
  await press(page, "#q4-0", "Space")
  seen.news.push(await status(page))
  await tabTo(page, "#q5")
  await keyboard.type("Camel")
  seen.shown = await tree(page)
  await look("habits")
  await keyboard.press("Shift+Tab")
  await keyboard.press("Shift+Tab")
  await keyboard.press("ArrowDown")
  seen.news.push(await status(page))
  seen.kept = await focused(page)
  seen.hidden = await tree(page)
  await keyboard.press("ArrowUp")
  seen.again = await page.inputValue("#q5")
  await keyboard.press("ArrowDown")

  await press(page, NEXT)
  seen.third = await focused(page)
  for (const row of ["#q7-0", "#q8-0"]) await press(page, row, "Space")
  await look("matrix")
  await keyboard.press("Shift+Tab")
  await press(page, "#all > span > button")
  seen.back = await focused(page)
  await press(page, NEXT)
  await press(page, NEXT)
  await page.waitForSelector("#review td")
  await look("review")
  seen.reviewed = await page.locator("#review tbody tr").evaluateAll((rows) => rows.map((row) => [...row.children].slice(0, 2).map(({ textContent }) => textContent)))
  seen.unasked = await text(page, "#unasked")
  page.on("request", (request) => request.method() === "POST" && (seen.upload = request.postDataBuffer().toString("base64")))
  await press(page, "#review form button")
  await page.waitForSelector("#sent")
  seen.thanks = await text(page, ".done .stated")
  await look("sent")
  return { ...seen, ...found, complaints: page.complaints }
}

/** With a pointer, in a wide window, in German. An adult who is asked everything. */
async function inGerman() {
  const seen = {}
  const page = await opened(browser, link(codes[1]), { viewport: { width: 900, height: 900 }, locale: "de-DE" })
  const { found, look } = looking(page, "wide")
  await page.check("#agree")
  seen.other = await text(page, "#q2-help")
  await page.fill("#q1", "30")
  await page.check("#q2-2")
  await look("consent")
  await page.click(NEXT)
  await page.check("#q3-0")
  seen.news = await status(page)
  await page.check("#q4-1")
  await page.check("#q6-0")
  seen.part = await text(page, ".part:not([hidden]) > .quiet")
  await page.click(NEXT)
  const boxes = await page.locator(".part:not([hidden]) .matrix .line input").evaluateAll((inputs) => inputs.map((input) => Math.round(input.getBoundingClientRect().top)))
  seen.rows = new Set(boxes).size
  seen.group = await page.getByRole("radiogroup", { name: "Ich rauchte mehr als sonst" }).getByRole("radio").count()
  for (const row of ["#q7-0", "#q8-1", "#q9-2"]) await page.click(`label[for="${row.slice(1)}"]`)
  await look("matrix")
  await page.click(NEXT)
  for (const answer of ["#q10-0", "#q11-1"]) await page.check(answer)
  await page.click('label[for="q12-10"]')
  seen.heads = await page.locator(".part:not([hidden]) .scale > span:not(:first-child)").allInnerTexts()
  await page.click(NEXT)
  await page.waitForSelector("#review td")
  seen.unasked = await page.locator("#unasked").innerText()
  await look("review")
  await page.click("#all > span > button")
  seen.leaving = await page.locator("#review:not([hidden])").count()
  await page.click('#languages [lang="en"]')
  seen.stays = [await text(page, ".part:not([hidden]) > h3"), await page.locator("#q9-2").isChecked()]
  return { ...seen, ...found, complaints: page.complaints }
}

const seen = { narrow: await byKeyboard(), german: await inGerman() }
await browser.close()
process.stdout.write(JSON.stringify(seen))
