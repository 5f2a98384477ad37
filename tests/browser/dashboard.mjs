// Somebody watches the dashboard, answers the survey page in another window, and sees the collection close.
// Reads what to do as JSON, writes what was seen as JSON.
import { readFileSync } from "node:fs"

import { launch, opened, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { dashboard, survey, shots } = JSON.parse(readFileSync(0))
const browser = await launch()
const seen = {}
const address = dashboard.split("#")[0]
const token = dashboard.split("#")[1]

async function shoot(page, name) {
  for (const scheme of shots ? ["light", "dark"] : []) {
    await page.emulateMedia({ colorScheme: scheme })
    await page.screenshot({ path: `${shots}/${name}-${scheme}.png`, fullPage: true })
  }
  await page.emulateMedia({ colorScheme: "light" })
}

const shown = (page) => page.waitForSelector("#seen:not([hidden])")

/** Without a token, with a wrong one, with the right one: by keyboard alone. */
async function byHand() {
  const page = await opened(browser, address)
  await page.waitForSelector("#door:not([hidden])")
  seen.axeDoor = await violations(page)
  await tabTo(page, "#token")
  await page.keyboard.type("not-the-token-at-all")
  await page.keyboard.press("Enter")
  await page.waitForSelector("#refused:not(:empty)")
  seen.refused = await text(page, "#refused")
  seen.hidden = await page.locator("#seen").isHidden()
  await shoot(page, "door")
  await page.keyboard.type(token)
  await page.keyboard.press("Enter")
  await shown(page)
  seen.focus = await page.evaluate(() => document.activeElement.tagName)
  seen.typed = await page.evaluate(() => [location.href, document.getElementById("token").value])
  await page.context().close()
}

const step = async (page, name) => {
  seen[`axe${name}`] = await violations(page)
  seen[`said${name}`] = await page.locator("#seen").innerText()
  await shoot(page, `${name}-wide`)
}

const page = await opened(browser, dashboard)
await shown(page)
seen.bar = await page.evaluate(() => location.href)
seen.title = await page.title()
seen.charts = await page.locator("#estimates svg").count()
await step(page, "Collecting")
const small = await opened(browser, dashboard, { viewport: { width: 320, height: 640 } })
await shown(small)
await shoot(small, "Collecting-narrow")
seen.tooWide = [await tooWide(small)]
await byHand()

const person = await opened(browser, survey)
await person.waitForSelector("#q1-0")
for (const selector of ["#q1-0", "#q2-1", "#q5-0"]) await person.check(selector)
await person.fill("#q3", "0")
await person.fill("#q4", "4")
await person.click("#all > button")
await person.click("#review form button")
await person.waitForSelector("#sent")
seen.sent = await text(person, "#sent")

await page.waitForSelector("#estimates svg", { timeout: 60000 })
await step(page, "Opened")
seen.focusKept = await page.evaluate(() => document.activeElement === document.body)
seen.width = await page.evaluate(() => document.querySelector("#estimates .chart svg").getBoundingClientRect().width)
seen.styled = await page.locator("#estimates [style]").count()
seen.headings = await page.locator("h1").count()
await small.waitForSelector("#estimates table", { timeout: 60000 })
seen.tooWide.push(await tooWide(small))
await shoot(small, "Opened-narrow")
if (shots) await page.pdf({ path: `${shots}/printed.pdf` })
seen.requests = page.asked.map(({ url, referrer }) => [url, referrer])
seen.complaints = [...page.complaints, ...small.complaints]
seen.kept = await page.evaluate(async () => [localStorage.length, sessionStorage.length, document.cookie, (await indexedDB.databases()).length])
seen.blocked = await page.evaluate(async () => {
  const found = new Promise((resolve) => addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true }))
  fetch("http://127.0.0.1:1/").catch(() => null)
  return found
})
await page.route("**/state", (route) => route.abort())
await page.waitForSelector("#status:not(:empty)", { timeout: 20000 })
seen.away = await text(page, "#status")
await browser.close()
process.stdout.write(JSON.stringify(seen))
