import { channelOf } from "./channels.js"
import { refuse } from "./errors.js"

/** A text, or one for each language by its tag. */
export type Words = string | { readonly [language: string]: string }

interface Common {
  readonly id: string
  readonly optional: boolean
  readonly randomizer: Randomizer | null
  /** Whether the noise of the plan is drawn once for each device and answer, and repeated in every round. */
  readonly memoised?: boolean
  /** Whether the answer travels in clear: it makes the person's stratum, and stands in no message. */
  readonly open?: boolean
  /** What people read, where the survey says it; labels by the answers. */
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

/** A device with fixed probabilities, as a survey names it (docs/protocol.md, "Randomizers"). */
export interface Randomizer {
  readonly kind: string
  readonly memoised?: boolean
  readonly epsilon?: number | null
  readonly noise?: number | null
  readonly spinner?: number | null
  readonly unrelated?: number | null
  readonly prevalence?: number | null
  readonly f?: number | null
  readonly one_if_zero?: number | null
  readonly one_if_one?: number | null
  readonly keep?: number | null
}

export const NO_ANSWER = "no answer"

/** The answers that a question knows, in the order of their bits; of a text question none. */
export function answersOf(question: Question): string[] {
  const last = question.optional ? [NO_ANSWER] : []
  switch (question.type) {
    case "yesno":
      return ["no", "yes", ...last]
    case "choice":
    case "multi":
      return [...question.options, ...last]
    case "number":
      return [...bins(question.edges.map(twelveDigits)), ...last]
    case "amount":
      return [...question.edges.map(twelveDigits), ...last]
    default:
      return []
  }
}

const bins = (edges: string[]): string[] =>
  edges.map((edge, i) => (i + 1 < edges.length ? `${edge} to <${edges[i + 1]}` : `${edge} or more`))

/** A number with 12 significant digits, without zeros at the end, as C's `%.12g` writes it. */
export function twelveDigits(number: number): string {
  const [digits, exponent] = toEven(number).split("e")
  const power = Number(exponent)
  if (power < -4 || power >= 12) {
    const two = String(Math.abs(power)).padStart(2, "0")
    return `${withoutZeros(digits)}e${power < 0 ? "-" : "+"}${two}`
  }
  return withoutZeros(Number(toEven(number)).toFixed(11 - power))
}

/** Twelve digits; halfway between two, the even one is taken (ECMAScript takes the larger). */
function toEven(number: number): string {
  const exact = number.toExponential(60).replace(/e.*/, "").replace(/0+$/, "")
  const halfway = exact.replace(/[-.]/g, "").length === 13 && exact.endsWith("5")
  if (!halfway || "13579".includes(exact.at(-2)!)) return number.toExponential(11)
  return exact.slice(0, -1) + number.toExponential(60).replace(/.*e/, "e")
}

const withoutZeros = (text: string): string => (text.includes(".") ? text.replace(/\.?0+$/, "") : text)

/** The bits, sent as they are, that say which cohort the device drew. */
export const cohortBits = (question: Text): number => 31 - Math.clz32(question.cohorts)

/** The bits of a question in a record. */
export function bitsOf(question: Question): number {
  if (question.type === "text") return cohortBits(question) + question.hashes * question.block
  const answers = answersOf(question).length
  return answers === 2 && ["yesno", "amount"].includes(question.type) ? 1 : answers
}

export const isMemoised = (question: Question): boolean => Boolean(question.memoised || question.randomizer?.memoised)

/** Refuses a question that this client would not ask as it says. */
export function checkQuestion(question: Question): void {
  const { type, id, open } = question
  if (!["yesno", "choice", ...(open ? [] : ["multi", "number", "amount", "text"])].includes(type))
    refuse(`question "${id}" is of type "${type}", which this client does not know`)
  if (type === "amount" && !(areEdges(question.edges) && !isMemoised(question)))
    refuse(`the amount "${id}" has no rising edges, or is memoised, so that every round would tell another edge`)
  if (question.randomizer) channelOf(question.randomizer, bitsOf(question), id)
}

/** At least two that rise, by numbers that can be computed with, and differ when they are written with twelve digits. */
const areEdges = (edges: readonly number[]): boolean =>
  edges.length > 1 &&
  edges.every((edge, i) => i === 0 || (edge > edges[i - 1] && edge - edges[i - 1] < Infinity)) &&
  new Set(edges.map(twelveDigits)).size === edges.length
