import { cellCount, haveCells, haveParities } from "./cells.js"
import { isCondition } from "./conditions.js"
import { refuse } from "./errors.js"
import { bitsOf, checkQuestion, isMemoized, type Question } from "./questions.js"
import { isCount } from "./shapes.js"

/**
 * Questions that travel together: in one joint report, as the cells of their table, or as the parities of all pairs.
 * `noise_numerator` is over 2^32. If there is `added`, two services add the noise to the cells: it has the numerators over
 * 2^64 of the law of one service, in decimal digits.
 */
export interface Message {
  readonly questions: readonly string[]
  readonly noise_numerator: number | null
  readonly copies: number
  readonly cells: boolean
  readonly parities?: boolean
  readonly added?: readonly string[]
}

/** The plan of a survey, as in a plan file. */
export interface Plan {
  readonly format: string
  readonly survey: {
    readonly name: string
    readonly crowd: number
    readonly colluding: number
    readonly least?: number
    readonly rows_per_person: number
    readonly question: readonly Question[]
  }
  readonly messages: readonly Message[]
  readonly guarantee: {
    readonly epsilon: number
    readonly delta: number
    readonly analysis: string
    /** null if the guarantee counts on no crowd. */
    readonly crowd: number | null
  }
}

const LEAST = 10 // people of a release, if the guarantee counts on no crowd and the survey does not say otherwise

/** Whether services add noise to the cells of some message. */
export const byServices = ({ messages }: Plan): boolean => messages.some(({ added }) => added)

/** The number of people that a release needs, without the reserve. */
export const leastPeople = ({ survey, guarantee }: Plan): number =>
  guarantee.crowd ? survey.crowd : (survey.least ?? LEAST)

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

/** Refuses a plan that does not follow the protocol, as far as a device uses it. */
export function checkPlan(plan: Plan): void {
  const { format, survey, messages, guarantee } = plan
  const { name, crowd, colluding, question } = survey
  const ids = new Set(question.map(({ id }) => id))
  const named = typeof name === "string" && name !== "" && ids.size === question.length && messages.length
  const people = isCount(crowd, 2, 1e13) && isCount(colluding, 0) && isCount(leastPeople(plan), 2)
  const hidden = guarantee.crowd || messages.every(({ added }) => added)
  if (format !== "incrowd plan 1" || !named || !people || !hidden) refuse("the plan does not follow the protocol")
  if (guarantee.analysis === "outlier") refuse("the plan is not a guarantee")
  const earlier = new Map<string, Question>()
  for (const each of question) {
    checkQuestion(each)
    const { id, open, asked_if: condition } = each
    if (condition !== undefined && (open || !isCondition(condition, earlier))) refuse(`the condition of question "${id}" does not follow the protocol`)
    earlier.set(id, each)
  }
  messages.forEach((message, i) => {
    const { noise_numerator: noise, copies, questions, cells, parities = true } = message
    const marked = typeof cells === "boolean" && parities === true
    const known = new Set(questions).size === questions.length && questions.length > 0 && questions.every((id) => ids.has(id))
    const noisy = noise === null || isCount(noise, 1, 2 ** 31 - 1)
    if (!marked || !known || !noisy || !isCount(copies, 1) || !fits(plan, message)) refuse(`message ${i} of the plan does not follow the protocol`)
  })
}

/** Whether a message is valid for its questions: each has noise of one kind, and memoized ones are not mixed with others. */
function fits(plan: Plan, message: Message): boolean {
  const { noise_numerator: noise, cells, copies, parities, added } = message
  const all = questionsOf(plan, message)
  const alike = all.every((question) => isMemoized(question) === isMemoized(all[0]))
  if (all.some(({ open }) => open) || !alike || (copies > 1 && all.some(({ memoized }) => memoized))) return false
  if (added && (!cells || parities || isMemoized(all[0]))) return false
  if (cells) return (noise === null) === !!added && copies === 1 && (parities ? haveParities(all) : haveCells(all))
  return !parities && (noise === null) === all.every(({ randomizer }) => randomizer)
}
