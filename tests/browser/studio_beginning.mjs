// A newcomer with an empty folder, with the keyboard only: an example, questions of the bank, the history, a copy, and
// the end. Writes what is read as JSON.
import { readFileSync } from "node:fs"

import { launch, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { address } = JSON.parse(readFileSync(0))
const seen = { axe: {}, wide: {}, complaints: [] }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", viewport: { width: 1240, height: 900 } })
const page = await context.newPage()
page.on("console", (message) => message.type() === "error" && seen.complaints.push(`${page.url()}: ${message.text()}`))
page.on("pageerror", (error) => seen.complaints.push(String(error)))

/** What axe finds, also on a telephone, and whether anything is cut off there. */
async function look(name, on = page) {
  seen.axe[name] = await violations(on)
  await on.setViewportSize({ width: 360, height: 780 })
  seen.wide[name] = await tooWide(on)
  seen.axe[`${name}, narrow`] = await violations(on)
  await on.setViewportSize({ width: 1240, height: 900 })
}
async function press(selector, address) {
  await tabTo(page, selector)
  await page.keyboard.press("Enter")
  if (address) await page.waitForURL(address)
}

await page.goto(address)
seen.empty = await text(page, "main")
await look("empty folder")
// What a newcomer sees without scrolling, on a telephone, too.
await page.setViewportSize({ width: 360, height: 780 })
seen.first = await page.locator("#begin h3").first().evaluate((title) => title.getBoundingClientRect().top)
await page.setViewportSize({ width: 1240, height: 900 })
await press('button[value="harassment"]', "**/p/harassment-at-work/design")
seen.title = await text(page, "h1")

await press('a[href$="/question-bank"]', "**/question-bank")
await look("bank")
for (const item of ["agreement", "gender"]) {
  await tabTo(page, `input[value="${item}"]`)
  await page.keyboard.press("Space")
}
await press("main button.main", "**/design?open=informed*")
await page.waitForSelector("#editor")
seen.inserted = await page.locator(".summary-text code").allInnerTexts()
await page.waitForSelector("#undo[data-htmx-powered]").catch(() => {})
await press("#undo")
await page.waitForFunction(() => document.querySelectorAll(".question").length === 3)

await press('a[href$="/history"]', "**/history")
seen.history = await page.locator(".survey p").allInnerTexts()
await look("history")
await press(".is-current a", "**/history/*")
await tabTo(page, "#label")
await page.keyboard.type("As it came")
await page.keyboard.press("Enter")
await page.waitForFunction(() => document.querySelector("h1").textContent === "As it came")
await look("version")

await page.goto(new URL("/", address).href)
seen.list = await text(page, "#surveys")
await look("list")
await press('a[href$="/manage"]', "**/manage")
await look("manage")
await tabTo(page, "#copy-name")
await page.keyboard.press("Enter")
await page.waitForURL("**/p/harassment-at-work-copy/design")
await page.goto(new URL("/p/harassment-at-work-copy/manage", address).href)
await press('button[value="yes"]', new URL("/", address).href)
seen.archived = await text(page, ".archived summary")
await look("archive")
await page.goto(new URL("/p/harassment-at-work-copy/manage", address).href)
await press('a[href$="/delete"]', "**/delete")
seen.lost = await page.locator("main li").allInnerTexts()
await look("delete")
await press("main button.main", new URL("/", address).href)
seen.left = await page.locator(".survey h3").allInnerTexts()

await press('button[value="de"]')
await page.waitForSelector('html[lang="de"]')
seen.german = await text(page, "main")
await look("German")

// Another browser, with the address that was used.
const stranger = await (await browser.newContext({ locale: "de-DE", viewport: { width: 1240, height: 900 } })).newPage()
await stranger.goto(address)
seen.locked = await text(stranger, "main")
await look("locked out", stranger)

await browser.close()
process.stdout.write(JSON.stringify(seen))
