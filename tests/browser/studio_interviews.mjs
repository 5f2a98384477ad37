// Interviews with a die, from an empty folder to the report: designed with the keyboard, in two windows, with a wrong
// file and the right one. Writes what is read as JSON.
import { readFileSync } from "node:fs"

import { launch, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { address, wrong, answers, shots } = JSON.parse(readFileSync(0))
const seen = { axe: {}, wide: {}, complaints: [] }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", viewport: { width: 1200, height: 900 } })
const page = await context.newPage()
page.on("console", (message) => message.type() === "error" && seen.complaints.push(`${page.url()}: ${message.text()}`))
page.on("pageerror", (error) => seen.complaints.push(String(error)))

/** What axe finds, light and dark, also on a telephone, and whether anything is cut off there. */
async function look(name) {
  for (const [width, colorScheme] of [[1200, "light"], [360, "dark"]]) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    seen.axe[`${name} ${width}`] = await violations(page)
    seen.wide[`${name} ${width}`] = await tooWide(page)
    if (shots) await page.screenshot({ path: `${shots}/interviews-${name}-${width}.png`, fullPage: true })
  }
  await page.setViewportSize({ width: 1200, height: 900 })
  await page.emulateMedia({ colorScheme: "light" })
}
async function press(selector, address) {
  await tabTo(page, selector)
  await page.keyboard.press("Enter")
  if (address) await page.waitForURL(address)
}
/** Types into a field that the keyboard reaches, and leaves it. */
async function type(selector, words) {
  await tabTo(page, selector)
  await page.keyboard.type(words)
}

await page.goto(address)
await type("#interviews-title", "Armed groups")
await press('form[action="/new-interviews"] button', "**/p/armed-groups/interview")
await look("empty")
await type("#new-text", "Have you worked with an armed group?")
await press("#add button.main")
await page.waitForSelector("#editor")
seen.choices = await page.locator(".design-choices label").allInnerTexts()
await look("design")

// The short name, and a stronger promise, with the keyboard alone.
await tabTo(page, "#short-name")
await page.keyboard.press("Control+A")
await page.keyboard.type("armed")
await page.keyboard.press("Tab")
await page.waitForSelector('#short-name[value="armed"]')
await tabTo(page, '[name="0.choice"]:checked')
await page.keyboard.press("ArrowDown")
await page.waitForFunction(() => document.querySelector("[name='0.choice'][value='1/3']").checked)
await page.waitForSelector("#undo:enabled")
await page.waitForTimeout(500)
seen.stronger = await page.inputValue("#text")
await press("#undo")
await page.waitForFunction(() => document.querySelector("#text").value.includes("1/6"))

// Another design: its fields appear.
await tabTo(page, "[name='0.kind']")
await page.selectOption("[name='0.kind']", "crosswise")
await page.waitForSelector("[name='0.statement.en']")
await page.fill("[name='0.statement.en']", "My mother was born in January or February.")
await page.press("[name='0.statement.en']", "Tab")
await page.waitForFunction(() => document.querySelector("#text").value.includes("born in January"))
await look("crosswise")
await page.selectOption("[name='0.kind']", "forced")
await page.waitForFunction(() => document.querySelector("#text").value.includes("forced"))

// A probability that a die does not have is named beside its field, and taken back.
await page.locator("#own-0 summary").click()
await page.fill("[name='0.forced.0']", "1/7")
await page.press("[name='0.forced.0']", "Tab")
await page.waitForSelector("#editor .fault")
seen.mistake = await text(page, "#editor .fault")
await look("mistake")
await press("#undo")
await page.waitForSelector("#editor .fault", { state: "detached" })

// A second window: an edit of the first one is refused once, with what was changed.
const second = await context.newPage()
await second.goto(page.url())
await second.fill("#people", "300")
await second.press("#people", "Tab")
await second.waitForSelector('#people[value="300"]')
await page.fill("#name", "Groups under arms")
await page.press("#name", "Tab")
await page.waitForSelector("#problems .problems")
seen.conflict = await text(page, "#problems")
await page.click("#problems button")
await page.waitForFunction(() => document.querySelector("h1").textContent === "Groups under arms")
seen.both = await page.inputValue("#text")
await second.close()

// The kit: made, and a page of it opened apart from the studio.
await page.goto(page.url().replace(/interview.*/, "kit"))
seen.expected = await page.inputValue("#interviews")
await look("kit-before")
await page.fill("#interviews", "6")
await press('form[action$="/kit"] button')
await page.waitForSelector('a[href$="/kit/demonstration.html"]')
await look("kit")
const [demonstration] = await Promise.all([context.waitForEvent("page"), page.click('a[href$="/kit/demonstration.html"]')])
demonstration.on("console", (message) => message.type() === "error" && seen.complaints.push(`demonstration: ${message.text()}`))
await demonstration.reload()
await demonstration.waitForSelector("h1")
seen.demonstration = await text(demonstration, "body")
await demonstration.close()

// A wrong file, rows with mistakes, and 300 answers.
await page.goto(page.url().replace(/kit.*/, "answers"))
await look("no-answers")
const file = (name, words) => ({ name, mimeType: "text/csv", buffer: Buffer.from(words) })
async function read(name, words) {
  await page.setInputFiles("#file", file(name, words))
  await Promise.all([page.waitForNavigation(), page.click("button:has-text('Read this file')")])
  return text(page, "main")
}
seen.wrong = await read("photo.csv", "\u0000\u0001\u0002")
seen.rows = await read("typed.csv", wrong)
await look("mistakes-in-rows")
seen.read = await read("typed.csv", answers)
await look("read")

// The report: shares, shares by a factor, and a regression by ticking.
await press('a[href$="/report"].main', "**/report")
await page.waitForSelector(".result table")
seen.shares = await page.locator(".result table").allInnerTexts()
seen.promise = await text(page, ".promise")
await look("shares")
await page.selectOption("#by", "region")
await page.waitForFunction(() => document.querySelectorAll(".result tbody tr").length === 2)
seen.by = await page.locator(".result table").allInnerTexts()
await press('a[href*="view=regress"]', "**view=regress")
await page.selectOption("#outcome", "armed")
await page.check("#on-1")
await page.waitForSelector(".result table")
await page.waitForFunction(() => location.search.includes("on=age"))
seen.regression = await text(page, ".result")
await page.click("details.again summary")
seen.command = await page.locator("pre").first().innerText()
await look("regression")
const [download] = await Promise.all([page.waitForEvent("download"), page.click('a[href$="format=docx"]')])
seen.saved = download.suggestedFilename()
let requests = 0
page.on("request", () => requests++)
await page.waitForTimeout(1500)
seen.requests = requests // a page that is only looked at sends nothing

// The same in German; pages of other surveys lead back.
await page.click("button[name=language][value=de]")
await page.waitForLoadState()
await look("german-regression")
seen.german = await text(page, "main")
for (const step of ["interview?open=armed", "kit", "answers"]) {
  await page.goto(page.url().replace(/(groups)\/.*/, `$1/${step}`))
  await look(`german-${step.replace(/\?.*/, "")}`)
}
await page.goto(page.url().replace(/(groups)\/.*/, "$1/precision"))
seen.elsewhere = await text(page, "main")
await look("german-elsewhere")
await page.goto(new URL("/", page.url()).href)
seen.home = await text(page, "#surveys")
await look("german-home")

await browser.close()
console.log(JSON.stringify(seen))
