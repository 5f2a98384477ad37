// Reads {words, cases} from its input, and writes the texts of `promise.js` in a folder for each case, as JSON. Needs no
// browser: elements are made of their texts.
import { readFileSync } from "node:fs"
import { pathToFileURL } from "node:url"

const node = (name) => ({
  name,
  parts: [],
  attributes: {},
  setAttribute(key, value) {
    this.attributes[key] = value
  },
  append(...parts) {
    this.parts.push(...parts)
  },
})
globalThis.document = { createElement: node }
globalThis.location = { host: "pages.example" }

const [, , folder] = process.argv
const from = (name) => import(pathToFileURL(`${folder}/${name}`))
const { promise, whoCouldCheat } = await from("promise.js")
const { Words } = await from("words.js")

const elements = (part, name) => (typeof part === "string" ? [] : [...(part.name === name ? [part] : []), ...part.parts.flatMap((each) => elements(each, name))])
const text = (part) => (typeof part === "string" ? part : part.parts.map(text).join(""))

const { tables, cases } = JSON.parse(readFileSync(0, "utf8"))
const said = cases.map(({ language, config, bundle }) => {
  const words = new Words(language, tables)
  const promised = promise(config, bundle, words).flatMap((each) => elements(each, "p"))
  const cheating = whoCouldCheat(config, bundle, "", false, words).flatMap((each) => elements(each, "li"))
  return {
    promised: promised.filter(({ attributes }) => attributes.class !== "claim").map(text),
    claims: promised.filter(({ attributes }) => attributes.class === "claim").map(text),
    cheating: cheating.map(text),
  }
})
process.stdout.write(JSON.stringify(said))
