// Makes reports from given words, those of amounts first: of each case the reports of one message, and how many words
// were left.
import { readFileSync } from "node:fs"

const client = await import(process.argv[2])
const { plan, key, cases } = JSON.parse(readFileSync(0))
const deviceKey = key === null ? null : await client.hmacKey(client.fromHex(key))

const typed = (question, answer) => {
  if (answer === null) return null
  if (question.type === "yesno") return answer === "yes"
  if (question.type === "multi") return answer === "none" ? [] : answer.split(";")
  return answer
}

async function replay({ message, answers, words }) {
  let at = 0
  const draw = (count) => {
    const halves = words.slice(at, (at += count)).flatMap((word) => [word.slice(8), word.slice(0, 8)])
    return Uint32Array.from(halves, (half) => parseInt(half, 16))
  }
  const given = Object.fromEntries(plan.survey.question.map((q) => [q.id, typed(q, answers[q.id])]))
  const encoded = client.encodeAll(plan, given, draw)
  const reports = await client.reportsOf(plan, plan.messages[message], encoded, draw, deviceKey)
  return { reports: reports.map(client.toHex), left: words.length - at }
}

const replayed = []
for (const one of cases) replayed.push(await replay(one))
process.stdout.write(JSON.stringify(replayed))
