import { between } from "../amounts.js"
import { twelveDigits } from "../digits.js"
import { areDifferent } from "../shapes.js"
import { areEdges, finite, type Common, type QuestionType } from "./type.js"

export type Amount = Common & { readonly type: "amount"; readonly edges: readonly number[] }

/** A number, rounded at random to one of the two edges around it. */
export const amount: QuestionType<Amount> = {
  answers: ({ edges }) => edges.map(twelveDigits),
  fits: ({ edges }) => areEdges(edges) && areApart(edges),
  encode: (question, answer) => {
    const [below, chance] = between(question.edges, finite(question, answer))
    return { below, chance }
  },
  oneBit: true,
  rounded: true,
}

/** Whether edges have finite differences, and differ in their first twelve digits. */
const areApart = (edges: readonly number[]): boolean =>
  edges.every((edge, i) => i === 0 || edge - edges[i - 1] < Infinity) && areDifferent(edges.map(twelveDigits))
