import type { Survey } from "./bundle.js"
import { cellsOf, saidByCell } from "./cells.js"
import { encodeAll, type Answers } from "./encode.js"
import { keptKey } from "./permanent.js"
import { questionsOf, type Message } from "./plan.js"
import { answersOf, bitsOf, cohortBits, type Question } from "./questions.js"
import { systemWords } from "./random.js"
import { reportsOf } from "./reports.js"

/** What a report says of a question: the answers whose bits are set; of a text question the cohort and the bits. */
export interface Said {
  readonly question: string
  readonly answers: readonly string[]
  /** Of a cell: whether chance alone sent it, and no answer of this person. */
  readonly invented?: boolean
  /** Of a piece with two answers: exactly one of them was given. */
  readonly either?: boolean
}

/**
 * What could be sent for these answers: of each message its reports, and of each report what it says of its questions.
 * It is drawn anew every time, with a key for permanent responses that is thrown away, and nothing of it is ever sent:
 * only so may it be shown and drawn again, since who looks before sending chooses.
 */
export async function drawExample({ bundle: { plan } }: Survey, answers: Answers): Promise<Said[][][]> {
  const encoded = encodeAll(plan, answers, systemWords)
  const key = await keptKey(async (fresh) => fresh)
  const shown: Said[][][] = []
  for (const message of plan.messages) {
    const questions = questionsOf(plan, message)
    const reports = await reportsOf(plan, message, encoded, systemWords, key)
    const chosen = message.cells ? cellsOf(questions, encoded, message.parities) : []
    shown.push(reports.map((report) => (message.cells ? pieceSaid(message, questions, chosen, report) : saidBy(questions, report))))
  }
  return shown
}

function pieceSaid({ parities }: Message, questions: Question[], chosen: number[], report: Uint8Array): Said[] {
  const cell = report.reduceRight((number, byte) => number * 256 + byte, 0)
  const piece = { invented: !chosen.includes(cell), either: !!parities }
  return saidByCell(questions, cell, parities).map((said) => ({ ...said, ...piece }))
}

function saidBy(questions: Question[], report: Uint8Array): Said[] {
  let start = 0
  return questions.map((question) => {
    const bits = Array.from({ length: bitsOf(question) }, (_, i) => (report[(start + i) >> 3] >> ((start + i) & 7)) & 1)
    start += bits.length
    return { question: question.id, answers: labels(question, bits) }
  })
}

function labels(question: Question, bits: number[]): string[] {
  const set = (from: number): number[] => bits.flatMap((bit, i) => (bit && i >= from ? [i - from] : []))
  if (question.type === "text") {
    const digits = cohortBits(question)
    const cohort = bits.slice(0, digits).reduceRight((number, bit) => 2 * number + bit, 0)
    return [`cohort ${cohort}`, ...set(digits).map((i) => `bit ${i}`)]
  }
  const answers = answersOf(question)
  return bits.length < answers.length ? [answers[bits[0]]] : set(0).map((i) => answers[i])
}
