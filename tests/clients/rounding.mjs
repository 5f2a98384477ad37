// Plaintexts of people whose noise is drawn again and again for want of slots. The first word is all zeros, which rounds
// up whatever has a chance of it; the others are the operating system's. Writes them, and how many words were drawn.
import { readFileSync } from "node:fs"

const client = await import(process.argv[2])
const { plan, slots, answers, people } = JSON.parse(readFileSync(0))

async function person() {
  let words = 0
  const draw = (count) => {
    words += count
    return words === count ? new Uint32Array(2 * count) : client.systemWords(count)
  }
  const made = await client.plaintexts(plan, client.sharedPools(plan), slots, answers, draw, null)
  return { plaintexts: made.map(client.toHex), words }
}

const found = []
for (let i = 0; i < people; i++) found.push(await person())
process.stdout.write(JSON.stringify(found))
