import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"

import { readBundle } from "../lib/bundle.js"
import { canonical } from "../lib/canonical.js"
import { isAddress, parseCode, parseLink, shortForm } from "../lib/link.js"
import { checkPlan } from "../lib/plan.js"
import { vectors } from "./vectors.js"

const [plans, links, digests] = ["plans", "links", "digests"].map(vectors)
const sha256 = (text) => createHash("sha256").update(text).digest("hex")

// --- plans -----------------------------------------------------------------------------------------------------------

/** A plan after a change, which is a JSON Pointer (RFC 6901) with another value. */
function changed({ plan, at, value, removed }) {
  const made = structuredClone(plans.right[plan])
  const way = at.split("/").slice(1)
  const last = way.pop()
  const place = way.reduce((inner, key) => inner[key], made)
  if (removed) delete place[last]
  else place[last] = value
  return made
}

for (const [name, plan] of Object.entries(plans.right)) test(`a plan: ${name}`, () => checkPlan(plan))

// A whole bundle is read, as it is for people: a plan may also be too malformed for a check to get anywhere.
const bundle = JSON.parse(vectors("bundles").right[0].text)
for (const given of plans.wrong)
  test(`no plan: ${given.why}`, async () => {
    const plan = changed(given)
    const questions = Object.fromEntries(plan.survey.question.map(({ id }) => [id, id]))
    const wording = { ...bundle.wording, questions }
    const text = canonical({ ...bundle, plan, plan_digest: sha256(canonical(plan)), wording, colluding: plan.survey.colluding })
    const refused = /the plan|of the plan|question|randomizer|format|id/
    await assert.rejects(readBundle(new TextEncoder().encode(text), sha256(text)), { code: "bundle-refused", message: refused })
  })

// --- addresses, links, codes -----------------------------------------------------------------------------------------

for (const { address } of links.addresses.right) test(`an address: ${address}`, () => assert.ok(isAddress(address)))

for (const [why, address] of Object.entries(links.addresses.wrong)) test(`no address: ${why}`, () => assert.ok(!isAddress(address)))

for (const { text, ...parts } of links.links.right) test(`a link: ${text}`, () => assert.deepEqual(parseLink(text), parts))

for (const [why, text] of Object.entries(links.links.wrong))
  test(`no link: ${why}`, () => assert.throws(() => parseLink(text), { code: "link" }))

test("codes as people type them, and the short form", () => {
  for (const { typed, code } of links.codes.right) assert.equal(parseCode(typed), code)
  for (const typed of Object.values(links.codes.wrong)) assert.throws(() => parseCode(typed), { code: "code" })
  assert.equal(shortForm(Buffer.from(links.short.digest, "hex")), links.short.text)
})

// --- canonical texts -------------------------------------------------------------------------------------------------

test("canonical texts and their digests", () => {
  for (const { value, text, sha256: digest } of digests.right) {
    assert.deepEqual([canonical(value), canonical(JSON.parse(text)), sha256(text)], [text, text, digest])
  }
})

for (const [why, text] of Object.entries(digests.wrong))
  test(`no canonical text: ${why}`, () => {
    try {
      assert.notEqual(canonical(JSON.parse(text)), text)
    } catch (error) {
      assert.ok(error instanceof SyntaxError || error instanceof TypeError)
    }
  })
