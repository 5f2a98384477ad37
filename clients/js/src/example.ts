import type { Bytes } from "./bytes.js"
import { answersOfCell, cellsOf } from "./cells.js"
import { encodeAll, type Answers } from "./encode.js"
import type { Survey } from "./parties.js"
import { storedKey } from "./permanent.js"
import { questionsOf, type Message } from "./plan.js"
import { answersOf, bitsOf, cohortBits, isHashed, type Question } from "./questions.js"
import { systemWords } from "./random.js"
import { cellOf, reportsOf } from "./reports.js"

/** What a report states about a question: the answers whose bits are set; for text, the cohort and the bits. */
export interface Statement {
  readonly question: string
  readonly answers: readonly string[]
  /** For cells: whether the noise alone sent it, and not an answer of this person. */
  readonly invented?: boolean
  /** For a piece with two answers: whether exactly one of them was given. */
  readonly either?: boolean
}

/**
 * An example of what could be sent for these answers: for each message its reports, and for each report its statements
 * about its questions. It is drawn anew every time, with a temporary key for permanent responses, and never sent: a person
 * who could see and redraw the real reports could choose among them.
 */
export async function drawExample({ bundle: { plan } }: Survey, answers: Answers): Promise<Statement[][][]> {
  const encoded = encodeAll(plan, answers, systemWords)
  const key = await storedKey(async (fresh) => fresh)
  const example: Statement[][][] = []
  for (const message of plan.messages) {
    const questions = questionsOf(plan, message)
    const reports = await reportsOf(plan, message, encoded, systemWords, key)
    const chosen = message.cells ? cellsOf(questions, encoded, message.parities) : []
    example.push(reports.map((report) => (message.cells ? ofPiece(message, questions, chosen, report) : ofReport(questions, report))))
  }
  return example
}

function ofPiece({ parities }: Message, questions: Question[], chosen: number[], report: Bytes): Statement[] {
  const cell = cellOf(report)
  const piece = { invented: !chosen.includes(cell), either: !!parities }
  return answersOfCell(questions, cell, parities).map((statement) => ({ ...statement, ...piece }))
}

function ofReport(questions: Question[], report: Uint8Array): Statement[] {
  let start = 0
  return questions.map((question) => {
    const bits = Array.from({ length: bitsOf(question) }, (_, i) => (report[(start + i) >> 3] >> ((start + i) & 7)) & 1)
    start += bits.length
    return { question: question.id, answers: labels(question, bits) }
  })
}

function labels(question: Question, bits: number[]): string[] {
  const set = (from: number): number[] => bits.flatMap((bit, i) => (bit && i >= from ? [i - from] : []))
  if (isHashed(question)) {
    const digits = cohortBits(question)
    const cohort = bits.slice(0, digits).reduceRight((number, bit) => 2 * number + bit, 0)
    return [`cohort ${cohort}`, ...set(digits).map((i) => `bit ${i}`)]
  }
  const answers = answersOf(question)
  return bits.length < answers.length ? [answers[bits[0]]] : set(0).map((i) => answers[i])
}
