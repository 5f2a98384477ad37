// Writes the client as three files, for pages and as data of the Python package: the client, and what it loads if a
// survey needs it: X-Wing, and what belongs to two mixers. Their first lines state the sources: SHA-256 of the
// names and contents of the files in src/, package.json, and tsconfig.json.
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { build } from "esbuild"

const PAGE = "../../src/incrowd/collection/page/static"
const CLIENT = { entry: "src/index.ts", external: ["./x-wing.js", "./mixers.js"], packages: ["hpke"] }
const X_WING = {
  entry: "src/x-wing.ts",
  external: [],
  packages: ["@panva/hpke-noble", "hpke", "@noble/curves", "@noble/hashes", "@noble/post-quantum"],
}
const MIXERS = { entry: "src/mixers.ts", external: [], packages: [] }
const namesIn = (folder, client = "incrowd.js") => ({
  [join(folder, client)]: CLIENT,
  [join(folder, "x-wing.js")]: X_WING,
  [join(folder, "mixers.js")]: MIXERS,
})

process.chdir(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname))
const modules = readdirSync("src", { recursive: true }).filter((name) => name.endsWith(".ts"))
const sources = [...modules.map((name) => `src/${name.replaceAll("\\", "/")}`).sort(), "package.json", "tsconfig.json"]
const hash = createHash("sha256")
for (const name of sources) hash.update(`${name}\n`).update(readFileSync(name)).update("\n")
const digest = hash.digest("hex")

const licenseOf = (name) => {
  const folder = `node_modules/${name}`
  const file = readdirSync(folder).find((each) => each.startsWith("LICENSE"))
  return `${name} ${JSON.parse(readFileSync(`${folder}/package.json`)).version}\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`
}

/** Marks the constants of hybrid KEMs as free of side effects, so that other curves than X25519 are left out. */
const hybrids = {
  name: "hybrids",
  setup: ({ onLoad }) =>
    onLoad({ filter: /post-quantum.hybrid\.js$/ }, ({ path }) => {
      const mark = (line) => line.replace(/\w+\(/g, "/* @__PURE__ */ $&")
      return { contents: readFileSync(path, "utf8").replace(/^export const \w+ = .*;$/gm, mark) }
    }),
}

/** Leaves out the parts of `hpke` for recipients and for KDFs of one stage: this client seals, with HKDF, and opens nothing. */
const recipients = {
  name: "recipients",
  setup: ({ onLoad }) =>
    onLoad({ filter: /node_modules.hpke.index\.js$/ }, ({ path }) => {
      const parts = /^    (DeriveKeyPair: \w+,\n|pkcs8: Uint8Array\.of\([^)]*\), *\n|async (Decap|Open|(Des|S)erializePrivateKey)\(.*?\n    \},\n)/gms
      return { contents: readFileSync(path, "utf8").replace(parts, "").replace(/\w+\(\w+\.kdf\) === 1 \? \w+_OneStage : /, "") }
    }),
}

const others = (packages) => (packages.length ? `; with ${packages.join(", ")}, MIT (licenses beside this file)` : "")

const folder = process.argv[2]
const files = folder ? namesIn(folder) : { ...namesIn("dist"), ...namesIn(PAGE, "incrowd-sdk.js") }
for (const [name, { entry, external, packages }] of Object.entries(files)) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    external,
    bundle: true,
    plugins: [hybrids, recipients],
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    banner: { js: `/*! incrowd, Apache-2.0${others(packages)}. Sources ${digest} */` },
    write: false,
  })
  mkdirSync(dirname(name), { recursive: true })
  writeFileSync(name, outputFiles[0].contents)
  if (packages.length) writeFileSync(`${name}.LICENSES.txt`, packages.map(licenseOf).join("\n"))
}
