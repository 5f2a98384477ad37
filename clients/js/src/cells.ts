import { allowsSeveral, answersOf, bitsOf, isHashed, isMemoized, mostAnswers, typeOf, type Encoded, type Question } from "./questions.js"

/** The answer without an option, for a question of which at most one option can be chosen. */
export const NONE_CHOSEN = "none chosen"
const MOST_CELLS = 2 ** 32
const AT_ONCE = 2 ** 20

const others = (questions: Question[]): Question[] => questions.filter((question) => !allowsSeveral(question))

/** The answers along a question's axis of cells, in the order of their numbers. */
function cellAnswers(question: Question): string[] {
  const mayChooseNone = typeOf(question).most && !allowsSeveral(question)
  return [...answersOf(question), ...(mayChooseNone ? [NONE_CHOSEN] : [])]
}

/** The number of combinations of answers; 1 without questions. */
const combinations = (questions: Question[]): number =>
  questions.reduce((cells, question) => cells * cellAnswers(question).length, 1)

/** Whether the questions are one question with two answers: a single bit, set for the second answer. */
const isSingle = (questions: Question[]): boolean =>
  questions.length === 1 && !allowsSeveral(questions[0]) && cellAnswers(questions[0]).length === 2

/** Whether cells "any" follow those of the options: for several questions, one of which allows several answers. */
const hasAny = (questions: Question[]): boolean => questions.length > 1 && questions.some(allowsSeveral)

/** Whether some questions have cells that this client can send. */
export const haveCells = (questions: Question[]): boolean =>
  questions.every((question) => !isHashed(question) && !question.randomizer && !question.open) &&
  questions.every((question) => isMemoized(question) === isMemoized(questions[0])) &&
  questions.filter(allowsSeveral).length < 2 &&
  combinations(questions) <= MOST_CELLS

/** Whether some questions can have a bit for each pair, set if exactly one of the two has its second answer. */
export const haveParities = (questions: Question[]): boolean =>
  questions.length > 1 && questions.every((question) => haveCells([questions[0], question]) && isSingle([question]))

/** All pairs, in the order of the numbers of their bits. */
const pairsOf = (questions: Question[]): Question[][] =>
  questions.flatMap((one, i) => questions.slice(i + 1).map((other) => [one, other]))

/** The number of bits of a record. parities: whether it has a bit for each pair of questions. */
export const cellCount = (questions: Question[], parities = false): number =>
  parities
    ? pairsOf(questions).length
    : isSingle(questions)
      ? 1
      : combinations(questions) + (hasAny(questions) ? combinations(others(questions)) : 0)

/** The largest number of cells that one person is in, or of parities that one person sets. */
export const mostCells = (questions: Question[], parities = false): number =>
  parities
    ? questions.length ** 2 >> 2
    : Math.max(...questions.map(mostAnswers)) + Number(hasAny(questions))

/**
 * The lane of a cell: those of a lane are cells of which a person is in one at most. With several answers, each answer has a
 * lane, and the cells "any" have the last one.
 */
export function laneOf(questions: Question[], cell: number): number {
  const place = questions.findIndex(allowsSeveral)
  if (place < 0) return 0
  const answers = cellAnswers(questions[place]).length
  return cell < combinations(questions) ? Math.floor(cell / combinations(questions.slice(place + 1))) % answers : answers
}

/** The numbers of the cells that a person is in; the answers to the last question change fastest. */
export function cellsOf(questions: Question[], encoded: ReadonlyMap<string, Encoded>, parities = false): number[] {
  const places = (question: Question): number[] => {
    const set = encoded.get(question.id) as number[]
    if (allowsSeveral(question)) return set
    return [bitsOf(question) === 1 ? set.length : (set[0] ?? cellAnswers(question).length - 1)]
  }
  if (parities)
    return pairsOf(questions).flatMap(([one, other], at) => (places(one)[0] !== places(other)[0] ? [at] : []))
  if (isSingle(questions)) return places(questions[0])[0] ? [0] : []
  const numbers = (axes: Question[]): number[] =>
    axes.reduce(
      (cells, question) => cells.flatMap((cell) => places(question).map((at) => cell * cellAnswers(question).length + at)),
      [0],
    )
  const any = hasAny(questions) ? numbers(others(questions)).map((cell) => combinations(questions) + cell) : []
  return [...numbers(questions), ...any]
}

/**
 * The answers that a cell represents, one for each question. A cell "any" has none for the question that allows several.
 * A parity represents that exactly one of two answers was given.
 */
export function answersOfCell(questions: Question[], cell: number, parities = false): { question: string; answers: [string] }[] {
  if (parities) return pairsOf(questions)[cell].flatMap((question) => answersOfCell([question], 0))
  if (isSingle(questions)) return [{ question: questions[0].id, answers: [cellAnswers(questions[0])[1]] }]
  const options = combinations(questions)
  let rest = cell % options
  return (cell < options ? questions : others(questions)).reduceRight<{ question: string; answers: [string] }[]>((statements, question) => {
    const answers = cellAnswers(question)
    const at = rest % answers.length
    rest = (rest - at) / answers.length
    return [{ question: question.id, answers: [answers[at]] }, ...statements]
  }, [])
}

/** The cells below `count` that `flips` returns, computed in parts, since there can be more than 2^32. */
export async function inParts(count: number, flips: (first: number, size: number) => number[] | Promise<number[]>): Promise<number[]> {
  const flipped: number[] = []
  for (let first = 0; first < count; first += AT_ONCE)
    for (const at of await flips(first, Math.min(AT_ONCE, count - first))) flipped.push(first + at)
  return flipped
}
