import { areOptions, place, type Common, type QuestionType } from "./type.js"

export type Choice = Common & { readonly type: "choice"; readonly options: readonly string[] }

/** Exactly one option: an answer is its name. */
export const choice: QuestionType<Choice> = {
  answers: ({ options }) => options,
  fits: ({ options }) => areOptions(options),
  encode: (question, answer) => place(question, question.options, answer),
  open: true,
  memoized: true,
}
