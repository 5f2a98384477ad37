import { channelOf } from "./channels.js"
import { isTrimmed } from "./characters.js"
import { refuse } from "./errors.js"
import { types, type Question } from "./types/all.js"
import { NO_ANSWER, NOT_ASKED, type QuestionType } from "./types/type.js"

export type { Question }

/** The bits that an answer sets; of a word, its text, since its bits depend on the cohort. */
export type Encoded = number[] | string

export const typeOf = ({ type }: Question): QuestionType<Question> => types[type] as QuestionType<Question>

/** The answers to a question, in the order of their bits; none for words. */
export const answersOf = (question: Question): string[] => [
  ...typeOf(question).answers(question),
  ...(question.optional && !isHashed(question) ? [NO_ANSWER] : []),
  ...(question.asked_if && !isHashed(question) ? [NOT_ASKED] : []),
]

/** Whether answers are words that are not listed. */
export const isHashed = (question: Question): boolean => typeOf(question).hashed !== undefined

/** The most answers that one person can give at once. */
export const mostAnswers = (question: Question): number => typeOf(question).most?.(question) ?? 1

/** Whether one person can give several answers at once. */
export const allowsSeveral = (question: Question): boolean => mostAnswers(question) > 1

/** The number of bits, sent without noise, for the cohort that the device drew. */
export const cohortBits = (question: Question): number => typeOf(question).hashed?.cohortBits(question) ?? 0

/** The bits of a question in a record. */
export function bitsOf(question: Question): number {
  const { hashed, oneBit } = typeOf(question)
  const answers = answersOf(question).length
  return hashed?.bits(question) ?? (answers === 2 && oneBit ? 1 : answers)
}

export const isMemoized = (question: Question): boolean => Boolean(question.memoized || question.randomizer?.memoized)

/** Refuses a question that does not follow the protocol, apart from its condition. */
export function checkQuestion(question: Question): void {
  const { type, id, optional, open, memoized, randomizer } = question
  const known = Object.hasOwn(types, type) && typeOf(question)
  const shaped = isTrimmed(id) && !id.includes(",") && typeof optional === "boolean" && randomizer !== undefined
  const marked = [open, memoized].every((mark) => mark === undefined || mark === true) && !((open || memoized) && randomizer)
  const able = known && (!open || (known.open && !memoized)) && (known.memoized || !isMemoized(question))
  if (!shaped || !marked || !able || !known.fits(question)) refuse(`question "${id}" does not follow the protocol`)
  if (randomizer) channelOf(randomizer, bitsOf(question), id)
}
