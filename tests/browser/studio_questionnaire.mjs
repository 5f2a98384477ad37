// A questionnaire with a filter, a condition, a section and a matrix, built, rehearsed and read in the studio. Writes
// what is read as JSON, and pictures where it is told.
import { readFileSync } from "node:fs"

import { launch, text, tooWide, violations } from "./chromium.mjs"

const { address, people, shots } = JSON.parse(readFileSync(0))
const LONG = 240_000 // for a rehearsal
const seen = { axe: {}, wide: {}, complaints: [] }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", viewport: { width: 1240, height: 900 } })
const page = await context.newPage()
page.on("console", (message) => message.type() === "error" && seen.complaints.push(message.text()))
page.on("pageerror", (error) => seen.complaints.push(String(error)))

async function look(name) {
  await idle()
  seen.axe[name] = await violations(page)
  seen.wide[name] = await tooWide(page)
  if (shots) await page.screenshot({ path: `${shots}/questionnaire-${name}.png`, fullPage: true })
}
const idle = () => page.waitForFunction(() => !document.querySelector(".htmx-request"))
const shows = (selector, words) =>
  page.waitForFunction(([selector, words]) => document.querySelector(selector)?.innerText.includes(words), [selector, words])

async function add(words, type, fields = {}) {
  if (!(await page.locator("#new-text").isVisible())) await page.click("#add > summary")
  await page.fill("#new-text", words)
  await page.check(`#add [name=type][value=${type}]`)
  for (const [key, value] of Object.entries(fields)) await page.fill(`#new-${key}`, value)
  await page.click("#add button.main")
  await page.waitForFunction((words) => [...document.querySelectorAll(".summary-text a")].some((each) => each.innerText === words), words)
  await idle()
}

await page.goto(address)
await page.click("text=Habits")
await page.waitForSelector("#open-1[data-htmx-powered]")
await add("How old are you?", "number", { edges: "0, 30, 60" })
await add("Do you smoke every day?", "yesno")

// The condition: smokers of at least 30 years.
await page.waitForSelector("#question-condition")
await page.selectOption("#question-question-0", { label: "Do you smoke?" })
await page.waitForSelector("#question-operator-0")
await idle()
await page.selectOption("#question-question-1", { label: "How old are you?" })
await page.waitForSelector("#question-joined")
await idle()
await shows("#question-3 .asked-if", "at least 30")
seen.condition = await text(page, "#question-3 .asked-if")
seen.operators = await page.locator("#question-operator-1 option").allInnerTexts()
await look("condition")
await page.click("#question-remove-1")
await page.waitForSelector("#question-joined", { state: "detached" })
await idle()

// A mistake in the text of the condition is shown at its field.
await page.click("#question-condition summary")
await page.fill("#question-asked-if", "smokes = maybe")
await page.press("#question-asked-if", "Tab")
await shows("#question-condition", "is not one of the answers")
seen.mistake = await text(page, "#question-condition .fault")
await page.fill("#question-asked-if", "smokes = yes")
await page.press("#question-asked-if", "Tab")
await page.waitForFunction(() => !document.querySelector("#question-condition .fault"))
await idle()

// The question that decides cannot be removed, and the reason is shown.
await page.click("#remove-1")
await shows("#problems", "decides who is asked")
seen.refused = await text(page, "#problems")

// A matrix of new questions, and a section of everything about smoking.
await page.click("#add-matrix > summary")
await page.fill("#new-matrix", "How often do you feel like this?")
await page.fill("#matrix-items", "I am calm\nI am tired")
await page.fill("#matrix-options", "never\noften")
await page.click("#add-matrix button")
await shows("#parts", "Matrix: How often")
await idle()
await page.click("#add-section > summary")
await page.fill("#new-section", "Smoking")
await page.check("#add-section input[name=q][value=smokes]")
await page.check("#add-section input[name=q][value=do_you_smoke]")
await page.click("#add-section button")
await shows("#parts", "Section: Smoking")
await idle()
seen.order = await page.locator(".summary-text code").allInnerTexts()
await page.click("#section-smoking > summary")
await page.fill("#consent-en", "You can stop at any time.")
await page.press("#consent-en", "Tab")
await idle()
await page.waitForFunction(() => document.querySelector(".preview iframe")?.contentDocument?.body?.innerText.includes("You can stop at any time"))
await look("parts")
await page.setViewportSize({ width: 360, height: 800 })
await look("narrow")
await page.setViewportSize({ width: 1240, height: 900 })

// Precision among those who are asked.
await page.click("nav >> text=Precision and privacy")
await page.waitForSelector("#figures")
seen.precision = await page.locator("#figures p", { hasText: "Among those who are asked" }).allInnerTexts()
await look("precision")

// Rehearsed, and read.
await page.goto(`${new URL(address).origin}/p/habits/publish/rehearsal`)
await page.fill("#rehearsal-people", String(people))
await page.click("#rehearsal-start")
await page.waitForSelector("text=The rehearsal is complete.", { timeout: LONG })
seen.rehearsed = await page.locator(".tables h3").allInnerTexts()
await look("rehearsed")
await page.click("nav >> text=Results")
await page.waitForSelector("#result-title")
seen.tables = await page.locator("section.table h3").allInnerTexts()
seen.captions = await page.locator("section.table caption").allTextContents()
await look("results")

await browser.close()
process.stdout.write(JSON.stringify(seen))
