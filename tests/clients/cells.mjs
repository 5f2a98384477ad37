// The cells that many people with the same answers send: how often each, and how often each set of them, written as a
// number with a bit for each cell (of at most 16 cells).
import { readFileSync } from "node:fs"

const client = await import(process.argv[2])
const { plan, message, answers, people } = JSON.parse(readFileSync(0))
const bits = Math.min(client.cellCount(client.questionsOf(plan, plan.messages[message]), plan.messages[message].parities), 16)
const cells = {}
const sets = new Array(2 ** bits).fill(0)

let left = new Uint32Array(0)
function draw(words) {
  if (left.length < 2 * words) left = client.systemWords(8192)
  const taken = left.subarray(0, 2 * words)
  left = left.subarray(2 * words)
  return taken
}

const encoded = client.encodeAll(plan, answers, draw)
for (let i = 0; i < people; i++) {
  const reports = await client.reportsOf(plan, plan.messages[message], encoded, draw, null)
  const sent = reports.map((report) => report.reduceRight((number, byte) => number * 256 + byte, 0))
  for (const cell of sent) cells[cell] = (cells[cell] ?? 0) + 1
  sets[sent.reduce((set, cell) => set + 2 ** cell, 0) % 2 ** bits]++
}
process.stdout.write(JSON.stringify({ cells, sets }))
