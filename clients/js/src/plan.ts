import { refuse } from "./errors.js"

interface Common {
  readonly id: string
  readonly optional: boolean
  readonly randomizer: Randomizer | null
}

export type Question =
  | (Common & { readonly type: "yesno" })
  | (Common & { readonly type: "choice"; readonly options: readonly string[] })
  | (Common & { readonly type: "multi"; readonly options: readonly string[]; readonly at_most: number })
  | (Common & { readonly type: "number"; readonly edges: readonly number[] })
  | (Common & { readonly type: "text"; readonly block: number; readonly hashes: number; readonly cohorts: number })

export interface Randomizer {
  readonly kind: string
}

export interface Message {
  readonly questions: readonly string[]
  readonly noise_numerator: number | null
  readonly copies: number
  readonly apart: boolean
}

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

/** The bits that an answer has before "no answer" is added. */
function answerBits(question: Question): number {
  switch (question.type) {
    case "yesno":
      return question.optional ? 2 : 1
    case "choice":
    case "multi":
      return question.options.length
    case "number":
      return question.edges.length
    default:
      return refuse(`question "${question.id}" is of type "${question.type}", which this client does not know`)
  }
}

/** The bits of a question in a record. */
export const bitsOf = (question: Question): number => answerBits(question) + (question.optional ? 1 : 0)

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

export function checkPlan(plan: Plan): void {
  if ((plan as unknown as Record<string, unknown>)["format"] !== "incrowd plan 2") refuse("the plan's format is unknown")
  const asked = plan.messages.flatMap(({ questions }) => questions).sort()
  const ids = plan.survey.question.map(({ id }) => id).sort()
  if (asked.join("\0") !== ids.join("\0")) refuse("the messages do not ask every question once")
  plan.survey.question.forEach((question) => {
    if (question.randomizer) refuse(`question "${question.id}" has a randomizer that this client does not know`)
    bitsOf(question)
  })
  plan.messages.forEach((message, i) => {
    const { noise_numerator: noise, copies, apart, questions } = message
    const right = Number.isInteger(noise) && noise! > 0 && noise! < 2 ** 31 && Number.isInteger(copies) && copies > 0
    if (!right || (apart && questions.length !== 1)) refuse(`message ${i} of the plan is not as the protocol says`)
  })
}
