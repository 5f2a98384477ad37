import { channelOf, type Channel, type Staged } from "./channels.js"
import { bernoulli, bitOf } from "./flip.js"
import type { Message } from "./plan.js"
import { bitsOf, cohortBits, isMemoised, type Question } from "./questions.js"
import { uniformBelow, type Draw } from "./random.js"

/** Bits of a record that go through one channel. */
interface Segment {
  readonly start: number
  stop: number
  readonly channel: Channel
}

/** Records, each through the channels of a message. Memoised questions hold their permanent responses already. */
export function respond(rows: boolean[][], message: Message, questions: Question[], draw: Draw): boolean[][] {
  const found = rows.map((row) => [...row])
  for (const { start, stop, channel } of segmentsOf(message, questions)) {
    const answers = rows.map((row) => row.slice(start, stop))
    const sent = through(channel, answers, draw)
    found.forEach((row, copy) => row.splice(start, stop - start, ...sent[copy]))
  }
  return found
}

/** The cohort of a text question goes as it is; neighbours with the same flip are one. */
function segmentsOf(message: Message, questions: Question[]): Segment[] {
  const found: Segment[] = []
  let end = 0
  for (const question of questions) {
    const start = end + (question.type === "text" ? cohortBits(question) : 0)
    end += bitsOf(question)
    const channel = left(message, question)
    const last = found.at(-1)
    if (last && channel && last.stop === start && sameFlip(last.channel, channel)) last.stop = end
    else if (channel) found.push({ start, stop: end, channel })
  }
  return found
}

/** What is left to be drawn of a question's randomness. */
function left(message: Message, question: Question): Channel | null {
  if (!question.randomizer) return isMemoised(question) ? null : { flip: message.noise_numerator! }
  const channel = channelOf(question.randomizer, bitsOf(question), question.id)
  return isMemoised(question) ? channel.again! : channel
}

const sameFlip = (a: Channel, b: Channel): boolean => "flip" in a && "flip" in b && a.flip === b.flip

function through(channel: Channel, rows: boolean[][], draw: Draw): boolean[][] {
  if ("keep" in channel) return throughOptions(channel.keep, channel.options, rows, draw)
  if ("flip" in channel) return flipped(channel.flip, rows, draw)
  return throughStages(channel, rows, draw)
}

const flipped = (numerator: number, rows: boolean[][], draw: Draw): boolean[][] =>
  combined(rows, [numerator], draw, (bit, [flip]) => bit !== flip)

function throughStages({ stages }: Staged, rows: boolean[][], draw: Draw): boolean[][] {
  for (const [zero, one] of stages)
    rows = combined(rows, [zero, 2 ** 32 - one], draw, (bit, [raised, lowered]) => (bit ? !lowered : raised))
  return rows
}

/** Every bit with fresh bits of these probabilities, all of the first drawn before the second. */
function combined(
  rows: boolean[][],
  numerators: number[],
  draw: Draw,
  report: (bit: boolean, drawn: boolean[]) => boolean,
): boolean[][] {
  const width = rows[0].length
  const masks = numerators.map((numerator) => bernoulli(rows.length * width, numerator, draw))
  return rows.map((row, copy) => row.map((bit, i) => report(bit, masks.map((mask) => bitOf(mask, copy * width + i)))))
}

/** The option that is set is kept, or becomes one of the others: 1 to options - 1 places on. */
function throughOptions(keep: number, options: number, rows: boolean[][], draw: Draw): boolean[][] {
  const kept = bernoulli(rows.length, keep, draw)
  const steps = uniformBelow(options - 1, rows.length, draw)
  return rows.map((row, copy) => {
    const sent = bitOf(kept, copy) ? row.indexOf(true) : (row.indexOf(true) + 1 + steps[copy]) % options
    return row.map((_, i) => i === sent)
  })
}
