// Edits in the studio that are faster than its answers, and edits in two windows. Writes what is read as JSON.
import { readFileSync } from "node:fs"

import { launch, text } from "./chromium.mjs"

const { address } = JSON.parse(readFileSync(0))
const seen = { complaints: [], statuses: [] }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", viewport: { width: 1240, height: 900 } })

async function opened() {
  const page = await context.newPage()
  page.on("pageerror", (error) => seen.complaints.push(String(error)))
  page.on("response", (response) => response.request().method() === "POST" && seen.statuses.push(response.status()))
  return page
}
/** Makes every answer slower than typing. */
const slow = (page, pattern) => page.route(pattern, (route) => setTimeout(() => route.continue(), 400))
const idle = (page) => page.waitForFunction(() => !document.querySelector(".htmx-request"))

// Four fields of one form, then one of another, without waiting.
const page = await opened()
await page.goto(address)
await page.click("text=Quick")
await page.click("#open-1[data-htmx-powered]") // earlier it is a plain link, which adds a step to the history
await page.waitForSelector("#editor")
await slow(page, "**/design")
for (const [field, words] of [["#label-0-en", "Good"], ["#label-1-en", "Fair"], ["#label-2-en", "Poor"], ["#text-en", "How are you?"], ["#name", "Quickly"]]) {
  await page.focus(field)
  await page.keyboard.type(words)
  await page.keyboard.press("Tab")
}
await page.waitForFunction(() => document.querySelector("h1").textContent.includes("Quickly"))
await page.waitForTimeout(500)
await idle(page)
seen.quick = [...seen.statuses]
seen.fields = await page.locator("[id^=label-]").evaluateAll((all) => all.map((each) => each.value))
await page.waitForFunction(() => document.querySelector(".preview iframe").contentDocument?.body?.innerText.includes("How are you?"))
seen.preview = await page.evaluate(() => document.querySelector(".preview iframe").contentDocument.body.innerText)

// One step back leads to the first page, however often the preview changed.
await page.goBack()
seen.back = await text(page, "h1")

// Two windows: what the second one types is refused, shown, and saved when the person says so.
await page.goto(`${new URL(address).origin}/p/quick/design?open=health`)
const other = await opened()
await other.goto(page.url())
await page.fill("#help-en", "In the last year.")
await page.press("#help-en", "Tab")
await page.waitForTimeout(1000)
await idle(page)
await other.fill("#text-en", "How were you?")
await other.press("#text-en", "Tab")
await other.waitForSelector("#problems button")
seen.conflict = await text(other, "#problems")
await other.click("details:has(#crowd) > summary")
await other.fill("#crowd", "2000")
await other.press("#crowd", "Tab")
await other.waitForFunction(() => [...document.querySelectorAll("#problems input")].some((each) => each.name === "crowd"))
seen.typed = [await other.inputValue("#text-en"), await other.inputValue("#crowd")]
await other.click("#problems button")
await other.waitForFunction(() => !document.querySelector("#problems").textContent.trim())
await other.waitForTimeout(1000)
await idle(other)
seen.after = [await other.inputValue("#text-en"), await other.inputValue("#help-en")]
await other.close()

// A value is typed on the page of precision, and the page is left at once.
const third = await opened()
await third.goto(`${new URL(address).origin}/p/quick/precision`)
await third.fill("#epsilon", "1.5")
await third.press("#epsilon", "Tab")
await third.fill("#delta", "1e-7")
await third.press("#delta", "Tab")
await third.waitForTimeout(1000)
await third.fill("#epsilon", "2")
await third.click("nav >> text=Design")
await third.click("nav >> text=Precision and privacy")
seen.epsilon = await third.inputValue("#epsilon")
seen.delta = await third.inputValue("#delta")
await third.click("#undo")
await third.waitForFunction(() => document.querySelector("#epsilon").value === "1.5")

await browser.close()
process.stdout.write(JSON.stringify(seen))
