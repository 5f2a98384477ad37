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

/** Questions that travel together. `noise_numerator` is over 2^32. */
export interface Message {
  readonly questions: readonly string[]
  readonly noise_numerator: number | null
  readonly copies: number
  readonly apart: boolean
}

/** The plan of a survey, as in a plan file. */
export interface Plan {
  readonly survey: {
    readonly name: string
    readonly crowd: number
    readonly colluding: number
    readonly rows_per_person: number
    readonly question: readonly Question[]
  }
  readonly messages: readonly Message[]
  readonly guarantee: { readonly epsilon: number; readonly delta: number; readonly analysis: string }
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

export const questionsOf = (plan: Plan, message: Message): Question[] =>
  message.questions.map((id) => plan.survey.question.find((question) => question.id === id)!)

export const recordBits = (plan: Plan, message: Message): number =>
  questionsOf(plan, message).reduce((bits, question) => bits + bitsOf(question), 0)

/** The bits of a report: the record's, or where set bits travel unlinked those of the number of a bit. */
export function reportBits(plan: Plan, message: Message): number {
  const bits = recordBits(plan, message)
  return message.apart ? Math.max(1, 32 - Math.clz32(bits - 1)) : bits
}

/** The length of every plaintext: version, message, and the longest report. */
export const plaintextBytes = (plan: Plan): number =>
  3 + Math.max(...plan.messages.map((message) => Math.ceil(reportBits(plan, message) / 8)))

export const isMemoised = (question: Question): boolean => Boolean(question.memoised || question.randomizer?.memoised)

/** Refuses a plan that this client would not carry out as it says. */
export function checkPlan(plan: Plan): void {
  if ((plan as unknown as Record<string, unknown>)["format"] !== "incrowd plan 2") refuse("the plan's format is unknown")
  const known = new Set(plan.survey.question.map(({ id }) => id))
  if (known.size !== plan.survey.question.length) refuse("two questions have one id")
  plan.survey.question.forEach(checkQuestion)
  plan.messages.forEach((message, i) => {
    const { noise_numerator: noise, copies, questions } = message
    const own = new Set(questions)
    const named = own.size === questions.length && own.size > 0 && questions.every((id) => known.has(id))
    const noisy = noise === null || (Number.isInteger(noise) && noise > 0 && noise < 2 ** 31)
    if (!named || !noisy || !(Number.isInteger(copies) && copies > 0) || !fits(plan, message))
      refuse(`message ${i} of the plan is not as the protocol says`)
  })
}

/** Whether the questions of a message can travel as it says: a device for each, memoised ones by themselves. */
function fits(plan: Plan, { questions, noise_numerator: noise, apart, copies }: Message): boolean {
  const all = plan.survey.question.filter(({ id }) => questions.includes(id))
  if (all.some(({ open }) => open)) return false
  if (all.some(({ memoised, randomizer, type }) => memoised && (randomizer || copies > 1 || type === "text"))) return false
  const alike = all.every((question) => isMemoised(question) === isMemoised(all[0]))
  if (apart) return all.length === 1 && noise !== null && !all[0].randomizer && all[0].type !== "text"
  return alike && (noise !== null || all.every(({ randomizer }) => randomizer))
}

function checkQuestion(question: Question): void {
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
