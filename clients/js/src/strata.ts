import { encode, type Answers } from "./encode.js"
import type { Plan } from "./plan.js"
import { answersOf, bitsOf } from "./questions.js"

/**
 * The name of a person's stratum, from the answers to open questions (docs/protocol.md, "Strata"); empty if there are
 * none. A plain "no" sets no bit.
 */
export const stratumOf = ({ survey }: Plan, answers: Answers): string =>
  survey.question
    .filter(({ open }) => open)
    .map((question) => {
      const places = encode(question, answers[question.id]) as number[]
      return answersOf(question)[bitsOf(question) === 1 ? places.length : places[0]]
    })
    .join(" / ")
