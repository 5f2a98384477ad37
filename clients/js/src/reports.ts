import { concat, twoBytes, type Bytes } from "./bytes.js"
import { record, type Answers } from "./encode.js"
import { bernoulli, bitOf } from "./flip.js"
import { plaintextBytes, questionsOf, reportBits, type Message, type Plan } from "./plan.js"
import type { Draw } from "./random.js"

const VERSION = 1
const DUMMY = 65535

/** The reports of one message, from its record and the bits to flip in every copy. */
export function reportsOf(plan: Plan, message: Message, bits: boolean[], flipped: Uint32Array): Bytes[] {
  const copies = Array.from({ length: message.copies }, (_, copy) =>
    bits.map((bit, i) => bit !== bitOf(flipped, copy * bits.length + i)),
  )
  if (!message.apart) return copies.map(packed)
  const length = Math.ceil(reportBits(plan, message) / 8)
  return copies.flatMap((copy) => copy.flatMap((bit, i) => (bit ? [lowestFirst(i, length)] : [])))
}

/** Bit i stands in byte i // 8 at place i % 8. */
function packed(bits: boolean[]): Bytes {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  bits.forEach((bit, i) => bit && (bytes[i >> 3] |= 1 << (i & 7)))
  return bytes
}

const lowestFirst = (number: number, length: number): Bytes =>
  Uint8Array.from({ length }, (_, i) => (number >>> (8 * i)) & 255)

/** What a person's device seals, in the order of the messages: reports, and dummies in what is left of the slots. */
export function plaintexts(plan: Plan, slots: readonly number[], answers: Answers, draw: Draw): Bytes[] {
  const records = plan.messages.map((message) => record(questionsOf(plan, message), answers))
  for (;;) {
    const reports = plan.messages.map((message, i) => {
      const lanes = records[i].length * message.copies
      return reportsOf(plan, message, records[i], bernoulli(lanes, message.noise_numerator!, draw))
    })
    if (reports.every((own, i) => own.length <= slots[i])) return padded(plan, slots, reports)
  }
}

export function padded(plan: Plan, slots: readonly number[], reports: Bytes[][]): Bytes[] {
  const length = plaintextBytes(plan)
  const all = reports.flatMap((own, message) => own.map((report) => plaintext(message, report, length)))
  const room = slots.reduce((sum, count) => sum + count, 0)
  return [...all, ...Array.from({ length: room - all.length }, () => plaintext(DUMMY, new Uint8Array(0), length))]
}

const plaintext = (message: number, report: Bytes, length: number): Bytes =>
  concat(Uint8Array.of(VERSION), twoBytes(message), report, new Uint8Array(length - 3 - report.length))
