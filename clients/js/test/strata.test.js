import assert from "node:assert/strict"
import { test } from "node:test"

import { strataOf, stratumOf } from "../lib/strata.js"
import { typed, vectors } from "./vectors.js"

const planOf = ({ questions }) => ({
  survey: { question: questions.map((question) => ({ optional: false, randomizer: null, ...question })) },
})

test("strata are named, and picked by the open answers, as in the vectors", () => {
  for (const survey of vectors("strata").surveys) {
    const plan = planOf(survey)
    if (survey.strata.length) assert.deepEqual(strataOf(plan), survey.strata)
    for (const { answers, stratum } of survey.people) {
      const given = Object.fromEntries(
        survey.questions.filter(({ open }) => open).map((question) => [question.id, typed(question, answers[question.id])]),
      )
      assert.equal(stratumOf(plan, given), survey.strata[stratum])
      assert.throws(() => stratumOf(plan, given, "another"), { code: "stratum" })
    }
  }
})

test("without open questions the stratum is the one that is named", () => {
  const plan = planOf(vectors("strata").surveys[0])
  assert.equal(stratumOf(plan, {}, "north"), "north")
  assert.equal(stratumOf(plan, {}), undefined)
})

test("an open question has to be answered", () => {
  assert.throws(() => stratumOf(planOf(vectors("strata").surveys[1]), {}), { code: "answer" })
})
