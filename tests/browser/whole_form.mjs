// A person answers a survey of several parts by keyboard alone, in a window as narrow as a telephone; writes what a
// screen reader finds on the way as JSON. answers: by the wording of a question, the number of an answer, several
// of these, or what she types.
import { readFileSync } from "node:fs"

import { launch, opened, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { link, answers, shots } = JSON.parse(readFileSync(0))
const browser = await launch()
const page = await opened(browser, link, { viewport: { width: 360, height: 640 } })
const { keyboard } = page
const seen = { parts: [], trees: [], axe: [], tooWide: [], news: [] }

/** What has the focus: its kind, the question that it belongs to, and whether the part ends here. */
const focused = () =>
  page.evaluate(() => {
    const { activeElement: at } = document
    const group = at.closest("[role=radiogroup], fieldset.question")
    const labels = (group?.getAttribute("aria-labelledby") ?? "").split(" ").map((id) => document.getElementById(id))
    const legend = group?.querySelector("legend") ?? labels.findLast((each) => each) ?? document.querySelector(`label[for="${at.id}"]`)
    return { type: at.type, question: (legend?.textContent ?? "").trim(), next: at.matches("#all > button") }
  })

async function answer({ type, question }) {
  const given = answers[question]
  if (given === undefined) throw new Error(`no answer is planned to "${question}"`)
  if (type === "radio") {
    await keyboard.press("Space")
    for (let place = 0; place < given; place++) await keyboard.press("ArrowDown")
  } else if (type === "checkbox") {
    for (let place = 0; place <= Math.max(...given); place++) {
      if (given.includes(place)) await keyboard.press("Space")
      if (place < Math.max(...given)) await keyboard.press("Tab")
    }
  } else await keyboard.type(given)
}

async function look() {
  seen.axe.push(...(await violations(page)))
  if (await tooWide(page)) seen.tooWide.push(seen.parts.at(-1))
  if (shots) await page.screenshot({ path: `${shots}/part-${seen.parts.length}.png`, fullPage: true })
}

await tabTo(page, "#agree")
await keyboard.press("Space")
while (!(await page.locator("#review td").count())) {
  seen.parts.push(await text(page, ".part:not([hidden]) > h3"))
  const answered = new Set()
  for (let steps = 0; steps < 200; steps++) {
    await keyboard.press("Tab")
    const at = await focused()
    if (at.next) break
    if (!["radio", "checkbox", "number"].includes(at.type) || answered.has(at.question)) continue
    answered.add(at.question)
    await answer(at)
    const news = await text(page, "#status")
    if (news && seen.news.at(-1) !== news) seen.news.push(news)
  }
  seen.trees.push(await page.locator("#all").ariaSnapshot())
  await look()
  await keyboard.press("Enter")
  const wrong = await page.locator("#mistakes li").allInnerTexts()
  if (wrong.length) throw new Error(`mistakes: ${wrong.join("; ")}`)
}
seen.parts.push("review")
await look()
seen.reviewed = await page.locator("#review tbody tr").count()
seen.unasked = await text(page, "#unasked").catch(() => "")
await tabTo(page, "#review form button")
await keyboard.press("Enter")
await page.waitForSelector("#sent")
seen.thanks = await text(page, ".done .stated")
await browser.close()
process.stdout.write(JSON.stringify({ ...seen, complaints: page.complaints }))
