import { twelveDigits } from "../digits.js"
import { areEdges, finite, wrong, type Common, type QuestionType } from "./type.js"

export type NumberQuestion = Common & { readonly type: "number"; readonly edges: readonly number[] }

/** A number, of which only its bin is sent. */
export const number: QuestionType<NumberQuestion> = {
  answers: ({ edges }) => bins(edges.map(twelveDigits)),
  fits: ({ edges }) => areEdges(edges),
  encode: (question, answer) => {
    const given = finite(question, answer)
    const notAbove = question.edges.filter((edge) => edge <= given).length
    return notAbove > 0 ? notAbove - 1 : wrong(question, `it is below ${question.edges[0]}`)
  },
  memoized: true,
}

const bins = (edges: string[]): string[] =>
  edges.map((edge, i) => (i + 1 < edges.length ? `${edge} to <${edges[i + 1]}` : `${edge} or more`))
