import { channelOf, type Randomizer } from "./channels.js"
import { isTrimmed } from "./characters.js"
import { refuse } from "./errors.js"
import { areDifferent, isCount } from "./shapes.js"

/** A text, or texts by the tags of their languages. */
export type Words = string | { readonly [language: string]: string }

interface Common {
  readonly id: string
  readonly optional: boolean
  readonly randomizer: Randomizer | null
  /** Whether the noise of the plan is drawn once for each device and answer, and repeated in every round. */
  readonly memoized?: boolean
  /** Whether the answer is sent in the clear: it determines the person's stratum, and is in no message. */
  readonly open?: boolean
  /** The wording that people read, if the survey has one; labels by answer. */
  readonly text?: Words
  readonly help?: Words
  readonly labels?: { readonly [answer: string]: Words }
}

export type YesNo = Common & { readonly type: "yesno" }
export type Choice = Common & { readonly type: "choice"; readonly options: readonly string[] }
export type Multi = Common & { readonly type: "multi"; readonly options: readonly string[]; readonly at_most: number }
export type NumberQuestion = Common & { readonly type: "number"; readonly edges: readonly number[] }
export type Amount = Common & { readonly type: "amount"; readonly edges: readonly number[] }
export type Text = Common & {
  readonly type: "text"
  readonly block: number
  readonly hashes: number
  readonly cohorts: number
}
export type Question = YesNo | Choice | Multi | NumberQuestion | Amount | Text

/** The bits that an answer sets; for text, the word, whose bits depend on the cohort. */
export type Encoded = number[] | string

export const NO_ANSWER = "no answer"

/**
 * The properties of a type of question; `encode.ts` encodes its answers. answers: by name, in the order of their bits.
 * oneBit: whether two answers share one bit, which the second one sets. open: whether
 * it can be. several: whether one person can give several answers. fits: whether the values of its keys are allowed.
 */
interface Kind<Q> {
  readonly answers: (question: Q) => readonly string[]
  readonly oneBit?: boolean
  readonly open?: boolean
  readonly several?: (question: Q) => boolean
  readonly fits: (question: Q) => boolean
}

const kinds: { readonly [T in Question["type"]]: Kind<Extract<Question, { type: T }>> } = {
  yesno: { answers: () => ["no", "yes"], oneBit: true, open: true, fits: () => true },
  choice: { answers: ({ options }) => options, open: true, fits: ({ options }) => areOptions(options) },
  multi: {
    answers: ({ options }) => options,
    several: ({ at_most: most }) => most > 1,
    fits: ({ options, at_most: most, randomizer }) =>
      areOptions(options) &&
      !options.some((option) => /^none$|;/.test(option)) &&
      isCount(most, 1, options.length) &&
      randomizer?.kind !== "k-ary",
  },
  number: { answers: ({ edges }) => bins(edges.map(twelveDigits)), fits: ({ edges }) => areEdges(edges) },
  amount: {
    answers: ({ edges }) => edges.map(twelveDigits),
    oneBit: true,
    fits: ({ edges }) => areEdges(edges) && areApart(edges),
  },
  text: {
    answers: () => [],
    fits: ({ block, cohorts, hashes, randomizer }) =>
      isCount(hashes, 1, 8) && isPower(block, 2, 1024) && isPower(cohorts, 1, 4096) && (randomizer === null || randomizer.kind === "bit flip"),
  },
}

const kindOf = (question: Question): Kind<Question> => kinds[question.type] as Kind<Question>

/** The answers to a question, in the order of their bits; none for a text question. */
export const answersOf = (question: Question): string[] => [
  ...kindOf(question).answers(question),
  ...(question.optional && question.type !== "text" ? [NO_ANSWER] : []),
]

/** Whether one person can give several answers at once. */
export const allowsSeveral = (question: Question): question is Multi => kindOf(question).several?.(question) ?? false

const bins = (edges: string[]): string[] =>
  edges.map((edge, i) => (i + 1 < edges.length ? `${edge} to <${edges[i + 1]}` : `${edge} or more`))

/** A number with 12 significant digits and without trailing zeros, as in C's `%.12g`. */
export function twelveDigits(number: number): string {
  const [digits, exponent] = toEven(number).split("e")
  const power = Number(exponent)
  if (power < -4 || power >= 12) {
    const two = String(Math.abs(power)).padStart(2, "0")
    return `${withoutZeros(digits)}e${power < 0 ? "-" : "+"}${two}`
  }
  return withoutZeros(Number(toEven(number)).toFixed(11 - power))
}

/** Twelve digits, ties to even (ECMAScript rounds ties up). */
function toEven(number: number): string {
  const exact = number.toExponential(60).replace(/e.*/, "").replace(/0+$/, "")
  const halfway = exact.replace(/[-.]/g, "").length === 13 && exact.endsWith("5")
  if (!halfway || "13579".includes(exact.at(-2)!)) return number.toExponential(11)
  return exact.slice(0, -1) + number.toExponential(60).replace(/.*e/, "e")
}

const withoutZeros = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text)

/** The number of bits, sent without noise, for the cohort that the device drew. */
export const cohortBits = (question: Question): number => (question.type === "text" ? 31 - Math.clz32(question.cohorts) : 0)

/** The bits of a question in a record. */
export function bitsOf(question: Question): number {
  if (question.type === "text") return cohortBits(question) + question.hashes * question.block
  const answers = answersOf(question).length
  return answers === 2 && kindOf(question).oneBit ? 1 : answers
}

export const isMemoized = (question: Question): boolean => Boolean(question.memoized || question.randomizer?.memoized)

/** Refuses a question that does not follow the protocol. */
export function checkQuestion(question: Question): void {
  const { type, id, optional, open, memoized, randomizer } = question
  const kind = Object.hasOwn(kinds, type) && kindOf(question)
  const shaped = isTrimmed(id) && !id.includes(",") && typeof optional === "boolean" && randomizer !== undefined
  const marked = [open, memoized].every((mark) => mark === undefined || mark === true) && !((open || memoized) && randomizer)
  const able = kind && (!open || (kind.open && !memoized)) && !(isMemoized(question) && /^(amount|text)$/.test(type))
  if (!shaped || !marked || !able || !kind.fits(question)) refuse(`question "${id}" does not follow the protocol`)
  if (randomizer) channelOf(randomizer, bitsOf(question), id)
}

const isPower = (value: number, least: number, most: number): boolean => isCount(value, least, most) && Number.isInteger(Math.log2(value))

const areOptions = (options: readonly string[]): boolean =>
  options.length > 1 && options.every(isTrimmed) && areDifferent(options) && !options.includes(NO_ANSWER)

/** Whether there are at least two finite edges that rise. */
const areEdges = (edges: readonly number[]): boolean =>
  edges.length > 1 && edges.every((edge, i) => Number.isFinite(edge) && (i === 0 || edge > edges[i - 1]))

/** Whether edges have finite differences, and differ in their first twelve digits. */
const areApart = (edges: readonly number[]): boolean =>
  edges.every((edge, i) => i === 0 || edge - edges[i - 1] < Infinity) && areDifferent(edges.map(twelveDigits))
