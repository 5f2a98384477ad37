import { cellCount, haveCells, haveParities } from "./cells.js"
import { refuse } from "./errors.js"
import { bitsOf, checkQuestion, isMemoized, type Question } from "./questions.js"

/**
 * Questions that travel together: in one joint report, as the cells of their table, or as the parities of all pairs.
 * `noise_numerator` is over 2^32.
 */
export interface Message {
  readonly questions: readonly string[]
  readonly noise_numerator: number | null
  readonly copies: number
  readonly cells: boolean
  readonly parities?: boolean
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

export const questionsOf = (plan: Plan, message: Message): Question[] =>
  message.questions.map((id) => plan.survey.question.find((question) => question.id === id)!)

/** The number of bits of a report: those of all answers, or of the number of a cell. */
export function reportBits(plan: Plan, message: Message): number {
  const questions = questionsOf(plan, message)
  if (message.cells) return (cellCount(questions, message.parities) - 1).toString(2).length
  return questions.reduce((bits, question) => bits + bitsOf(question), 0)
}

/** The length of every plaintext: version, message, and the longest report. */
export const plaintextBytes = (plan: Plan): number =>
  3 + Math.max(...plan.messages.map((message) => Math.ceil(reportBits(plan, message) / 8)))

/** Refuses a plan that this client does not support. */
export function checkPlan(plan: Plan): void {
  if ((plan as unknown as Record<string, unknown>)["format"] !== "incrowd plan 1") refuse("the format of the plan is not supported")
  if (plan.guarantee.analysis === "outlier") refuse("the plan is not a guarantee that could be promised to people")
  const ids = new Set(plan.survey.question.map(({ id }) => id))
  if (ids.size !== plan.survey.question.length) refuse("two questions have the same id")
  plan.survey.question.forEach(checkQuestion)
  plan.messages.forEach((message, i) => {
    const { noise_numerator: noise, copies, questions } = message
    const different = new Set(questions)
    const named = different.size === questions.length && different.size > 0 && questions.every((id) => ids.has(id))
    const noisy = noise === null || (Number.isInteger(noise) && noise > 0 && noise < 2 ** 31)
    if (!named || !noisy || !(Number.isInteger(copies) && copies > 0) || !fits(plan, message))
      refuse(`message ${i} of the plan does not follow the protocol`)
  })
}

/** Whether a message is valid for its questions: each has a randomizer, and memoized ones are not mixed with others. */
function fits(plan: Plan, { questions, noise_numerator: noise, cells, copies, parities }: Message): boolean {
  const all = plan.survey.question.filter(({ id }) => questions.includes(id))
  if (all.some(({ open }) => open)) return false
  if (all.some(({ memoized, randomizer, type }) => memoized && (randomizer || copies > 1 || type === "text"))) return false
  const alike = all.every((question) => isMemoized(question) === isMemoized(all[0]))
  if (cells) return noise !== null && copies === 1 && (parities ? haveParities(all) : haveCells(all))
  return !parities && alike && (noise !== null || all.every(({ randomizer }) => randomizer))
}
