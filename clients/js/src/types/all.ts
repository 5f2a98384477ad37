import { amount } from "./amount.js"
import { choice } from "./choice.js"
import { multi } from "./multi.js"
import { number } from "./number.js"
import { text } from "./text.js"
import type { QuestionType } from "./type.js"
import { yesno } from "./yesno.js"

/** The types of questions, by their names in surveys. */
export const types = { yesno, choice, multi, number, amount, text }

type QuestionOf<T> = T extends QuestionType<infer Q> ? Q : never

export type Question = QuestionOf<(typeof types)[keyof typeof types]>
