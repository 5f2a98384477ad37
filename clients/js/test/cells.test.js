import assert from "node:assert/strict"
import { test } from "node:test"

import { readBundle } from "../lib/bundle.js"
import { sha256, toHex, utf8 } from "../lib/bytes.js"
import { canonical } from "../lib/canonical.js"
import { cellCount, cellsOf, inParts, answersOfCell } from "../lib/cells.js"
import { encodeAll } from "../lib/encode.js"
import { drawExample } from "../lib/index.js"
import { checkPlan, questionsOf } from "../lib/plan.js"
import { asReports } from "../lib/reports.js"
import { typed, vectors } from "./vectors.js"

const { plan } = vectors("cells-plan")
const given = vectors("cells")
const typedOf = (answers) => Object.fromEntries(plan.survey.question.map((q) => [q.id, typed(q, answers[q.id])]))
const anyEdge = (words) => new Uint32Array(2 * words) // the amounts of the vectors are edges: nothing is rounded
const rising = (numbers) => [...numbers].sort((a, b) => a - b)

test("the plan of the cells is taken", () => checkPlan(plan))

given.people.forEach(({ answers, messages }, number) =>
  plan.messages.forEach((message, at) =>
    test(`person ${number}, message ${at}: the cells of the vectors, what they say, and what is sent`, () => {
      const { chosen, says, flipped, reports } = messages[at]
      const questions = questionsOf(plan, message)
      assert.equal(cellCount(questions, message.parities), given.counts[at])
      assert.deepEqual(rising(cellsOf(questions, encodeAll(plan, typedOf(answers), anyEdge), message.parities)), chosen)
      const said = chosen.map((cell) => answersOfCell(questions, cell, message.parities).map(({ question, answers }) => [question, answers[0]]))
      assert.deepEqual(said.map(Object.fromEntries), says)
      assert.deepEqual(asReports(plan, message, chosen, flipped).map(toHex), reports)
    }),
  ),
)

test("parts of cells are counted on, and the last is not whole", async () => {
  const asked = []
  const found = await inParts(2 ** 21 + 3, (first, size) => (asked.push([first, size]), [0, size - 1]))
  assert.deepEqual(asked, [[0, 2 ** 20], [2 ** 20, 2 ** 20], [2 ** 21, 3]])
  assert.deepEqual(found, [0, 2 ** 20 - 1, 2 ** 20, 2 ** 21 - 1, 2 ** 21, 2 ** 21 + 2])
})

/** The first bundle of the vectors, with a plan that is changed, and slots. */
async function read(change, slots = given.slots) {
  const bundle = JSON.parse(vectors("bundles").right[0].text)
  const changed = structuredClone(plan)
  change(changed)
  const questions = Object.fromEntries(plan.survey.question.map(({ id }) => [id, id]))
  const plan_digest = toHex(await sha256(utf8(canonical(changed))))
  const wording = { ...bundle.wording, questions }
  const text = utf8(canonical({ ...bundle, plan: changed, plan_digest, wording, slots, colluding: 0 }))
  return readBundle(text, toHex(await sha256(text)))
}

test("the slots of the vectors are taken, and no others", async () => {
  await read(() => {})
  for (const at of given.slots.keys())
    for (const more of [-1, 1]) {
      const slots = given.slots.map((each, i) => each + (i === at ? more : 0))
      await assert.rejects(read(() => {}, slots), { code: "bundle-refused", message: /slots/ })
    }
})

const question = (id, change) => (plan) => Object.assign(plan.survey.question.find((one) => one.id === id), change)
const message = (at, change) => (plan) => Object.assign(plan.messages[at], change)
for (const [why, change] of Object.entries({
  "with copies": message(0, { copies: 2 }),
  "without noise": message(0, { noise_numerator: null }),
  "of two questions that allow several answers": (plan) => (question("party", { at_most: 2 })(plan), message(5, { questions: ["party", "drugs"] })(plan)),
  "of a question with a randomizer of its own": question("smokes", { randomizer: { kind: "bit flip", noise: 0.1 } }),
  "of text": question("smokes", { type: "text", block: 16, hashes: 1, cohorts: 4 }),
  "of an open question": question("smokes", { open: true }),
  "of one question that is drawn once and one that is not": question("smokes", { memoized: true }),
  "that say whether three answers differ": message(9, { questions: ["insured", "hours", "region"] }),
  "that are pairs of one question": message(9, { questions: ["smokes"] }),
  "that are pairs in a joint report": message(9, { cells: false }),
  "that are more than 2^32": message(8, { questions: [...plan.messages[8].questions, "insured"] }),
}))
  test(`cells are refused ${why}`, async () => {
    await assert.rejects(read(change), { code: "bundle-refused", message: /message \d of the plan/ })
  })

test("the example tells invented pieces from one's own, and of a lone no there is none", async () => {
  const small = { ...plan, messages: plan.messages.slice(0, 4) }
  const draws = Array.from({ length: 200 }, () => drawExample({ bundle: { plan: small } }, typedOf(given.people[1].answers)))
  const drawn = await Promise.all(draws)
  const inWords = (said) => said.map(({ answers }) => answers[0]).join(" / ")
  const pieces = (at, by) => new Set(drawn.flatMap((messages) => messages[at]).filter(([said]) => said.invented === by).map(inWords))
  const own = (at) => pieces(at, false)
  const invented = (at) => pieces(at, true)
  assert.deepEqual([...own(0)], ["no / no answer"])
  assert.equal(invented(0).size, 7) // each is left out with chance 0.85^200
  assert.deepEqual([...own(1)], ["no answer / no"]) // whoever chose nothing is in a cell "any" alone
  assert.ok(invented(1).has("north / alcohol / yes") && invented(1).has("north / yes"))
  assert.deepEqual([[...own(2)], [...invented(2)]], [[], ["yes"]])
})
