import { encode, type Answers } from "./encode.js"
import { IncrowdError } from "./errors.js"
import { answersOf, bitsOf, type Plan, type Question } from "./plan.js"

/** The questions whose answers travel in clear, and make strata (docs/protocol.md, "Strata"). */
export const openOf = ({ survey }: Plan): Question[] => survey.question.filter(({ open }) => open)

/** The names of all strata: every combination of open answers, the last question's changing fastest. */
export const strataOf = (plan: Plan): string[] =>
  openOf(plan)
    .reduce<string[][]>((rows, question) => rows.flatMap((row) => answersOf(question).map((answer) => [...row, answer])), [[]])
    .map(joined)

/** The name of a person's stratum: by her open answers where there are such questions, else the one she names. */
export function stratumOf(plan: Plan, answers: Answers, named?: string): string | undefined {
  const open = openOf(plan)
  if (!open.length) return named
  const said = joined(open.map((question) => spoken(question, answers)))
  if (named !== undefined && named !== said) throw new IncrowdError("stratum", `The open answers say ${said}.`)
  return said
}

const joined = (answers: string[]): string => answers.join(" / ")

/** The answer to an open question as names of strata have it; a plain "no" sets no bit. */
function spoken(question: Question, answers: Answers): string {
  const places = encode(question, answers[question.id]) as number[]
  return answersOf(question)[bitsOf(question) === 1 ? places.length : places[0]]
}
