import { concat, twoBytes, type Bytes } from "./bytes.js"
import { cellCount, cellsOf, inParts } from "./cells.js"
import { bitsFor, encodeAll, type Answers, type Encoded } from "./encode.js"
import { bernoulli, lanesOf } from "./flip.js"
import { permanentBits, permanentFlips, permanentNoise, seriesOf } from "./permanent.js"
import { plaintextBytes, questionsOf, reportBits, type Message, type Plan } from "./plan.js"
import { isMemoized } from "./questions.js"
import { uniformBelow, type Draw } from "./random.js"
import { respond } from "./respond.js"
import { pools } from "./slots.js"

const VERSION = 1
const DUMMY = 65535

/**
 * What a person's device seals, before it is put in random order: reports of each message, and dummies in the slots
 * that they leave. If there are more reports than slots of any pool, all is drawn again, except
 * for permanent responses, which keep to the slots by themselves (docs/protocol.md, "Slots").
 */
export async function plaintexts(
  plan: Plan,
  slots: readonly number[],
  answers: Answers,
  draw: Draw,
  key: CryptoKey | null,
): Promise<Bytes[]> {
  const encoded = encodeAll(plan, answers, draw)
  const shared = pools(plan)
  for (;;) {
    const reports: Bytes[][] = []
    for (const [i, message] of plan.messages.entries())
      reports.push(await reportsOf(plan, message, encoded, draw, key, slots[shared.findIndex((pool) => pool.includes(i))]))
    const sent = shared.map((pool) => pool.reduce((count, i) => count + reports[i].length, 0))
    if (sent.every((count, i) => count <= slots[i])) return padded(plan, slots, reports)
  }
}

/** The reports of one message, all its copies. slots: how many of permanent responses there may be. */
export async function reportsOf(
  plan: Plan,
  message: Message,
  encoded: ReadonlyMap<string, Encoded>,
  draw: Draw,
  key: CryptoKey | null,
  slots = Infinity,
): Promise<Bytes[]> {
  const questions = questionsOf(plan, message)
  if (message.cells) return reportsOfCells(plan, message, encoded, draw, key, slots)
  const copies = Array.from({ length: message.copies })
  if (questions.every(({ type }) => type !== "text")) {
    const row = await record(plan, message, encoded, draw, key)
    return respond(copies.map(() => row), message, questions, draw).map(packed)
  }
  const reports: Bytes[] = []
  for (const _ of copies) {
    const row = await record(plan, message, encoded, draw, key)
    reports.push(...respond([row], message, questions, draw).map(packed))
  }
  return reports
}

/** A record: the bits of all answers, of text in freshly drawn cohorts, of memoized questions as they stay. */
async function record(
  plan: Plan,
  message: Message,
  encoded: ReadonlyMap<string, Encoded>,
  draw: Draw,
  key: CryptoKey | null,
): Promise<boolean[]> {
  const questions = questionsOf(plan, message)
  const cohorts = questions.map((question) =>
    question.type === "text" ? uniformBelow(question.cohorts, 1, draw)[0] : 0,
  )
  const parts = questions.map(async (question, i) => {
    const bits = await bitsFor(question, encoded.get(question.id)!, cohorts[i])
    if (!isMemoized(question)) return bits
    const noise = permanentNoise(message, question)
    return permanentBits(key!, seriesOf(plan, message, noise), question, bits, noise)
  })
  return (await Promise.all(parts)).flat()
}

/** The reports of cells: the numbers of those that are set after the noise. */
async function reportsOfCells(
  plan: Plan,
  message: Message,
  encoded: ReadonlyMap<string, Encoded>,
  draw: Draw,
  key: CryptoKey | null,
  slots: number,
): Promise<Bytes[]> {
  const questions = questionsOf(plan, message)
  const chosen = cellsOf(questions, encoded, message.parities)
  const noise = message.noise_numerator!
  if (isMemoized(questions[0])) return permanentCells(plan, message, chosen, key!, slots)
  const flips = await inParts(cellCount(questions, message.parities), (_, size) => lanesOf(bernoulli(size, noise, draw)))
  return asReports(plan, message, chosen, flips)
}

/** The same numbers whenever a device gives these answers: of the first draw that has room. */
async function permanentCells(plan: Plan, message: Message, chosen: number[], key: CryptoKey, slots: number) {
  const series = seriesOf(plan, message, message.noise_numerator!)
  const cells = cellCount(questionsOf(plan, message), message.parities)
  for (let attempt = 0; ; attempt++) {
    const reports = asReports(plan, message, chosen, await permanentFlips(key, series, message, cells, chosen, attempt))
    if (reports.length <= slots) return reports
  }
}

/** The numbers of the cells that are set after flipping, rising. chosen: set before. */
export function asReports(plan: Plan, message: Message, chosen: number[], flips: number[]): Bytes[] {
  const length = Math.ceil(reportBits(plan, message) / 8)
  const set = new Set(chosen)
  for (const flip of flips) set.delete(flip) || set.add(flip)
  return [...set].sort((a, b) => a - b).map((cell) => lowestFirst(cell, length))
}

/** Bit i stands in byte i // 8 at place i % 8, counted from the lowest. */
export function packed(bits: boolean[]): Bytes {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  bits.forEach((bit, i) => bit && (bytes[i >> 3] |= 1 << (i & 7)))
  return bytes
}

/** By division: shifts would wrap at four bytes, and there may be more cells. A byte takes the remainder by itself. */
const lowestFirst = (number: number, length: number): Bytes =>
  Uint8Array.from({ length }, (_, i) => Math.floor(number / 256 ** i))

/** Reports of each message as plaintexts, and dummies behind them up to all slots. */
export function padded(plan: Plan, slots: readonly number[], reports: Bytes[][]): Bytes[] {
  const length = plaintextBytes(plan)
  const made = reports.flatMap((own, message) => own.map((report) => plaintext(message, report, length)))
  const dummy = plaintext(DUMMY, new Uint8Array(0), length)
  const places = slots.reduce((sum, count) => sum + count, 0)
  return [...made, ...Array.from({ length: places - made.length }, () => dummy)]
}

const plaintext = (message: number, report: Bytes, length: number): Bytes =>
  concat(Uint8Array.of(VERSION), twoBytes(message), report, new Uint8Array(length - 3 - report.length))
