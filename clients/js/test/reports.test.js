import assert from "node:assert/strict"
import { test } from "node:test"

import { toHex } from "../lib/bytes.js"
import { encode } from "../lib/encode.js"
import { asReports, padded, reportsOf } from "../lib/reports.js"
import { drawFrom, typed, vectors } from "./vectors.js"

const { plan } = vectors("plan")
const people = vectors("reports").people

people.forEach((person, number) =>
  test(`person ${number} of the vectors: same words, same reports`, async () => {
    const encoded = new Map(plan.survey.question.map((q) => [q.id, encode(q, typed(q, person.answers[q.id]))]))
    const reports = await Promise.all(
      plan.messages.map(async (message, i) => {
        const { words, chosen, flipped, reports } = person.messages[i]
        const source = drawFrom(words ?? [])
        const own = flipped
          ? asReports(plan, message, chosen, flipped)
          : await reportsOf(plan, message, encoded, source.draw, null)
        assert.deepEqual(own.map(toHex), reports)
        assert.equal(source.left(), 0)
        return own
      }),
    )
    assert.deepEqual(padded(plan, [[0, 1, 2]], [22], reports).map(toHex), person.plaintexts)
  }),
)
