import assert from "node:assert/strict"
import { test } from "node:test"

import { toHex } from "../lib/bytes.js"
import { record } from "../lib/encode.js"
import { bernoulli } from "../lib/flip.js"
import { questionsOf } from "../lib/plan.js"
import { padded, reportsOf } from "../lib/reports.js"
import { drawFrom, typed, vectors } from "./vectors.js"

const { plan } = vectors("plan")
const people = vectors("reports").people

const setBits = (places) => {
  const words = new Uint32Array(2 * Math.ceil((Math.max(-1, ...places) + 1) / 64))
  for (const at of places) words[at >>> 5] |= 1 << (at & 31)
  return words
}

people.forEach((person, number) =>
  test(`person ${number} of the vectors: same words, same reports`, () => {
    const answers = Object.fromEntries(plan.survey.question.map((q) => [q.id, typed(q, person.answers[q.id])]))
    const reports = plan.messages.map((message, i) => {
      const expected = person.messages[i]
      const bits = record(questionsOf(plan, message), answers)
      const source = drawFrom(expected.words ?? [])
      const flipped = expected.flipped
        ? setBits(expected.flipped)
        : bernoulli(bits.length * message.copies, message.noise_numerator, source.draw)
      const own = reportsOf(plan, message, bits, flipped)
      assert.deepEqual(own.map(toHex), expected.reports)
      assert.equal(source.left(), 0)
      return own
    })
    assert.deepEqual(padded(plan, [2, 1, 19], reports).map(toHex), person.plaintexts)
  }),
)
