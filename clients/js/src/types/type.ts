import type { Randomizer } from "../channels.js"
import { IncrowdError } from "../errors.js"
import { areDifferent } from "../shapes.js"
import { isTrimmed } from "../characters.js"

/** A text, or texts by the tags of their languages. */
export type Words = string | { readonly [language: string]: string }

/** Compares the answer to a question with one of its answers, or with an edge of its ranges. */
export type Comparison = { readonly question: string; readonly answer?: string; readonly at_least?: number; readonly below?: number }

/** Whom a question is asked, by the answers to earlier questions (docs/protocol.md, "Conditions"). */
export type Condition =
  | Comparison
  | { readonly not: Condition }
  | { readonly all: readonly Condition[] }
  | { readonly any: readonly Condition[] }

/** What the questions of all types have. */
export interface Common {
  readonly id: string
  readonly optional: boolean
  /** Whom it is asked; everybody else answers "not asked". */
  readonly asked_if?: Condition
  readonly randomizer: Randomizer | null
  /** Whether the noise of the plan is drawn once for each device and answer, and repeated in every round. */
  readonly memoized?: boolean
  /** Whether the answer is sent in the clear: it determines the person's stratum, and is in no message. */
  readonly open?: boolean
  /** The wording that people read, if the survey has one; labels by answer. */
  readonly text?: Words
  readonly help?: Words
  readonly labels?: { readonly [answer: string]: Words }
}

/** The place of an answer among all answers, several places, the two edges around an amount, or a word. */
export type Encoding = number | number[] | { readonly below: number; readonly chance: number } | string

/**
 * A type of question: one object in a module of this folder, which `all.ts` lists.
 *
 * answers: by name, in the order of their bits. fits: whether the values of its keys are allowed. encode: encodes an
 * answer that is not null. oneBit: whether two answers share one bit, which the second one sets. open, memoized: whether
 * it can be. rounded: whether answers are rounded at random. most: how many answers one person can give at once, for a
 * type whose answers do not exclude each other. hashed: for words that are not listed, the bits of the cohort, all bits,
 * and the places that a word sets.
 */
export interface QuestionType<Q> {
  readonly answers: (question: Q) => readonly string[]
  readonly fits: (question: Q) => boolean
  readonly encode: (question: Q, answer: unknown) => Encoding
  readonly oneBit?: boolean
  readonly open?: boolean
  readonly memoized?: boolean
  readonly rounded?: boolean
  readonly most?: (question: Q) => number
  readonly hashed?: {
    readonly cohortBits: (question: Q) => number
    readonly bits: (question: Q) => number
    readonly places: (question: Q, word: string, cohort: number) => Promise<number[]>
  }
}

export const NO_ANSWER = "no answer"
export const NOT_ASKED = "not asked"

/** Refuses an answer. */
export function wrong({ id }: Common, hint: string): never {
  throw new IncrowdError("answer", `The answer to "${id}" does not fit: ${hint}.`, false, id)
}

export function place(question: Common, answers: readonly string[], answer: unknown): number {
  const at = answers.indexOf(answer as string)
  return at >= 0 ? at : wrong(question, `${JSON.stringify(answer)} is not among its options`)
}

export const finite = (question: Common, answer: unknown): number =>
  typeof answer === "number" && Number.isFinite(answer) ? answer : wrong(question, "use a number")

export const areOptions = (options: readonly string[]): boolean =>
  options.length > 1 && options.every(isTrimmed) && areDifferent(options) && !options.includes(NO_ANSWER) && !options.includes(NOT_ASKED)

/** Whether there are at least two finite edges that rise. */
export const areEdges = (edges: readonly number[]): boolean =>
  edges.length > 1 && edges.every((edge, i) => Number.isFinite(edge) && (i === 0 || edge > edges[i - 1]))
