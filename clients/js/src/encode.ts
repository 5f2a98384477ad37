import { rounded, type Rounding } from "./amounts.js"
import { holds } from "./conditions.js"
import { IncrowdError } from "./errors.js"
import type { Survey } from "./parties.js"
import type { Plan } from "./plan.js"
import { answersOf, bitsOf, isHashed, typeOf, type Encoded, type Question } from "./questions.js"
import type { Draw } from "./random.js"
import { NO_ANSWER, NOT_ASKED, wrong } from "./types/type.js"

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
  const encoded = new Map<string, Encoded | Rounding>()
  const questions = byId(survey.question)
  for (const question of survey.question) {
    const asked = isAsked(question, questions, encoded)
    encoded.set(question.id, asked ? encode(question, answers[question.id]) : notAsked(question, answers[question.id]))
  }
  return new Map([...encoded].map(([id, each]) => [id, isRounding(each) ? rounded(each, draw) : each]))
}

const byId = (questions: readonly Question[]): Map<string, Question> => new Map(questions.map((each) => [each.id, each]))

const isAsked = ({ asked_if: condition }: Question, questions: ReadonlyMap<string, Question>, encoded: ReadonlyMap<string, unknown>): boolean =>
  !condition || holds(condition, questions, encoded)

/**
 * The ids of the questions that a person is asked, by her answers so far. An answer that does not fit its question counts
 * as none. Use it to show questions; `sealAnswers` needs answers to exactly these.
 */
export function askedQuestions({ bundle: { plan } }: Survey, answers: Answers): string[] {
  const questions = byId(plan.survey.question)
  const encoded = new Map<string, unknown>()
  const asked = plan.survey.question.filter((question) => {
    const included = isAsked(question, questions, encoded)
    try {
      encoded.set(question.id, included ? encode(question, answers[question.id]) : stateOf(question, NOT_ASKED))
    } catch (error) {
      if (!(error instanceof IncrowdError)) throw error
    }
    return included
  })
  return asked.map(({ id }) => id)
}

const isRounding = (each: Encoded | Rounding): each is Rounding => typeof each === "object" && "chance" in each

/** The bits that an answer sets. Throws an `IncrowdError` with the code "answer" if it does not fit the question. */
export function encode(question: Question, answer: Answer): Encoded | Rounding {
  if (answer === null || answer === undefined)
    return question.optional ? stateOf(question, NO_ANSWER) : wrong(question, "it is missing, and the question is not optional")
  const encoded = typeOf(question).encode(question, answer)
  if (typeof encoded === "number") return setBits(question, encoded)
  if (typeof encoded === "string" || !("below" in encoded)) return encoded
  const { below, chance } = encoded
  return { down: setBits(question, below), up: setBits(question, below + 1), chance }
}

const notAsked = (question: Question, answer: Answer): Encoded | Rounding =>
  answer === null || answer === undefined ? stateOf(question, NOT_ASKED) : wrong(question, "it is not asked after the answers to earlier questions")

/** A state of a person who gave no answer; of a text question it is a word. */
function stateOf(question: Question, state: string): Encoded | Rounding {
  if (isHashed(question)) return state
  const place = [answersOf(question).indexOf(state)]
  return typeOf(question).rounded ? { down: place, up: place, chance: 0 } : place
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
