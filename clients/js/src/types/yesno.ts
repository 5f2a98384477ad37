import { place, type Common, type QuestionType } from "./type.js"

export type YesNo = Common & { readonly type: "yesno" }

const ANSWERS = ["no", "yes"]

/** Yes or no: one bit. An answer is a boolean, or one of the two words. */
export const yesno: QuestionType<YesNo> = {
  answers: () => ANSWERS,
  fits: () => true,
  encode: (question, answer) => (typeof answer === "boolean" ? Number(answer) : place(question, ANSWERS, answer)),
  oneBit: true,
  open: true,
  memoized: true,
}
