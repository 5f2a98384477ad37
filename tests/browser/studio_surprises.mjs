// A survey is designed without surprises: moved, pasted, previewed, published and locked. Writes what is read as JSON,
// and pictures where it is told.
import { readFileSync } from "node:fs"

import { launch, text, tooWide, violations } from "./chromium.mjs"

const { address, shots } = JSON.parse(readFileSync(0))
const origin = new URL(address).origin
const seen = { axe: {}, wide: {}, complaints: [] }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", viewport: { width: 1300, height: 900 } })
const page = await context.newPage()
page.on("pageerror", (error) => seen.complaints.push(String(error)))

const idle = () => page.waitForFunction(() => !document.querySelector(".htmx-request"))
const shows = (selector, words) =>
  page.waitForFunction(([selector, words]) => document.querySelector(selector)?.innerText.includes(words), [selector, words])
const titles = () => page.locator(".summary-text a").allInnerTexts()
const focused = () => page.evaluate(() => document.activeElement.innerText || document.activeElement.value)
const inPreview = () =>
  page.evaluate(() => {
    const frame = document.querySelector(".preview iframe")
    const inner = frame.contentWindow.innerHeight
    const shown = [...frame.contentDocument.querySelectorAll(".question, .item")].filter((each) => each.style.outline)
    return shown.map((each) => [each.querySelector(".asked").innerText, each.getBoundingClientRect().top >= 0 && each.getBoundingClientRect().top < inner])
  })

/** Looks at a page in both languages, also on a phone. */
async function look(name) {
  await idle()
  for (const language of ["de", "en"]) {
    await page.click(`.language [value=${language}]`)
    await page.waitForSelector(`html[lang=${language}]`)
    seen.axe[`${name} ${language}`] = await violations(page)
    await page.setViewportSize({ width: 360, height: 740 })
    seen.wide[`${name} ${language}`] = await tooWide(page)
    if (shots) await page.screenshot({ path: `${shots}/surprises-${name}-${language}.png`, fullPage: true })
    await page.setViewportSize({ width: 1300, height: 900 })
    if (shots) await page.screenshot({ path: `${shots}/surprises-${name}-${language}-wide.png` })
  }
}

await page.goto(address)
await page.goto(`${origin}/p/habits/design`)
await page.waitForSelector("#open-1[data-htmx-powered]")

// With the keyboard: the question moves, and the focus with it.
await page.focus("#open-1")
await page.keyboard.press("Alt+ArrowDown")
await shows("#notices", "is number 2 of 4")
await idle()
seen.keyboard = [await titles(), await focused()]

// A question that decides about another is not moved below it, and the page says why.
await page.keyboard.press("Alt+ArrowDown")
await shows("#problems", "decides")
seen.refused = [await titles(), await text(page, "#problems")]

// With the mouse: the last question is dropped on the first one.
await page.locator("#question-4 .summary > i").dragTo(page.locator("#question-1"), { targetPosition: { x: 60, y: 4 } })
await shows("#notices", "is number 1 of 4")
await idle()
seen.dragged = await titles()

// The preview: as wide as a telephone, at the question that is being edited, with the introduction.
await page.click("#open-4")
await page.waitForSelector("#editor")
await page.waitForFunction(() => [...(document.querySelector(".preview iframe").contentDocument?.querySelectorAll(".question") ?? [])].some((each) => each.style.outline))
seen.preview = [await inPreview(), await page.evaluate(() => document.querySelector(".preview iframe").offsetWidth)]
seen.introduction = await page.evaluate(() => document.querySelector(".preview iframe").contentDocument.body.innerText.includes("It takes two minutes."))
await page.click("[data-preview=wide]")
seen.wideWindow = await page.evaluate(() => document.querySelector(".preview iframe").offsetWidth)
await page.click("[data-preview=phone]")
await look("design")

// Answers move, and come back with their type.
await page.waitForSelector("#open-2[data-htmx-powered]")
await page.click("#open-2")
await page.waitForSelector("#option-2")
await idle()
await page.focus("#option-0")
await page.keyboard.press("Alt+ArrowDown")
await shows("#notices", "is answer 2 of 3")
await idle()
const options = () => page.locator("tr[data-row] [name^=option]").evaluateAll((all) => all.map((each) => each.value))
seen.answers = [await options(), await focused()]
await page.locator("tr[data-row='2'] i").dragTo(page.locator("tr[data-row='0']"), { targetPosition: { x: 30, y: 3 } })
await shows("#notices", "is answer 1 of 3")
await idle()
seen.draggedAnswers = await options()
await page.selectOption("#type", "yesno")
await page.waitForFunction(() => document.querySelector("#option-2") === null)
await idle()
await page.selectOption("#type", "choice")
await page.waitForSelector("#option-2")
await idle()
seen.answersAgain = await options()

// Many questions are pasted, looked at, and inserted.
await page.goto(`${origin}/p/habits/paste`)
await page.fill("#pasted-text", "Do you sleep well? yes / no\nHow often do you run?\n- never\n- often\n")
await page.click("#understand")
await page.waitForSelector("#insert-pasted")
await look("paste")
await page.fill("#pasted-text", "Do you sleep well? yes / no\nHow often do you run?\n- never\n- often\n")
await page.click("#understand")
await page.waitForSelector("#insert-pasted")
seen.axe.understood = await violations(page)
await page.setViewportSize({ width: 360, height: 740 })
seen.wide.understood = await tooWide(page)
await page.setViewportSize({ width: 1300, height: 900 })
await page.click("#insert-pasted")
await page.waitForSelector("#editor")
seen.pasted = (await titles()).slice(-2)

// A published survey is locked; a new version is not.
await page.goto(`${origin}/p/smoking/design?open=smokes`)
await page.waitForSelector("#locked")
seen.locked = await page.locator("#text-en, #name, #undo, #up-1").evaluateAll((all) => all.map((each) => each.matches(":disabled")))
await page.focus("#open-1")
await page.keyboard.press("Alt+ArrowDown")
await look("locked")
await page.click("#new-version")
await page.waitForSelector("#former")
seen.version = [await text(page, "h1"), await page.isEnabled("#name")]

// A value that is entered before the scripts of the page have arrived is saved.
let arrive
const arrived = new Promise((resolve) => (arrive = resolve))
await context.route("**/htmx.min.js", (route) => arrived.then(() => route.continue()))
await page.goto(`${origin}/p/habits/precision`, { waitUntil: "commit" })
await page.fill("#epsilon", "1.75")
await page.press("#epsilon", "Tab")
const saving = page.waitForResponse("**/precision/keep", { timeout: 20_000 }).catch(() => null)
arrive()
await saving
await context.unroute("**/htmx.min.js")
await page.goto(`${origin}/p/habits/precision`)
seen.early = await page.inputValue("#epsilon")

// A rehearsal whose studio is gone is not shown as running.
await page.goto(`${origin}/p/smoking-version-2/publish/rehearsal`)
await page.check("#rehearsal-joining")
await page.click("#rehearsal-start")
await page.waitForSelector("#rehearsal-stage")
await context.route("**/rehearsal/state", (route) => route.abort())
await page.waitForSelector("#problems .problems")
seen.ended = [await text(page, "#problems"), await page.isVisible("#rehearsal-status"), await page.isVisible("#rehearsal-stage")]
await context.unroute("**/rehearsal/state")
await page.goto(`${origin}/p/smoking-version-2/publish/rehearsal`)
await page.click("#rehearsal-stop")
await browser.close()
process.stdout.write(JSON.stringify(seen))
