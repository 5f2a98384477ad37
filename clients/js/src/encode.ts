import { IncrowdError } from "./errors.js"
import { bitsOf, type Question } from "./plan.js"

/** An answer: yesno a boolean, choice an option, multi some options, number a number, text a word; null: none. */
export type Answer = boolean | string | number | readonly string[] | null | undefined

export interface Answers {
  readonly [id: string]: Answer
}

/** The bits of a person's answers to the questions of one message, in their order. */
export const record = (questions: readonly Question[], answers: Answers): boolean[] =>
  questions.flatMap((question) => bits(question, answers[question.id]))

function bits(question: Question, answer: Answer): boolean[] {
  const all = bitsOf(question)
  const places = missing(answer) ? [noAnswer(question, all)] : placesOf(question, answer)
  return Array.from({ length: all }, (_, i) => places.includes(i))
}

const missing = (answer: Answer): answer is null | undefined => answer === null || answer === undefined

function wrong(question: Question, hint: string): never {
  throw new IncrowdError("answer", `The answer to "${question.id}" does not fit: ${hint}.`, false, question.id)
}

function noAnswer(question: Question, bits: number): number {
  return question.optional ? bits - 1 : wrong(question, "it is missing, and the question is not optional")
}

/** Which bits an answer sets. */
function placesOf(question: Question, answer: NonNullable<Answer>): number[] {
  switch (question.type) {
    case "yesno":
      if (typeof answer !== "boolean") return wrong(question, "use true or false")
      return question.optional ? [answer ? 1 : 0] : answer ? [0] : []
    case "choice":
      return [place(question, question.options, answer)]
    case "multi":
      return someOf(question, answer)
    case "number":
      return [bin(question, answer)]
    default:
      return wrong(question, "this client does not know questions of this type")
  }
}

function place(question: Question, options: readonly string[], answer: unknown): number {
  const at = options.indexOf(answer as string)
  return at >= 0 ? at : wrong(question, `${JSON.stringify(answer)} is not among its options`)
}

function someOf(question: Question & { type: "multi" }, answer: unknown): number[] {
  if (!Array.isArray(answer)) return wrong(question, "use a list of options, empty for none")
  const places = [...new Set(answer.map((option) => place(question, question.options, option)))]
  return places.length <= question.at_most ? places : wrong(question, `choose at most ${question.at_most}`)
}

function bin(question: Question & { type: "number" }, answer: unknown): number {
  if (typeof answer !== "number" || !Number.isFinite(answer)) return wrong(question, "use a number")
  const above = question.edges.filter((edge) => edge <= answer).length
  return above > 0 ? above - 1 : wrong(question, `it is below ${question.edges[0]}`)
}
