// Writes lanes that Chromium draws, as bytes: how many, with which numerator over 2^32.
import { readFileSync } from "node:fs"

import { launch } from "./chromium.mjs"

const { lanes, numerator } = JSON.parse(readFileSync(0))
const client = readFileSync(process.argv[2], "utf8")
const browser = await launch()
const page = await browser.newPage()
const drawn = await page.evaluate(
  async ([client, lanes, numerator]) => {
    const { bernoulli, systemWords } = await import(URL.createObjectURL(new Blob([client], { type: "text/javascript" })))
    const bytes = new Uint8Array(bernoulli(lanes, numerator, systemWords).buffer)
    return bytes.reduce((text, byte) => text + byte.toString(16).padStart(2, "0"), "")
  },
  [client, lanes, numerator],
)
await browser.close()
process.stdout.write(Buffer.from(drawn, "hex"))
