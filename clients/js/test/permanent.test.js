import assert from "node:assert/strict"
import { test } from "node:test"

import { fromHex, toHex } from "../lib/bytes.js"
import { cellsOf } from "../lib/cells.js"
import { encode } from "../lib/encode.js"
import { hmacKey, permanentBits, permanentNoise, seriesOf } from "../lib/permanent.js"
import { checkPlan, questionsOf } from "../lib/plan.js"
import { bitsOf } from "../lib/questions.js"
import { systemWords } from "../lib/random.js"
import { packed, plaintexts, reportsOf } from "../lib/reports.js"
import { sharedPools } from "../lib/slots.js"
import { drawFrom, typed, vectors } from "./vectors.js"

const { plan } = vectors("permanent-plan")
const given = vectors("permanent")
const key = await hmacKey(fromHex(given.key))
const answered = (answers) => plan.survey.question.map((q) => [q.id, typed(q, answers[q.id])])
const encodedBy = (answers) => new Map(answered(answers).map(([id, answer], i) => [id, encode(plan.survey.question[i], answer)]))

test("a plan whose own noise is drawn once is taken", () => checkPlan(plan))

const changed = (question, message) => {
  const wrong = structuredClone(plan)
  Object.assign(wrong.survey.question[1], question)
  Object.assign(wrong.messages[1], message)
  return wrong
}

for (const [why, wrong] of Object.entries({
  "with copies, which would all be the same": changed({}, { copies: 2 }),
  "with a randomizer of its own": changed({ randomizer: { kind: "bit flip", noise: 0.1 } }, {}),
  "of text, whose cohort is another one in every round": changed({ type: "text", block: 16, hashes: 1, cohorts: 4 }, {}),
  "beside a question that is drawn again": changed({ memoized: false }, {}),
}))
  test(`noise that is drawn once is refused ${why}`, () => assert.throws(() => checkPlan(wrong), { code: "bundle-refused" }))

given.people.forEach(({ answers, messages }, number) =>
  plan.messages.forEach((message, at) => {
    const { series, record, kept, words, reports, draws, chosen } = messages[at]
    if (message.cells)
      test(`message ${at} of person ${number}: the first draw that has room`, async () => {
        assert.deepEqual(cellsOf(questionsOf(plan, message), encodedBy(answers), message.parities).sort((a, b) => a - b), chosen)
        assert.equal(seriesOf(plan, message, message.noise_numerator), series)
        for (const { slots, reports } of draws)
          assert.deepEqual((await reportsOf(plan, message, encodedBy(answers), () => assert.fail(), key, slots)).map(toHex), reports)
      })
    else
      test(`message ${at} of person ${number}: same words, same reports`, async () => {
        const source = drawFrom(words)
        assert.deepEqual((await reportsOf(plan, message, encodedBy(answers), source.draw, key)).map(toHex), reports)
        assert.equal(source.left(), 0)
        const bytes = fromHex(record)
        let place = 0
        const found = []
        for (const question of questionsOf(plan, message)) {
          const bits = Array.from({ length: bitsOf(question) }, () => ((bytes[place >> 3] >> (place++ & 7)) & 1) === 1)
          if (question.id in series) assert.equal(seriesOf(plan, message, permanentNoise(message, question)), series[question.id])
          const own = question.id in series
          found.push(...(own ? await permanentBits(key, series[question.id], question, bits, permanentNoise(message, question)) : bits))
        }
        assert.equal(toHex(packed(found)), kept)
      })
  }),
)

test("what is drawn once stands in two uploads, and what is not does not", async () => {
  const answers = Object.fromEntries(answered(given.people[0].answers))
  const uploads = await Promise.all([1, 2].map(() => plaintexts(plan, sharedPools(plan), given.slots, answers, systemWords, key)))
  const [one, other] = uploads.map((upload) => upload.filter((text) => text[2] >= 2 && text[1] === 0).map(toHex))
  assert.ok(one.length > 2)
  assert.deepEqual(one, other)
  const elsewhere = await plaintexts(plan, sharedPools(plan), given.slots, answers, systemWords, await hmacKey(new Uint8Array(32)))
  assert.notDeepEqual(elsewhere.filter((text) => text[2] >= 2 && text[1] === 0).map(toHex), one)
})

test("50,000 cells that are drawn once take no second", async () => {
  const options = Array.from({ length: 50000 }, (_, i) => `o${i}`)
  const question = { id: "q", type: "choice", options, optional: false, randomizer: null, memoized: true }
  const message = { questions: ["q"], cells: true, copies: 1, noise_numerator: 2 ** 25 }
  const wide = { survey: { name: "wide", question: [question] }, messages: [message] }
  const begun = performance.now()
  const reports = await reportsOf(wide, message, new Map([["q", [49999]]]), () => assert.fail(), key)
  assert.ok(performance.now() - begun < 1000)
  assert.ok(Math.abs(reports.length - 50000 / 128) < 120) // six standard errors
})
