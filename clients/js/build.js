// Writes the whole client as one file, for pages and as data of the Python package. Its first line tells from which
// sources: SHA-256 of the names and contents of what stands in src/, package.json and tsconfig.json.
import { createHash } from "node:crypto"
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { build } from "esbuild"

const OUTPUTS = ["dist/incrowd.js", "../../src/incrowd/collection/page/static/incrowd-sdk.js"]

process.chdir(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname))
const sources = [...readdirSync("src").sort().map((name) => `src/${name}`), "package.json", "tsconfig.json"]
const hash = createHash("sha256")
for (const name of sources) hash.update(`${name}\n`).update(readFileSync(name)).update("\n")

const { outputFiles } = await build({
  entryPoints: ["src/index.ts"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  banner: { js: `/*! incrowd, Apache-2.0; with hpke 1.1.7, MIT (license beside this file). Sources ${hash.digest("hex")} */` },
  write: false,
})
const target = process.argv[2] ? [process.argv[2]] : OUTPUTS
for (const name of target) {
  mkdirSync(dirname(name), { recursive: true })
  writeFileSync(name, outputFiles[0].contents)
  copyFileSync("node_modules/hpke/LICENSE.md", `${name}.LICENSE-hpke.txt`)
}
