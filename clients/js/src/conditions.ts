import { answersOf, bitsOf, isHashed, typeOf, type Question } from "./questions.js"
import { hasKeys } from "./shapes.js"
import type { Comparison, Condition } from "./types/type.js"

const DEEPEST = 32

/** Whether the answer in a place decides that a comparison holds; undefined if no answer decides it. */
function deciding(question: Question, { answer, at_least: least, below }: Comparison): ((place: number) => boolean) | undefined {
  const names: readonly unknown[] = answer === undefined ? ("edges" in question ? question.edges : []) : answersOf(question)
  const at = names.indexOf(answer ?? least ?? below)
  if (at < 0 || typeOf(question).rounded || isHashed(question)) return undefined
  return (place) => (answer !== undefined ? place === at : place < names.length && place < at === (least === undefined))
}

/** Whether a condition holds, by a person's encoded answers to earlier questions, as far as she gave any. */
export function holds(condition: Condition, questions: ReadonlyMap<string, Question>, encoded: ReadonlyMap<string, unknown>): boolean {
  const each = (part: Condition): boolean => holds(part, questions, encoded)
  if ("not" in condition) return !each(condition.not)
  if ("all" in condition) return condition.all.every(each)
  if ("any" in condition) return condition.any.some(each)
  const question = questions.get(condition.question)!
  const set = encoded.get(question.id) as number[] | undefined
  const given = set && bitsOf(question) === 1 ? [set.length] : (set ?? [])
  return given.some(deciding(question, condition)!)
}

/** Whether a condition follows the protocol. earlier: the questions that it may depend on. */
export function isCondition(condition: unknown, earlier: ReadonlyMap<string, Question>, depth = 0): boolean {
  const each = (part: unknown): boolean => isCondition(part, earlier, depth + 1)
  const several = (parts: unknown): boolean => Array.isArray(parts) && parts.length > 1 && parts.every(each)
  if (depth > DEEPEST) return false
  if (hasKeys(condition, "not")) return each(condition.not)
  if (hasKeys(condition, "all")) return several(condition.all)
  if (hasKeys(condition, "any")) return several(condition.any)
  if (!["answer question", "at_least question", "below question"].some((keys) => hasKeys(condition, keys))) return false
  const comparison = condition as unknown as Comparison
  const question = earlier.get(comparison.question)
  return !!question && !!deciding(question, comparison)
}
