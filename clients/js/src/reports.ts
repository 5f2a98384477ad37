import { concat, twoBytes, type Bytes } from "./bytes.js"
import { cellCount, cellsOf, inParts, laneOf } from "./cells.js"
import { bitsFor, encodeAll, type Answers } from "./encode.js"
import { bernoulli, lanesOf } from "./flip.js"
import { permanentBits, permanentFlips, permanentNoise, seriesOf } from "./permanent.js"
import { plaintextBytes, questionsOf, reportBits, type Message, type Plan } from "./plan.js"
import { cohortBits, isHashed, isMemoized, type Encoded } from "./questions.js"
import { uniformBelow, type Draw } from "./random.js"
import { respond } from "./respond.js"
import type { Pools } from "./slots.js"

const VERSION = 1
const DUMMY = 65535

/**
 * The plaintexts that a person's device seals, before they are put in random order: for each pool, the reports of its
 * messages, and dummies in the remaining slots. If any pool has more reports than slots, everything is drawn again, except for
 * permanent responses, which fit their slots by themselves (docs/protocol.md, "Slots").
 */
export async function plaintexts(
  plan: Plan,
  pools: Pools,
  slots: readonly number[],
  answers: Answers,
  draw: Draw,
  key: CryptoKey | null,
): Promise<Bytes[]> {
  const encoded = encodeAll(plan, answers, draw)
  for (;;) {
    const reports: Bytes[][] = []
    for (const [i, message] of plan.messages.entries())
      reports.push(await reportsOf(plan, message, encoded, draw, key, slots[pools.findIndex((pool) => pool.includes(i))]))
    const sent = pools.map((pool) => pool.reduce((count, i) => count + reports[i].length, 0))
    if (sent.every((count, i) => count <= slots[i])) return padded(plan, pools, slots, reports)
  }
}

/** The reports of one message in all copies. slots: the largest number of reports of permanent cells. */
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
  if (!questions.some(isHashed)) {
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

/** A record: the bits of all answers, with freshly drawn cohorts for text and permanent responses if memoized. */
async function record(
  plan: Plan,
  message: Message,
  encoded: ReadonlyMap<string, Encoded>,
  draw: Draw,
  key: CryptoKey | null,
): Promise<boolean[]> {
  const questions = questionsOf(plan, message)
  const cohorts = questions.map((question) =>
    isHashed(question) ? uniformBelow(2 ** cohortBits(question), 1, draw)[0] : 0,
  )
  const parts = questions.map(async (question, i) => {
    const bits = await bitsFor(question, encoded.get(question.id)!, cohorts[i])
    if (!isMemoized(question)) return bits
    const noise = permanentNoise(message, question)
    return permanentBits(key!, seriesOf(plan, message, noise), question, bits, noise)
  })
  return (await Promise.all(parts)).flat()
}

/** The reports of cells: the numbers of the cells that are set after the noise. */
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
  const noise = message.noise_numerator
  if (isMemoized(questions[0])) return permanentCells(plan, message, chosen, key!, slots)
  const cells = noise === null ? 0 : cellCount(questions, message.parities) // with noise of services, nothing is flipped
  return asReports(plan, message, chosen, await inParts(cells, (_, size) => lanesOf(bernoulli(size, noise!, draw))))
}

/** The same reports whenever a device gives these answers: those of the first draw that fits. */
async function permanentCells(plan: Plan, message: Message, chosen: number[], key: CryptoKey, slots: number) {
  const series = seriesOf(plan, message, message.noise_numerator!)
  const cells = cellCount(questionsOf(plan, message), message.parities)
  for (let attempt = 0; ; attempt++) {
    const reports = asReports(plan, message, chosen, await permanentFlips(key, series, message, cells, chosen, attempt))
    if (reports.length <= slots) return reports
  }
}

/** The numbers of the cells that are set after flipping, in ascending order. chosen: those that were set before. */
export function asReports(plan: Plan, message: Message, chosen: number[], flips: number[]): Bytes[] {
  const length = Math.ceil(reportBits(plan, message) / 8)
  const set = new Set(chosen)
  for (const flip of flips) set.delete(flip) || set.add(flip)
  return [...set].sort((a, b) => a - b).map((cell) => lowestFirst(cell, length))
}

/** Bit i is in byte i // 8 at place i % 8, counted from the lowest bit. */
export function packed(bits: boolean[]): Bytes {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  bits.forEach((bit, i) => bit && (bytes[i >> 3] |= 1 << (i & 7)))
  return bytes
}

/** Little-endian, by division: shifts would wrap at four bytes. A byte array takes remainders by itself. */
const lowestFirst = (number: number, length: number): Bytes =>
  Uint8Array.from({ length }, (_, i) => Math.floor(number / 256 ** i))

/** The number of the cell in a report, which zeros may follow. */
export const cellOf = (report: Bytes): number => report.reduceRight((number, byte) => number * 256 + byte, 0)

/**
 * For each pool, the reports of its messages as plaintexts, followed by dummies for its remaining slots. If services add
 * noise, each lane of a message has one slot.
 */
export function padded(plan: Plan, pools: Pools, slots: readonly number[], reports: Bytes[][]): Bytes[] {
  const length = plaintextBytes(plan)
  const dummy = plaintext(DUMMY, new Uint8Array(0), length)
  return pools.flatMap((pool, i) => {
    const message = plan.messages[pool[0]]
    const places: Bytes[] = Array(slots[i]).fill(dummy)
    const real = pool.flatMap((message) => reports[message].map((report) => plaintext(message, report, length)))
    real.forEach((each, at) => (places[message.added ? laneOf(questionsOf(plan, message), cellOf(each.subarray(3))) : at] = each))
    return places
  })
}

const plaintext = (message: number, report: Bytes, length: number): Bytes =>
  concat(Uint8Array.of(VERSION), twoBytes(message), report, new Uint8Array(length - 3 - report.length))
