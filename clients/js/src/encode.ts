import { rounded, type Rounding } from "./amounts.js"
import type { Plan } from "./plan.js"
import { answersOf, bitsOf, isHashed, typeOf, type Encoded, type Question } from "./questions.js"
import type { Draw } from "./random.js"
import { NO_ANSWER, wrong } from "./types/type.js"

/** An answer as its type encodes it (`types/`): a boolean, an option, a list of options, a number, or a word; null for none. */
export type Answer = boolean | string | number | readonly string[] | null | undefined

/** An answer for each question, by its id. */
export interface Answers {
  readonly [id: string]: Answer
}

/**
 * Encodes all answers of a person. Amounts are rounded at random, once for all messages, copies and draws. Nothing is
 * drawn if an answer does not fit.
 */
export function encodeAll({ survey }: Plan, answers: Answers, draw: Draw): Map<string, Encoded> {
  const encoded = survey.question.map((question) => [question.id, encode(question, answers[question.id])] as const)
  return new Map(encoded.map(([id, each]) => [id, isRounding(each) ? rounded(each, draw) : each]))
}

const isRounding = (each: Encoded | Rounding): each is Rounding => typeof each === "object" && "chance" in each

/** The bits that an answer sets. Throws an `IncrowdError` with the code "answer" if it does not fit the question. */
export function encode(question: Question, answer: Answer): Encoded | Rounding {
  if (answer === null || answer === undefined) return noAnswer(question)
  const encoded = typeOf(question).encode(question, answer)
  if (typeof encoded === "number") return setBits(question, encoded)
  if (typeof encoded === "string" || !("below" in encoded)) return encoded
  const { below, chance } = encoded
  return { down: setBits(question, below), up: setBits(question, below + 1), chance }
}

function noAnswer(question: Question): Encoded | Rounding {
  if (!question.optional) return wrong(question, "it is missing, and the question is not optional")
  if (isHashed(question)) return NO_ANSWER
  const last = [answersOf(question).length - 1]
  return typeOf(question).rounded ? { down: last, up: last, chance: 0 } : last
}

/** The bit of an answer; if two answers share one bit, the second one sets it. */
const setBits = (question: Question, answer: number): number[] =>
  bitsOf(question) > 1 ? [answer] : answer ? [0] : []

/** The bits of a question in a record. cohort: the hash functions of a word. */
export async function bitsFor(question: Question, encoded: Encoded, cohort: number): Promise<boolean[]> {
  const places = typeof encoded === "string" ? await typeOf(question).hashed!.places(question, encoded, cohort) : encoded
  const bits = new Array<boolean>(bitsOf(question)).fill(false)
  for (const place of places) bits[place] = true
  return bits
}
