import { isCount } from "../shapes.js"
import { areOptions, place, wrong, type Common, type QuestionType } from "./type.js"

export type Multi = Common & { readonly type: "multi"; readonly options: readonly string[]; readonly at_most: number }

/** Several options: an answer is a list of their names. */
export const multi: QuestionType<Multi> = {
  answers: ({ options }) => options,
  fits: ({ options, at_most: most, randomizer }) =>
    areOptions(options) &&
    !options.some((option) => /^none$|;/.test(option)) &&
    isCount(most, 1, options.length) &&
    randomizer?.kind !== "k-ary",
  encode: (question, answer) => {
    if (!Array.isArray(answer)) return wrong(question, "use a list of options, empty for none")
    const places = [...new Set(answer.map((option) => place(question, question.options, option)))]
    return places.length <= question.at_most ? places : wrong(question, `choose at most ${question.at_most}`)
  },
  most: ({ at_most: most }) => most,
  memoized: true,
}
