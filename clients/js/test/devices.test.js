import assert from "node:assert/strict"
import { test } from "node:test"

import { readBundle, uploadBytes } from "../lib/bundle.js"
import { fromHex, sha256, toHex, utf8 } from "../lib/bytes.js"
import { canonical } from "../lib/canonical.js"
import { channelOf } from "../lib/channels.js"
import { normalize } from "../lib/characters.js"
import { sealAnswers } from "../lib/client.js"
import { twelveDigits } from "../lib/digits.js"
import { encode } from "../lib/encode.js"
import { hmacKey, permanentBits, seriesOf } from "../lib/permanent.js"
import { checkPlan, questionsOf } from "../lib/plan.js"
import { bitsOf } from "../lib/questions.js"
import { packed, reportsOf } from "../lib/reports.js"
import { placesOfWord } from "../lib/words.js"
import { drawFrom, typed, vectors } from "./vectors.js"

const { plan } = vectors("devices-plan")
const given = vectors("devices")
const questionOf = (id) => plan.survey.question.find((question) => question.id === id)
const lawOf = ({ flip, stages, keep }) => (flip ? { flip } : keep ? { keep } : { stages })
const key = await hmacKey(fromHex(given.key))

test("the plan of the devices is taken", () => checkPlan(plan))

for (const [id, law] of Object.entries(given.laws))
  test(`the law of question ${id}`, () => {
    const question = questionOf(id)
    assert.deepEqual(lawOf(channelOf(question.randomizer, bitsOf(question), id)), law)
  })

for (const { randomizer, law } of given.randomizers)
  test(`the law of ${JSON.stringify(randomizer)}`, () =>
    assert.deepEqual(lawOf(channelOf(randomizer, randomizer.kind === "k-ary" ? 4 : 1, "q")), law))

for (const randomizer of [...given.no_randomizers, { kind: "toString" }, { kind: "bit flip", noise: null }])
  test(`no randomizer: ${JSON.stringify(randomizer)}`, () =>
    assert.throws(() => channelOf(randomizer, randomizer.kind === "k-ary" ? 4 : 1, "q"), { code: "bundle-refused" }))

for (const { question, answer } of given.no_answers)
  test(`no answer to a ${question.type}: ${JSON.stringify(answer)}`, () =>
    assert.throws(() => encode(question, typed(question, answer)), { code: "answer" }))

for (const { question, word, normalized, cohort, places } of given.words)
  test(`the places of ${JSON.stringify(word)} in cohort ${cohort}`, async () => {
    assert.equal(normalize(word), normalized)
    assert.deepEqual(await placesOfWord(questionOf(question), cohort, normalized), places)
  })

test("numbers with twelve digits, as in the names of bins", () => {
  assert.equal(twelveDigits(-0), "0")
  const cases = {
    0: 0, "-2.5": -2.5, 1: 1, "1e+21": 1e21, "1.23456789012e-05": 0.000012345678901234, 0.0001: 0.0001,
    999999999999: 999999999999, "1e+12": 1e12, 1234567890.12: 1234567890.125, 1234567890.38: 1234567890.375, 0.3: 0.1 + 0.2,
    100: 99.9999999999999, "1e-07": 1e-7, "5e-324": 5e-324,
  }
  for (const [text, number] of Object.entries(cases)) assert.equal(twelveDigits(number), text === "5e-324" ? "4.94065645841e-324" : text)
})

given.people.forEach(({ answers, messages }, number) =>
  test(`person ${number}: same words, same reports`, async () => {
    const encoded = new Map(plan.survey.question.map((q) => [q.id, encode(q, typed(q, answers[q.id]))]))
    for (const [i, message] of plan.messages.entries()) {
      const source = drawFrom(messages[i].words)
      const reports = await reportsOf(plan, message, encoded, source.draw, key)
      assert.deepEqual(reports.map(toHex), messages[i].reports)
      assert.equal(source.left(), 0)
    }
  }),
)

given.permanent.forEach(({ series, record, kept }, number) =>
  test(`the permanent responses of person ${number}`, async () => {
    const message = plan.messages.at(-1)
    const bytes = fromHex(record)
    let at = 0
    const found = []
    for (const [i, question] of questionsOf(plan, message).entries()) {
      const { flip } = channelOf(question.randomizer, bitsOf(question), question.id).permanent
      assert.equal(seriesOf(plan, message, flip), series[i])
      const bits = Array.from({ length: bitsOf(question) }, () => ((bytes[at >> 3] >> (at++ & 7)) & 1) === 1)
      found.push(...(await permanentBits(key, series[i], question, bits, flip)))
    }
    assert.equal(toHex(packed(found)), kept)
  }),
)

test("a survey with permanent responses is answered with a store for the key, and not without", async () => {
  const questions = Object.fromEntries(plan.survey.question.map(({ id }) => [id, id]))
  const bundle = JSON.parse(vectors("bundles").right[0].text)
  const wording = { ...bundle.wording, questions }
  const plan_digest = toHex(await sha256(utf8(canonical(plan))))
  const changes = { plan, plan_digest, wording, slots: [7], colluding: 0 }
  const text = utf8(canonical({ ...bundle, ...changes }))
  const survey = await readBundle(text, toHex(await sha256(text)))
  const answers = Object.fromEntries(plan.survey.question.map((q) => [q.id, typed(q, given.people[0].answers[q.id])]))
  const code = "0".repeat(16)
  await assert.rejects(sealAnswers(survey, answers, { code }), { code: "key" })
  const upload = await sealAnswers(survey, answers, { code, keyStore: async () => fromHex(given.key) })
  assert.equal(upload.length, uploadBytes(survey.bundle))
})
