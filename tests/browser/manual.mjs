// By how many pixels each page of a manual is wider than a phone. Standard input: {folder, pages}.
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { launch } from "./chromium.mjs"

const { folder, pages } = JSON.parse(readFileSync(0, "utf8"))
const browser = await launch()
const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
const wider = {}
for (const name of pages) {
  await page.goto(`${pathToFileURL(folder)}/${name}`)
  wider[name] = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
}
await browser.close()
console.log(JSON.stringify(wider))
