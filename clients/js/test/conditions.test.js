import assert from "node:assert/strict"
import { test } from "node:test"

import { readBundle } from "../lib/bundle.js"
import { sha256, toHex, utf8 } from "../lib/bytes.js"
import { canonical } from "../lib/canonical.js"
import { cellsOf } from "../lib/cells.js"
import { bitsFor, encodeAll } from "../lib/encode.js"
import { askedQuestions } from "../lib/index.js"
import { checkPlan, questionsOf } from "../lib/plan.js"
import { asReports, packed, reportsOf } from "../lib/reports.js"
import { drawFrom, typed, vectors } from "./vectors.js"

const { plan } = vectors("conditions-plan")
const { people, refused } = vectors("conditions")
const anyEdge = (words) => new Uint32Array(2 * words) // the amounts of the vectors are edges: nothing is rounded
const typedOf = (answers) => Object.fromEntries(plan.survey.question.map((q) => [q.id, typed(q, answers[q.id] ?? null)]))
const askedBy = (answers) => askedQuestions({ bundle: { plan } }, typedOf(answers))

test("the plan of the conditions is taken", () => checkPlan(plan))

test("paragraphs are allowed in the texts of parts, and not in their titles", async () => {
  const bundle = JSON.parse(vectors("bundles").right[0].text)
  const wording = { ...bundle.wording, questions: Object.fromEntries(plan.survey.question.map(({ id }) => [id, id])) }
  const { slots } = vectors("plans").slots.find(({ plan, mixers }) => plan === "conditions-plan" && mixers === 1)
  const read = async (plan) => {
    const plan_digest = toHex(await sha256(utf8(canonical(plan))))
    const text = utf8(canonical({ ...bundle, plan, plan_digest, wording, slots, colluding: 0 }))
    return readBundle(text, toHex(await sha256(text)))
  }
  assert.ok(/\n/.test(plan.survey.page.consent) && /\n/.test(plan.survey.section[0].text) && /\n/.test(plan.survey.matrix[0].text))
  await read(plan)
  const wrong = structuredClone(plan)
  wrong.survey.section[0].title += "\n"
  await assert.rejects(read(wrong), { code: "bundle-refused", message: /section.0.title/ })
})

people.forEach(({ answers, asked, messages }, number) =>
  test(`person ${number}: who is asked what, and the same reports`, async () => {
    assert.deepEqual(askedBy(answers), asked)
    const encoded = encodeAll(plan, typedOf(answers), anyEdge)
    for (const [i, message] of plan.messages.entries()) {
      const { chosen, flipped, record, reports, words } = messages[i]
      const questions = questionsOf(plan, message)
      if (message.cells) {
        assert.deepEqual(cellsOf(questions, encoded).sort((a, b) => a - b), chosen)
        assert.deepEqual(asReports(plan, message, chosen, flipped).map(toHex), reports)
        continue
      }
      const source = drawFrom(words)
      assert.deepEqual((await reportsOf(plan, message, encoded, source.draw, null)).map(toHex), reports)
      assert.equal(source.left(), 0)
      const bits = questions.map((question) => bitsFor(question, encoded.get(question.id), 0))
      if (record) assert.equal(toHex(packed((await Promise.all(bits)).flat())), record)
    }
  }),
)

test("questions appear as answers are given, and go with them", () => {
  assert.deepEqual(askedBy({}), ["smokes", "age", "drinks", "quit", "region", "calm", "tired"])
  assert.deepEqual(askedBy({ smokes: "yes" }).slice(3), ["daily", "deep", "calm", "tired"])
  assert.deepEqual(askedBy({ smokes: "yes", daily: "yes", age: -1 }).slice(3), ["daily", "brand", "retired", "deep", "calm", "tired"])
})

test("a missing answer is refused, and one to a question that is not asked", () => {
  assert.throws(() => encodeAll(plan, typedOf(refused), anyEdge), { code: "answer", question: "region" })
  const [{ answers }] = people
  for (const more of [{ quit: 1 }, { quit: "never" }, { retired: "no" }])
    assert.throws(() => encodeAll(plan, { ...typedOf(answers), ...more }, anyEdge), { code: "answer", question: Object.keys(more)[0] })
})
