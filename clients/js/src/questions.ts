import { channelOf, type Randomizer } from "./channels.js"
import { refuse } from "./errors.js"

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
 * oneBit: whether two answers share one bit, which the second one sets. open: whether it can be open. several: whether one
 * person can give several answers. wrong: why this client refuses the question.
 */
interface Kind<Q> {
  readonly answers: (question: Q) => readonly string[]
  readonly oneBit?: boolean
  readonly open?: boolean
  readonly several?: (question: Q) => boolean
  readonly wrong?: (question: Q) => string | false
}

const kinds: { readonly [T in Question["type"]]: Kind<Extract<Question, { type: T }>> } = {
  yesno: { answers: () => ["no", "yes"], oneBit: true, open: true },
  choice: { answers: ({ options }) => options, open: true },
  multi: { answers: ({ options }) => options, several: ({ at_most: most }) => most > 1 },
  number: { answers: ({ edges }) => bins(edges.map(twelveDigits)) },
  amount: {
    answers: ({ edges }) => edges.map(twelveDigits),
    oneBit: true,
    wrong: (question) =>
      !(areEdges(question.edges) && !isMemoized(question)) &&
      `the amount "${question.id}" has no rising edges, or is memoized, so that every round would reveal another edge`,
  },
  text: { answers: () => [] },
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

/** Refuses a question that this client does not support. */
export function checkQuestion(question: Question): void {
  const { type, id, open } = question
  if (!Object.hasOwn(kinds, type) || (open && !kindOf(question).open))
    refuse(`question "${id}" is of type "${type}", which this client does not support`)
  const wrong = kindOf(question).wrong?.(question)
  if (wrong) refuse(wrong)
  if (question.randomizer) channelOf(question.randomizer, bitsOf(question), id)
}

/** Whether there are at least two rising edges, with finite differences, that differ in their first twelve digits. */
const areEdges = (edges: readonly number[]): boolean =>
  edges.length > 1 &&
  edges.every((edge, i) => i === 0 || (edge > edges[i - 1] && edge - edges[i - 1] < Infinity)) &&
  new Set(edges.map(twelveDigits)).size === edges.length
