import assert from "node:assert/strict"
import { test } from "node:test"

import { between, rounded } from "../lib/amounts.js"
import { toHex } from "../lib/bytes.js"
import { bitsFor, encode, encodeAll } from "../lib/encode.js"
import { drawExample } from "../lib/index.js"
import { checkPlan } from "../lib/plan.js"
import { systemWords } from "../lib/random.js"
import { packed } from "../lib/reports.js"
import { drawFrom, vectors } from "./vectors.js"

const { right, no_edges } = vectors("devices").amounts
const HOURS = { id: "q", type: "amount", edges: [0, 20, 40, 80], optional: false, randomizer: null }
const SURVEY = { copies: 1, message: [], objective: "largest", privacy: {}, reports_per_person: null, rows_per_person: 1, table: [] }
const planOf = (...question) => ({
  format: "incrowd plan 1",
  earlier: [],
  guarantee: { epsilon: 1, delta: 1e-6, analysis: "shuffle", crowd: 100 },
  survey: { ...SURVEY, name: "Hours", crowd: 500, colluding: 0, question },
  messages: question.map(({ id }) => ({ questions: [id], cells: false, copies: 1, noise_numerator: 1 })),
})

/** What an answer becomes, by these words. */
const drawn = (question, answer, draw) => encodeAll(planOf(question), { [question.id]: answer }, draw).get(question.id)

for (const { edges, optional, answer, chance, drawn: cases } of right)
  test(`${answer} between ${edges}${optional ? ", optional" : ""}: the records of the vectors`, async () => {
    const question = { ...HOURS, edges, optional }
    if (answer !== null) assert.equal(between(edges, answer)[1], chance)
    for (const { word, record } of cases) {
      const source = drawFrom([word])
      const places = drawn(question, answer, source.draw)
      assert.equal(toHex(packed(await bitsFor(question, places, 0))), record)
      assert.equal(source.left(), 0)
    }
  })

// Rounding keeps the mean: 20,000 times each, within 5.5 standard errors or, where nothing is drawn, exactly. False
// alarms: 5.1e-7, the tails of the nine binomial laws together.
const TIMES = 20000
const NUMBERS = [0.4, 3, 10, 19.6, 20.2, 25, 39, 41, 70]
const EXACT = [[0, 0], [20, 20], [40, 40], [80, 80], [-5, 0], [81, 80], [1e300, 80]]

/** How many standard errors the mean of many draws is from the number. way: gives what draws its place. */
function distance(number, way) {
  const edges = HOURS.edges
  const [below, chance] = between(edges, number)
  const draw = way(number)
  const made = Array.from({ length: TIMES }, () => edges[draw()])
  const mean = made.reduce((sum, edge) => sum + edge, 0) / TIMES
  const share = chance / 2 ** 32
  return Math.abs(mean - number) / ((edges[below + 1] - edges[below]) * Math.sqrt((share * (1 - share)) / TIMES))
}

/** Words of the operating system, which is asked for many at a time. */
function manyWords() {
  let left = new Uint32Array(0)
  return (words) => {
    if (left.length < 2 * words) left = systemWords(8192)
    const taken = left.subarray(0, 2 * words)
    left = left.subarray(2 * words)
    return taken
  }
}

const words = manyWords()
const ours = (number) => {
  const rounding = encode(HOURS, number)
  return () => rounded(rounding, words)[0]
}
const nearest = (number) => {
  const away = HOURS.edges.map((edge) => Math.abs(edge - number))
  return () => away.indexOf(Math.min(...away))
}

test("the mean of a number between edges is kept; that of the nearest edge is another", () => {
  for (const number of NUMBERS) {
    assert.ok(distance(number, ours) < 5.5, `${number}`)
    assert.ok(distance(number, nearest) > 5.5, `${number}`)
  }
})

test("on an edge and outside of all nothing is left to chance", () => {
  for (const [number, edge] of EXACT) {
    const draw = ours(number)
    for (let times = 0; times < 1000; times++) assert.equal(HOURS.edges[draw()], edge)
  }
})

test("all answers are looked at before anything is drawn", () => {
  const never = () => assert.fail("something is drawn")
  const other = { ...HOURS, id: "other" }
  for (const answer of ["25", NaN, Infinity, true, null, undefined, [25]])
    assert.throws(() => encodeAll(planOf(HOURS, other), { q: 25, other: answer }, never), { code: "answer", question: "other" })
})

for (const edges of [...no_edges, [], [0, Infinity]])
  test(`no edges of an amount: ${edges}`, () => assert.throws(() => checkPlan(planOf({ ...HOURS, edges })), { code: "bundle-refused" }))

test("an amount is memoized in no survey, and open in none", () => {
  const memoized = { kind: "rappor", f: 0.5, memoized: true }
  checkPlan(planOf(HOURS))
  for (const wrong of [{ randomizer: memoized }, { memoized: true }, { open: true }])
    assert.throws(() => checkPlan(planOf({ ...HOURS, ...wrong })), { code: "bundle-refused" })
})

test("the example names edges, and rounds anew every time", async () => {
  const survey = { bundle: { plan: planOf(HOURS, { ...HOURS, id: "two", edges: [0, 1.5] }) } }
  const shown = await Promise.all(Array.from({ length: 100 }, () => drawExample(survey, { q: 30, two: 0.75 })))
  const said = (at) => [...new Set(shown.map((messages) => messages[at][0][0].answers.join()))].sort()
  assert.deepEqual([said(0), said(1)], [["20", "40"], ["0", "1.5"]]) // 100 times one side: 2^-98; noise: 1e-7
})
