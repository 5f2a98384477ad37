import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { mock, test } from "node:test"

import { readBundle, uploadBytes } from "../lib/bundle.js"
import { fromHex, toHex } from "../lib/bytes.js"
import { canonical } from "../lib/canonical.js"
import { sealAnswers } from "../lib/client.js"
import { drawExample } from "../lib/example.js"
import { plaintexts } from "../lib/reports.js"
import { separatePools } from "../lib/slots.js"
import { pairOf, typed, vectors } from "./vectors.js"

// Noise from the services: a device sends its own cells and dummies, and draws nothing.

const given = vectors("services")
const encoded = (text) => new TextEncoder().encode(text)
const survey = { ...(await readBundle(encoded(given.bundle), given.digest)), code: "" }
const { plan, slots } = survey.bundle
const answersOf = ({ answers }) =>
  Object.fromEntries(plan.survey.question.map((question) => [question.id, typed(question, answers[question.id])]))
const nothing = () => assert.fail("something is drawn")

for (const [number, person] of given.people.entries()) {
  test(`the plaintexts of person ${number}, lane after lane`, async () => {
    const made = await plaintexts(plan, separatePools(plan), slots, answersOf(person), nothing, null)
    assert.deepEqual(made.map(toHex), person.plaintexts)
  })

  test(`the upload of person ${number}, given the ephemeral keys`, async () => {
    const pairs = await Promise.all(person.ephemerals.map((secret) => pairOf(fromHex(secret))))
    const fixed = mock.method(crypto.subtle, "generateKey", async () => pairs.shift())
    const made = await sealAnswers(survey, answersOf(person), { stratum: survey.bundle.strata[person.stratum] })
    fixed.mock.restore()
    assert.equal(toHex(made), person.upload)
    assert.equal(made.length, uploadBytes(survey.bundle))
  })
}

test("no piece of the example is invented", async () => {
  const shown = await drawExample(survey, answersOf(given.people[0]))
  assert.deepEqual(shown.map((reports) => reports.length), [1, 1, 2, 3])
  assert.ok(shown.flat(2).every(({ invented }) => invented === false))
})

for (const [why, change] of Object.entries(given.wrong_bundles))
  test(`a bundle is refused: ${why}`, async () => {
    const text = canonical({ ...JSON.parse(given.bundle), ...change })
    const digest = createHash("sha256").update(text).digest("hex")
    await assert.rejects(readBundle(encoded(text), digest), { code: "bundle-refused", message: new RegExp(`${Object.keys(change)[0]} `) })
  })
