// Writes the client as two files, for pages and as data of the Python package: the whole client, and X-Wing, which it
// loads if a survey uses it. Their first lines tell from which sources: SHA-256 of the names and contents of what
// stands in src/, package.json and tsconfig.json.
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { build } from "esbuild"

const PAGE = "../../src/incrowd/collection/page/static"
const CLIENT = { entry: "src/index.ts", external: ["./x-wing.js"], packages: ["hpke"] }
const X_WING = {
  entry: "src/x-wing.ts",
  external: [],
  packages: ["@panva/hpke-noble", "hpke", "@noble/curves", "@noble/hashes", "@noble/post-quantum"],
}
const OUTPUTS = { "dist/incrowd.js": CLIENT, "dist/x-wing.js": X_WING }
const PACKAGED = { [`${PAGE}/incrowd-sdk.js`]: CLIENT, [`${PAGE}/x-wing.js`]: X_WING }

process.chdir(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname))
const sources = [...readdirSync("src").sort().map((name) => `src/${name}`), "package.json", "tsconfig.json"]
const hash = createHash("sha256")
for (const name of sources) hash.update(`${name}\n`).update(readFileSync(name)).update("\n")
const digest = hash.digest("hex")

const licenseOf = (name) => {
  const folder = `node_modules/${name}`
  const file = readdirSync(folder).find((each) => each.startsWith("LICENSE"))
  return `${name} ${JSON.parse(readFileSync(`${folder}/package.json`)).version}\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`
}

const folder = process.argv[2]
const files = folder
  ? { [join(folder, "incrowd.js")]: CLIENT, [join(folder, "x-wing.js")]: X_WING }
  : { ...OUTPUTS, ...PACKAGED }
for (const [name, { entry, external, packages }] of Object.entries(files)) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    external,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    banner: { js: `/*! incrowd, Apache-2.0; with ${packages.join(", ")}, MIT (licenses beside this file). Sources ${digest} */` },
    write: false,
  })
  mkdirSync(dirname(name), { recursive: true })
  writeFileSync(name, outputFiles[0].contents)
  writeFileSync(`${name}.LICENSES.txt`, packages.map(licenseOf).join("\n"))
}
