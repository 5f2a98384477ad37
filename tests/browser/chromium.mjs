// Chromium, and what the tests of pages do in it again and again.
import chromium from "@sparticuz/chromium"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { chromium as driver } from "playwright-core"

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

export const launch = async () =>
  driver.launch({ executablePath: await chromium.executablePath(), args: ["--no-sandbox", "--disable-gpu"], headless: true })

/** A page of its own, with all that it asked for and all that it complained about. */
export async function opened(browser, url, options = {}) {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options })
  const page = await context.newPage()
  page.asked = []
  page.complaints = []
  page.on("request", (request) => page.asked.push({ url: request.url(), referrer: request.headers().referer ?? null }))
  page.on("console", (message) => message.type() === "error" && page.complaints.push(message.text()))
  page.on("pageerror", (error) => page.complaints.push(String(error)))
  await page.clock.install()
  await page.goto(url)
  await page.waitForSelector("main h1")
  return page
}

/** What axe-core finds wrong, in words. */
export async function violations(page) {
  await page.evaluate(AXE)
  const found = await page.evaluate(() => globalThis.axe.run(document))
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.target).join(", ")}`)
}

/** Presses Tab until the element that a selector finds has the focus: with the keyboard nothing else gets there. */
export async function tabTo(page, selector) {
  for (let pressed = 0; pressed < 200; pressed++) {
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return
    await page.keyboard.press("Tab")
  }
  throw new Error(`the keyboard does not reach ${selector}`)
}

export const text = (page, selector) => page.locator(selector).innerText()

/** Whether anything stands out of the window on the right. */
export const tooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)
