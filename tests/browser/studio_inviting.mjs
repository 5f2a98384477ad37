// A person invites the people of a list and prints their letters. A reader of QR codes that we did not write looks at
// the page as it is printed. Writes what is read as JSON.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

import { launch, violations } from "./chromium.mjs"

const JSQR = readFileSync(createRequire(import.meta.url).resolve("jsqr/dist/jsQR.js"), "utf8")
const CM = 96 / 2.54 // pixels of CSS
const { address, list, folder } = JSON.parse(readFileSync(0))
const seen = { complaints: [], violations: {} }
const browser = await launch()
const context = await browser.newContext({ locale: "de-DE", deviceScaleFactor: 2, permissions: ["clipboard-read", "clipboard-write"] })
const page = await context.newPage()
page.on("pageerror", (error) => seen.complaints.push(String(error)))
page.on("console", (message) => message.type() === "error" && seen.complaints.push(message.text()))

async function downloaded(name) {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(`button[value="${name}"]`)])
  await file.saveAs(`${folder}/${name}`)
}

await page.goto(address)
const home = `${new URL(address).origin}/p/trial/publish/invitations`
await page.goto(home)
seen.violations.before = await violations(page)
await page.setInputFiles("input[type=file]", list)
await page.click("#take-list")
await page.waitForSelector("#forget")
await downloaded("invitations.csv")
await downloaded("letters.html")
await downloaded("strips.html")
await page.click('[data-copy="reminder-de"]')
seen.copied = await page.evaluate(() => navigator.clipboard.readText())
await page.setViewportSize({ width: 360, height: 800 })
seen.violations.narrow = await violations(page)
seen.width = await page.evaluate(() => document.documentElement.scrollWidth)

const printed = await context.newPage()
for (const name of ["letters", "strips"]) {
  await printed.goto(`file://${folder}/${name}.html`)
  await printed.emulateMedia({ media: "print" })
  const pdf = (await printed.pdf({ preferCSSPageSize: true })).toString("latin1")
  const codes = []
  for (const picture of await printed.locator(".answer img").all()) {
    const { width, height } = await picture.boundingBox()
    codes.push({ picture: (await picture.screenshot()).toString("base64"), cm: Math.min(width, height) / CM })
  }
  seen[name] = { pages: pdf.match(/\/Type\s*\/Page\b/g).length, codes }
}
// The pictures are read in a page without a policy.
await printed.goto("about:blank")
await printed.evaluate(JSQR)
for (const name of ["letters", "strips"])
  for (const code of seen[name].codes) {
    code.text = await printed.evaluate(async (picture) => {
      const image = new Image()
      image.src = `data:image/png;base64,${picture}`
      await image.decode()
      const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height })
      const drawing = canvas.getContext("2d")
      drawing.drawImage(image, 0, 0)
      const { data, width, height } = drawing.getImageData(0, 0, image.width, image.height)
      return globalThis.jsQR(data, width, height)?.data ?? null
    }, code.picture)
    delete code.picture
  }
await browser.close()
process.stdout.write(JSON.stringify(seen))
