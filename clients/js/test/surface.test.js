import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"

import * as built from "../dist/incrowd.js"
import * as library from "../lib/index.js"

test("the built file gives the same few names", () => {
  assert.deepEqual(Object.keys(built).sort(), Object.keys(library).sort())
  assert.ok(Object.keys(built).length <= 12)
})

test("the package holds the library, its types, the built file and the README", () => {
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"]
  const [program, ...first] = [...npm, "pack", "--dry-run", "--json", "--ignore-scripts"]
  const said = execFileSync(program, first, { stdio: ["ignore", "pipe", "ignore"] })
  const files = JSON.parse(said)
  const packed = Array.isArray(files) ? files[0] : Object.values(files)[0]
  const names = packed.files.map(({ path }) => path)
  for (const name of ["package.json", "README.md", "dist/incrowd.js", "lib/index.js", "lib/index.d.ts"]) assert.ok(names.includes(name), name)
  assert.ok(names.every((name) => /^(package.json|README.md|dist\/|lib\/)/.test(name)))
})
