import assert from "node:assert/strict"
import { test } from "node:test"

import { stratumOf } from "../lib/strata.js"
import { typed, vectors } from "./vectors.js"

const planOf = ({ questions }) => ({
  survey: { question: questions.map((question) => ({ optional: false, randomizer: null, ...question })) },
})

test("the stratum is named by the open answers, as in the vectors", () => {
  for (const survey of vectors("strata").surveys) {
    const plan = planOf(survey)
    for (const { answers, stratum } of survey.people) {
      const given = Object.fromEntries(
        survey.questions.filter(({ open }) => open).map((question) => [question.id, typed(question, answers[question.id])]),
      )
      assert.equal(stratumOf(plan, given), survey.strata[stratum])
    }
  }
})

test("without open questions the answers name no stratum", () => {
  assert.equal(stratumOf(planOf(vectors("strata").surveys[0]), {}), "")
})

test("an open question has to be answered", () => {
  assert.throws(() => stratumOf(planOf(vectors("strata").surveys[1]), {}), { code: "answer" })
})
