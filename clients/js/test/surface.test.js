import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path/posix"
import { test } from "node:test"

import * as built from "../dist/incrowd.js"
import * as library from "../lib/index.js"

test("the built file gives the same few names", () => {
  assert.deepEqual(Object.keys(built).sort(), Object.keys(library).sort())
  assert.ok(Object.keys(built).length <= 12)
})

test("the package holds the library, its types, the built file, the README and the license", () => {
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"]
  const [program, ...first] = [...npm, "pack", "--dry-run", "--json", "--ignore-scripts"]
  const said = execFileSync(program, first, { stdio: ["ignore", "pipe", "ignore"] })
  const files = JSON.parse(said)
  const packed = Array.isArray(files) ? files[0] : Object.values(files)[0]
  const names = packed.files.map(({ path }) => path)
  for (const name of ["package.json", "README.md", "dist/incrowd.js", "lib/index.js", "lib/index.d.ts"]) assert.ok(names.includes(name), name)
  assert.ok(names.every((name) => /^(package.json|README.md|LICENSE|dist\/|lib\/)/.test(name)))
})

/** The files that import each other in a circle. sources: text by path. */
function circles(sources) {
  const imported = (name, text) => [...text.matchAll(/"(\.\.?\/[\w/-]+)\.js"/g)].map(([, to]) => join(dirname(name), to))
  const left = new Map(Object.entries(sources).map(([name, text]) => [name, imported(name, text)]))
  for (let size = -1; size !== left.size; ) {
    size = left.size
    for (const [name, imported] of left) if (!imported.some((to) => left.has(to))) left.delete(name)
  }
  return [...left.keys()]
}

test("no files import each other in a circle", () => {
  const folder = new URL("../src/", import.meta.url)
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".ts"))
  const names = files.map((file) => file.replace(/\.ts$/, ""))
  assert.deepEqual(circles(Object.fromEntries(names.map((name) => [name, readFileSync(new URL(`${name}.ts`, folder), "utf8")]))), [])
  const wrong = { one: 'import type { A } from "./two.js"', two: 'await import("./one.js")', "types/three": 'import "../one.js"' }
  assert.deepEqual(circles(wrong), ["one", "two", "types/three"])
})
