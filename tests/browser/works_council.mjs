// A member of a works council in a German studio, without a command line: one act of her way to a report. Reads which
// act, and what it needs, as JSON; writes what was read on each page, how long it took, and what is wrong with it.
import { readFileSync } from "node:fs"

import { launch, tabTo, text, tooWide, violations } from "./chromium.mjs"

const { act, address, state, folder, shots, ...given } = JSON.parse(readFileSync(0))
const LONG = 240_000
const WIDE = { width: 1240, height: 900 }
const seen = { steps: [], axe: {}, wide: {}, complaints: [], asked: new Set() }
const browser = await launch()
const german = { locale: "de-DE", timezoneId: "Europe/Berlin", viewport: WIDE, acceptDownloads: true }

async function opened(options = {}) {
  const context = await browser.newContext({ ...german, ...options })
  context.on("request", (request) => seen.asked.add(new URL(request.url()).hostname))
  const page = await context.newPage()
  page.on("console", (message) => message.type() === "error" && seen.complaints.push(`${page.url()}: ${message.text()}`))
  page.on("pageerror", (error) => seen.complaints.push(`${page.url()}: ${error}`))
  return page
}

/** All that can be read on a page, with what is folded up: the kind of element and its text, in order. */
const texts = (page) =>
  page.evaluate(() => {
    const kinds = "h1,h2,h3,h4,h5,label,button,a,p,li,legend,summary,dt,dd,th,td,caption,option,figcaption"
    const folded = [...document.querySelectorAll("details:not([open])")]
    for (const each of folded) each.open = true
    const found = new Map()
    const add = (element, words) => found.set(element, `${found.get(element) ?? ""} ${words}`)
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement
      const passed = parent.closest("script,style,pre,code,textarea,[lang=en]") || !parent.checkVisibility() && parent.tagName !== "OPTION"
      if (node.data.trim() && !passed) add(parent.closest(kinds) ?? parent, node.data)
    }
    const spoken = []
    for (const element of document.querySelectorAll("[aria-label],[placeholder],[title]"))
      for (const name of ["aria-label", "placeholder", "title"])
        if (element.getAttribute(name) && element.checkVisibility()) spoken.push([name, element.getAttribute(name)])
    for (const each of folded) each.open = false
    const tidy = ([kind, words]) => [kind, words.replace(/\s+/g, " ").trim()]
    return [...[...found].map(([element, words]) => [element.tagName.toLowerCase(), words]), ...spoken].map(tidy)
  })

let begun = Date.now()

/** Looks at a state of a page, wide and on a phone, and notes how long it took to get there. */
async function look(page, name) {
  const seconds = (Date.now() - begun) / 1000
  seen.steps.push({ name, seconds, texts: await texts(page) })
  seen.axe[name] = await violations(page)
  if (shots) await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true })
  const usual = page.viewportSize()
  await page.setViewportSize({ width: 360, height: 780 })
  seen.wide[name] = await tooWide(page)
  seen.axe[`${name}, narrow`] = await violations(page)
  if (shots) await page.screenshot({ path: `${shots}/${name}-narrow.png`, fullPage: true })
  await page.setViewportSize(usual)
  begun = Date.now()
}

async function download(page, selector, name) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(selector)])
  await file.saveAs(`${folder}/${name ?? file.suggestedFilename()}`)
  return file.suggestedFilename()
}

const idle = async (page) => {
  await page.waitForTimeout(700)
  await page.waitForFunction(() => !document.querySelector(".htmx-request"))
}

/** The survey: five questions, a changed text, a question of the bank, and one that not all are asked. */
async function design() {
  const page = await opened()
  await page.goto(address)
  await look(page, "start")
  await page.click('a[href="/plan"]')
  await page.waitForURL("**/plan")
  const next = async () => {
    await page.click(".wizard button.main")
    await page.waitForLoadState()
  }
  await page.fill("#title", "Klima im Betrieb")
  await page.fill("#question", "Sind Sie im letzten Jahr am Arbeitsplatz gemobt worden?")
  await page.check('[name=everybody][value="yes"]')
  await look(page, "question 1")
  await next()
  await next()
  seen.missing = await text(page, ".problems")
  await look(page, "question 2, not filled in")
  await page.fill("#invited", "90")
  await page.fill("#expected", "67")
  await next()
  await look(page, "question 3")
  await page.check('[name=level][value="weak"]')
  await next()
  await page.fill("#group-1", "Bereich")
  await page.fill("#answers-1", "Verwaltung\nProduktion")
  await look(page, "question 4")
  await next()
  await look(page, "question 5")
  await next()
  await page.waitForURL("**/ways*")
  await look(page, "ways")
  seen.ways = await page.locator(".ways-to-collect .card h2").allInnerTexts()
  await page.click('button[name=way][value="services"]')
  await page.waitForURL("**/precision")
  await page.waitForSelector("#certificate .good", { timeout: LONG })
  await look(page, "precision of the plan")

  await page.click("nav >> text=Entwurf")
  await page.waitForSelector("#questions")
  await look(page, "design")
  await page.click("#open-2[data-htmx-powered]")
  await page.waitForSelector("#editor")
  await page.fill("#text-de", given.question)
  await page.press("#text-de", "Tab")
  await idle(page)
  await look(page, "a question is changed")
  await page.click('#questions a[href$="/question-bank"]')
  await page.waitForURL("**/question-bank")
  await look(page, "question bank")
  await page.check('input[value="yes-no"]')
  await page.click("main button.main")
  await page.waitForURL("**/design?open=*")
  await page.waitForSelector("#editor #question-question-0")
  await page.fill("#text-de", given.asked)
  await page.press("#text-de", "Tab")
  await idle(page)
  await page.selectOption("#question-question-0", { index: 2 })
  await page.waitForSelector("#question-answer-0")
  await idle(page)
  await page.selectOption("#question-answer-0", "yes")
  await idle(page)
  await look(page, "a condition")
  seen.conditions = await page.locator(".asked-if").allInnerTexts()

  await page.click("nav >> text=Genauigkeit")
  await page.waitForSelector("#certificate .good", { timeout: LONG })
  seen.promised = await text(page, "#figures")
  await look(page, "precision")
  await page.context().storageState({ path: state })
}

/** A plan, a short rehearsal, one shuffler at a colleague, and the package for her. */
async function publish() {
  const page = await opened({ storageState: state })
  await page.goto(new URL("/", given.project).href)
  await look(page, "list of surveys")
  await page.click(".survey h3 a")
  await page.waitForSelector("#questions")
  await page.click("nav >> text=Veröffentlichen")
  await page.waitForSelector("#plan-start")
  await look(page, "publish: certify")
  await page.click("#plan-start")
  await page.waitForSelector("#plan .good", { timeout: LONG })
  await look(page, "publish: certified")
  await page.click('a[href$="/publish/rehearsal"]')
  await page.waitForSelector("#rehearsal-start")
  await look(page, "rehearsal")
  await page.fill("#rehearsal-people", "60")
  await page.click("#rehearsal-start")
  await page.waitForSelector("#rehearsal-stage")
  await look(page, "rehearsal runs")
  await page.waitForFunction(() => !document.querySelector("#rehearsal-status[data-running]"), null, { timeout: LONG })
  await look(page, "rehearsed")
  seen.rehearsed = await text(page, "#rehearsal")

  await page.click("nav >> text=Veröffentlichen")
  await page.click('#wizard a[data-step="who"]')
  await page.waitForSelector("#choice-shuffler")
  await page.check("#choice-shuffler")
  await page.fill("[name=organization-shuffler]", "Universität")
  await page.fill("[name=organization-collector]", "Betriebsrat")
  await look(page, "publish: who")
  await page.click("#choices-save")
  await page.waitForSelector("[name=address-shuffler]")
  await look(page, "publish: terms")
  seen.proposed = await page.inputValue("[name=invitations]")
  await page.fill("[name=address-shuffler]", given.shuffler)
  await page.check("#reach-hand")
  await page.check("#page-elsewhere")
  await page.fill("[name=survey_page]", given.survey)
  await page.click("form#choices-form > details > summary")
  await page.fill("[name=introduction]", given.introduction)
  await look(page, "publish: terms filled in")
  await page.click("#choices-save")
  await page.waitForSelector("#do-package")
  await look(page, "publish: exchange")
  await page.click("#do-package")
  await page.waitForSelector('a[href$="/for-shuffler.zip"]')
  await look(page, "publish: package")
  seen.package = await download(page, 'a[href$="/for-shuffler.zip"]', "for-shuffler.zip")
  await page.context().storageState({ path: state })
}

/** The colleague's page of instructions. */
async function sheet() {
  const page = await opened()
  await page.goto(`file://${given.sheet}`)
  await look(page, given.title)
}

/** The bundle of the colleague; the page and the card; the page to invite people. */
async function bundle() {
  const page = await opened({ storageState: state })
  await page.goto(`${given.project}/publish`)
  await page.setInputFiles("#step-bundle input[type=file]", given.plan)
  await page.click("#upload-bundle")
  await page.waitForSelector(".problems")
  seen.refused = await text(page, ".problems")
  await look(page, "publish: a file that is no bundle")
  await page.setInputFiles("#step-bundle input[type=file]", given.bundle)
  await page.click("#upload-bundle")
  await page.waitForSelector("#step-bundle.done")
  await look(page, "publish: bundle")
  await page.click("#continue")
  await page.waitForSelector("#do-page")
  await page.click("#do-page")
  await page.waitForSelector("#page-download")
  await page.click("#do-card")
  await page.waitForSelector("#card-open")
  await look(page, "publish: page and card")
  seen.link = await text(page, ".facts code >> nth=0")
  await download(page, "#page-download", "page.zip")
  await download(page, "#card-download", "card.html")
  await page.click("#continue")
  await page.waitForSelector("#step-invitations")
  await look(page, "publish: run")
  await page.click('a[href$="/publish/invitations"]')
  await page.waitForSelector("main h1")
  await look(page, "inviting")
  await page.click("nav >> text=Verlauf")
  await page.waitForSelector("main h1")
  await look(page, "watch: begin")
  await page.context().storageState({ path: state })
}

/** Colleagues who answer in a browser: with a mouse, on a phone, with the keyboard only. */
async function answer() {
  for (const { link, way, answers } of given.people) {
    const page = await opened(way === "phone" ? { viewport: { width: 360, height: 780 }, hasTouch: true } : {})
    await page.goto(link)
    await page.waitForSelector("#all")
    await look(page, `survey page, ${way}`)
    if (way === "mouse") {
      await page.click("#all > button")
      await page.waitForSelector("#mistakes li")
      await look(page, "survey page, nothing answered")
    }
    for (const [place, chosen] of answers.entries()) {
      const id = `#q${place + 1}-${chosen}`
      if (way === "keyboard") {
        await tabTo(page, `[id^="q${place + 1}-"]`)
        await page.keyboard.press("Space")
        for (let moves = 0; moves < 5 && !(await page.isChecked(id)); moves++) await page.keyboard.press("ArrowDown")
      } else await page.click(`label[for="${id.slice(1)}"]`)
    }
    const press = async (selector) => {
      if (way !== "keyboard") return page.click(selector)
      await tabTo(page, selector)
      await page.keyboard.press("Enter")
    }
    await press("#all > button")
    await page.waitForSelector("#review td")
    await look(page, `survey page, review, ${way}`)
    await press("#review form button")
    await page.waitForSelector("#sent")
    await look(page, `survey page, sent, ${way}`)
    await page.context().close()
  }
}

/** How many have answered. */
async function watch() {
  const page = await opened({ storageState: state })
  await page.goto(`${given.project}/watch`)
  await page.click("#count")
  await page.waitForSelector("meter")
  await look(page, "watch: answers")
  seen.watched = await text(page, ".threshold")
}

/** After closing: the release, the code for the colleague, the results, and the reports. */
async function read() {
  const page = await opened()
  await page.goto(address)
  await look(page, "list after closing")
  await page.goto(`${given.project}/watch`)
  await page.waitForSelector("main h1")
  await look(page, "watch: closed")
  await page.click("nav >> text=Veröffentlichen")
  await page.click('#wizard a[data-step="run"]')
  await page.waitForSelector("#open-release")
  await look(page, "publish: release")
  await page.setInputFiles("#release input[type=file]", given.release)
  await page.click("#open-release")
  for (let tries = 0; tries < 60 && !(await page.locator("#to-results").count()); tries++) {
    await page.waitForTimeout(1000)
    await page.reload()
  }
  await look(page, "publish: opened")
  seen.code = await text(page, ".codes code")
  await page.click("#to-results")
  await page.waitForSelector("#result-title", { timeout: LONG })
  await look(page, "results")
  seen.source = await page.locator("[name=source]:checked").inputValue()
  seen.files = []
  for (const format of ["html", "docx", "xlsx", "json"]) seen.files.push(await download(page, `.exports a[href$="format=${format}"]`))
  for (const [name, file] of [["report", seen.files[0]], ["card", "card.html"]]) {
    await page.goto(`file://${folder}/${file}`)
    await look(page, name)
    seen[name] = await text(page, "body")
    const pdf = (await page.pdf()).toString("latin1")
    seen.pages = [...(seen.pages ?? []), pdf.match(/\/Type\s*\/Page\b/g).length]
  }
}

await { design, publish, sheet, bundle, answer, watch, read }[act]()
await browser.close()
process.stdout.write(JSON.stringify({ ...seen, asked: [...seen.asked] }))
