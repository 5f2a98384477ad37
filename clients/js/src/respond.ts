import { bitFlip, channelOf, type Channel } from "./channels.js"
import type { Message } from "./plan.js"
import { bitsOf, cohortBits, isMemoized, type Question } from "./questions.js"
import type { Draw } from "./random.js"

/** Bits of a record that go through one channel. */
interface Segment {
  readonly start: number
  stop: number
  readonly channel: Channel
}

/** Sends each record through the channels of a message. Memoized questions already have their permanent responses. */
export function respond(rows: boolean[][], message: Message, questions: Question[], draw: Draw): boolean[][] {
  const reports = rows.map((row) => [...row])
  for (const { start, stop, channel } of segmentsOf(message, questions)) {
    const answers = rows.map((row) => row.slice(start, stop))
    const sent = channel.respond(answers, draw)
    reports.forEach((row, copy) => row.splice(start, stop - start, ...sent[copy]))
  }
  return reports
}

/** The cohort of a text question is not randomized; neighboring segments with the same flip are joined. */
function segmentsOf(message: Message, questions: Question[]): Segment[] {
  const segments: Segment[] = []
  let end = 0
  for (const question of questions) {
    const start = end + cohortBits(question)
    end += bitsOf(question)
    const channel = remainingChannel(message, question)
    const last = segments.at(-1)
    if (last && channel && last.stop === start && sameFlip(last.channel, channel)) last.stop = end
    else if (channel) segments.push({ start, stop: end, channel })
  }
  return segments
}

/** The channel of a question that is still to be drawn; null if its response is permanent. */
function remainingChannel(message: Message, question: Question): Channel | null {
  if (!question.randomizer) return isMemoized(question) ? null : bitFlip(message.noise_numerator!)
  const channel = channelOf(question.randomizer, bitsOf(question), question.id)
  return isMemoized(question) ? channel.again! : channel
}

const sameFlip = (a: Channel, b: Channel): boolean => a.flip !== undefined && a.flip === b.flip
