// A collection by two people, seen from the studio: she clicks, and is told on standard input what
// came from her colleague. Each line that she writes is what she hands over, or has read.
import { createInterface } from "node:readline"

import { launch, text, tooWide, violations } from "./chromium.mjs"

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const told = async () => JSON.parse((await lines.next()).value)
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)
const LONG = 120_000

const { address, service, host, invited, closes, folder } = await told()
const seen = { axe: {}, wide: {}, complaints: [] }
const browser = await launch()
const context = await browser.newContext({ locale: "en-US", timezoneId: "Asia/Kolkata", viewport: { width: 1100, height: 900 }, acceptDownloads: true })
const page = await context.newPage()
page.on("pageerror", (error) => seen.complaints.push(String(error)))
const look = async (name) => {
  seen.axe[name] = await violations(page)
  seen.wide[name] = await tooWide(page)
}
const saved = async (selector, name) => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)])
  await download.saveAs(`${folder}/${name}`)
  return `${folder}/${name}`
}

await page.goto(address)
await page.goto(new URL("/p/two/publish", page.url()).href)
await look("certify")
await page.click("#plan-start")
await page.waitForSelector("text=plan.json matches the current survey", { timeout: LONG })
await page.click("#continue")
await page.check("#choice-shuffler")
await look("who")
await page.click("#choices-save")
await page.fill("[name=address-shuffler]", service)
await page.fill("[name=survey_page]", host)
await page.fill("[name=invitations]", String(invited))
seen.closes = await page.locator("input[type=hidden][name=closes]").inputValue()
const local = await page.evaluate((time) => {
  const date = new Date(time)
  const pad = (number) => String(number).padStart(2, "0")
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}T${pad(date.getHours())}:${pad(date.getMinutes())}`
}, closes)
await page.locator(".times input[type=datetime-local]").nth(1).fill(local)
await look("terms")
await page.click("#wizard a[data-step=who]") // what was typed is saved
await page.waitForSelector("#choice-shuffler")
await page.click("#wizard a[data-step=exchange]")
await page.click("#do-package")
await page.waitForSelector("text=Package for: Shuffler")
await look("exchange")
say({ package: await saved("text=Package for: Shuffler", "package.zip") })

const { bundle } = await told()
await page.setInputFiles("#step-bundle input[type=file]", bundle)
await page.click("#upload-bundle")
await page.waitForSelector("#step-bundle.done")
await page.click("#continue")
await page.click("#do-page")
await page.waitForSelector("#page-download")
await page.click("#do-card")
await page.waitForSelector("#card-open")
await look("page")
say({ page: await saved("#page-download", "page.zip") })

const { links } = await told()
seen.answered = []
for (const link of links) {
  const phone = await browser.newContext({ locale: "en-US" })
  const survey = await phone.newPage()
  await survey.goto(link)
  await survey.waitForSelector("main h1")
  await survey.locator('[id="q1-0"]').check()
  await survey.click("#all > button")
  await survey.waitForSelector("#review td")
  await survey.click("#review form button")
  await survey.waitForSelector("#sent")
  seen.answered.push(await text(survey, "#sent"))
  await phone.close()
}
say({ answered: seen.answered })

const { release } = await told()
await page.goto(new URL("/p/two/publish?step=run", page.url()).href)
await look("run")
await page.setInputFiles("#release input[type=file]", release)
await page.click("#open-release")
for (let tries = 0; tries < 60 && !(await page.locator("#to-results").count()); tries++) {
  await page.waitForTimeout(500)
  await page.reload()
}
seen.code = await text(page, ".codes code")
await look("opened")
await page.click("#to-results")
await page.waitForSelector("#result-title")
seen.results = await text(page, "main")
say(seen)
await browser.close()
