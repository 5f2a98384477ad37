import { between, rounded, type Rounding } from "./amounts.js"
import { normalize } from "./characters.js"
import { IncrowdError } from "./errors.js"
import type { Plan } from "./plan.js"
import {
  answersOf, bitsOf, cohortBits, type Amount, type Encoded, type Multi, type NumberQuestion, type Question, type Text,
} from "./questions.js"
import type { Draw } from "./random.js"
import { placesOfWord } from "./words.js"

/** yesno: a boolean; choice: an option; multi: a list of options; number, amount: a number; text: a word; none: null. */
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
  return (encoders[question.type] as Encoder<Question>)(question, answer)
}

type Encoder<Q> = (question: Q, answer: Answer) => Encoded | Rounding

const encoders: { readonly [T in Question["type"]]: Encoder<Extract<Question, { type: T }>> } = {
  yesno: (question, answer) =>
    typeof answer === "boolean" ? setBits(question, answer ? 1 : 0) : wrong(question, "use true or false"),
  choice: (question, answer) => [place(question, question.options, answer)],
  multi: someOf,
  number: (question, answer) => [bin(question, answer)],
  amount: rounding,
  text: word,
}

function wrong(question: Question, hint: string): never {
  throw new IncrowdError("answer", `The answer to "${question.id}" does not fit: ${hint}.`, false, question.id)
}

function noAnswer(question: Question): Encoded | Rounding {
  if (!question.optional) return wrong(question, "it is missing, and the question is not optional")
  if (question.type === "text") return "no answer"
  const last = [answersOf(question).length - 1]
  return question.type === "amount" ? { down: last, up: last, chance: 0 } : last
}

/** The bit of an answer; if two answers share one bit, the second one sets it. */
const setBits = (question: Question, answer: number): number[] =>
  bitsOf(question) > 1 ? [answer] : answer ? [0] : []

function place(question: Question, options: readonly string[], answer: unknown): number {
  const at = options.indexOf(answer as string)
  return at >= 0 ? at : wrong(question, `${JSON.stringify(answer)} is not among its options`)
}

function someOf(question: Multi, answer: unknown): number[] {
  if (!Array.isArray(answer)) return wrong(question, "use a list of options, empty for none")
  const places = [...new Set(answer.map((option) => place(question, question.options, option)))]
  return places.length <= question.at_most ? places : wrong(question, `choose at most ${question.at_most}`)
}

function finite(question: Question, answer: unknown): number {
  return typeof answer === "number" && Number.isFinite(answer) ? answer : wrong(question, "use a number")
}

function bin(question: NumberQuestion, answer: unknown): number {
  const number = finite(question, answer)
  const notAbove = question.edges.filter((edge) => edge <= number).length
  return notAbove > 0 ? notAbove - 1 : wrong(question, `it is below ${question.edges[0]}`)
}

function rounding(question: Amount, answer: unknown): Rounding {
  const [below, chance] = between(question.edges, finite(question, answer))
  return { down: setBits(question, below), up: setBits(question, below + 1), chance }
}

function word(question: Text, answer: unknown): string {
  const text = typeof answer === "string" ? normalize(answer) : ""
  return text && !/\p{Surrogate}/u.test(text) ? text : wrong(question, "use a word")
}

/** The bits of a question in a record. cohort: the hash functions of a word. */
export async function bitsFor(question: Question, encoded: Encoded, cohort: number): Promise<boolean[]> {
  const places = typeof encoded === "string" ? await wordPlaces(question as Text, encoded, cohort) : encoded
  const bits = new Array<boolean>(bitsOf(question)).fill(false)
  for (const place of places) bits[place] = true
  return bits
}

/** The digits of the cohort, the lowest first, then one bit per block. */
async function wordPlaces(question: Text, word: string, cohort: number): Promise<number[]> {
  const digits = cohortBits(question)
  const places = await placesOfWord(question, cohort, word)
  const set = Array.from({ length: digits }, (_, i) => i).filter((i) => (cohort >> i) & 1)
  return [...set, ...places.map((place, block) => digits + block * question.block + place)]
}
