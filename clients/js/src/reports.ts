import { concat, twoBytes, type Bytes } from "./bytes.js"
import { bitsFor, encodeAll, type Answers, type Encoded } from "./encode.js"
import { bernoulli, lanesOf } from "./flip.js"
import { permanentBits, permanentFlips, permanentNoise, seriesOf } from "./permanent.js"
import { isMemoised, plaintextBytes, questionsOf, recordBits, reportBits, type Message, type Plan } from "./plan.js"
import { uniformBelow, type Draw } from "./random.js"
import { respond } from "./respond.js"

const VERSION = 1
const DUMMY = 65535

/**
 * What a person's device seals, before it is put in random order: reports of each message, and dummies in the slots
 * that they leave. If there are more reports than slots of any message, all is drawn again, except
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
  for (;;) {
    const reports: Bytes[][] = []
    for (const [i, message] of plan.messages.entries())
      reports.push(await reportsOf(plan, message, encoded, draw, key, slots[i]))
    if (reports.every((own, i) => own.length <= slots[i])) return padded(plan, slots, reports)
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
  if (message.apart) {
    const lanes = recordBits(plan, message) * message.copies
    const chosen = encoded.get(questions[0].id) as number[]
    if (isMemoised(questions[0])) return permanentlyUnlinked(plan, message, chosen, key!, slots)
    return unlinked(plan, message, chosen, lanesOf(bernoulli(lanes, message.noise_numerator!, draw)))
  }
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

/** A record: the bits of all answers, of text in freshly drawn cohorts, of memoised questions as they stay. */
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
    if (!isMemoised(question)) return bits
    const noise = permanentNoise(message, question)
    return permanentBits(key!, seriesOf(plan, message, noise), question, bits, noise)
  })
  return (await Promise.all(parts)).flat()
}

/** The same numbers whenever a device gives an answer: of the first draw that has room. */
async function permanentlyUnlinked(plan: Plan, message: Message, chosen: number[], key: CryptoKey, slots: number) {
  const [question] = questionsOf(plan, message)
  const noise = permanentNoise(message, question)
  const series = seriesOf(plan, message, noise)
  for (let attempt = 0; ; attempt++) {
    const flips = await permanentFlips(key, series, question, chosen, noise, attempt)
    const reports = unlinked(plan, message, chosen, flips)
    if (reports.length <= slots) return reports
  }
}

/** The numbers of the bits that are set after flipping, copy after copy. chosen: set before; flips: of all copies. */
export function unlinked(plan: Plan, message: Message, chosen: number[], flips: number[]): Bytes[] {
  const bits = recordBits(plan, message)
  const length = Math.ceil(reportBits(plan, message) / 8)
  const set = new Set(Array.from({ length: message.copies }, (_, copy) => chosen.map((i) => copy * bits + i)).flat())
  for (const flip of flips) set.delete(flip) || set.add(flip)
  return [...set].sort((a, b) => a - b).map((lane) => lowestFirst(lane % bits, length))
}

/** Bit i stands in byte i // 8 at place i % 8, counted from the lowest. */
export function packed(bits: boolean[]): Bytes {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  bits.forEach((bit, i) => bit && (bytes[i >> 3] |= 1 << (i & 7)))
  return bytes
}

const lowestFirst = (number: number, length: number): Bytes =>
  Uint8Array.from({ length }, (_, i) => (number >>> (8 * i)) & 255)

/** Reports of each message as plaintexts, and dummies behind them up to the slots of the message. */
export function padded(plan: Plan, slots: readonly number[], reports: Bytes[][]): Bytes[] {
  const length = plaintextBytes(plan)
  const dummy = plaintext(DUMMY, new Uint8Array(0), length)
  return reports.flatMap((own, message) => [
    ...own.map((report) => plaintext(message, report, length)),
    ...Array.from({ length: slots[message] - own.length }, () => dummy),
  ])
}

const plaintext = (message: number, report: Bytes, length: number): Bytes =>
  concat(Uint8Array.of(VERSION), twoBytes(message), report, new Uint8Array(length - 3 - report.length))
