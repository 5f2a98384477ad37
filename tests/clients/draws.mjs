// Everything that a person's coins can lead to at the survey page, in each situation: for each answer and each list of
// flips, what reached the shuffler. Reads the situations as JSON, writes the bodies as JSON.
import { readFileSync } from "node:fs"
import { inMemory } from "./memory.mjs"

const client = await import(process.argv[2])
const { text, digest, outbox, situations, kinds, codes } = JSON.parse(readFileSync(0))
const { Outbox } = await import(outbox)
const survey = { ...(await client.readBundle(new TextEncoder().encode(text), digest)), code: codes[0] }
const patience = { whole: 2, one: 1000, first: 1, longest: 1 }

// Coins: all words of a draw are below the probability of a flip, or above. Keys for sealing stay random.
let coin
const system = crypto.getRandomValues.bind(crypto)
crypto.getRandomValues = (array) => (array instanceof Uint32Array ? array.fill(coin ? 0 : 2 ** 32 - 1) : system(array))
let flip // the coin of the next draw
const sdk = { ...client, sealAnswers: (...given) => ((coin = flip()), client.sealAnswers(...given)) }

// The shuffler: what comes next, or what is right.
let [faults, bodies] = [[], []]
globalThis.fetch = async (_, { method, body }) => {
  bodies.push(Buffer.from(body).toString("hex"))
  const fault = faults.shift()
  if (fault === "lost") throw new TypeError("no route")
  if (typeof fault === "number") return new Response(null, { status: fault })
  if (fault) return new Response(JSON.stringify({ type: `urn:incrowd:problem:${fault}`, status: kinds[fault] }), { status: kinds[fault] })
  return new Response(null, { status: method === "DELETE" ? 204 : 201 })
}

/** A window of one browser. code: of its link. */
const windowOf = (storage, code = codes[0]) => Outbox.opened(sdk, { ...survey, code }, { storage, patience })
const sends = (window, smokes, options = {}) => window.send({ smokes }, options, () => null).catch((error) => error.code)

const acts = {
  /** Refused as often as it is said; then again, also in a window that is opened later. */
  async refused(storage, smokes, answers) {
    const window = await windowOf(storage)
    for (const answer of answers) {
      faults = [answer]
      await sends(window, smokes)
    }
    faults = [answers[0]]
    await sends(await windowOf(storage), smokes)
    faults = []
    await sends(await windowOf(storage), smokes)
  },
  async withdrawn(storage, smokes) {
    const window = await windowOf(storage)
    await sends(window, smokes)
    await window.withdraw()
    await sends(window, smokes)
    await sends(await windowOf(storage), smokes)
  },
  async corrected(storage, smokes) {
    const window = await windowOf(storage, "")
    faults = ["code-unknown", "code-unknown"]
    await sends(window, smokes, { code: codes[0] })
    await sends(window, smokes, { code: codes[1] })
  },
  /** The organizer replaces an invitation that was refused. */
  async "a new link"(storage, smokes) {
    faults = ["code-unknown", "code-unknown"]
    await sends(await windowOf(storage), smokes)
    await sends(await windowOf(storage, codes[1]), smokes)
  },
  async "two windows"(storage, smokes) {
    const windows = [await windowOf(storage), await windowOf(storage)]
    for (const window of windows) await sends(window, smokes)
  },
  async closed(storage, smokes) {
    const window = await windowOf(storage)
    faults = ["lost", "lost"]
    await sends(window, smokes)
    await storage.tidy(Date.parse(survey.bundle.closes))
    faults = []
    await sends(await windowOf(storage), smokes)
  },
}

/** What the shuffler sees on each path: first without flips, then with one more flip at each draw that was made. */
async function paths({ act, answers }, smokes) {
  const [waiting, seen] = [[[]], []]
  while (waiting.length) {
    const [start, taken] = [waiting.pop(), []]
    flip = () => (taken.push(start[taken.length] ?? false), taken.at(-1))
    faults = []
    bodies = []
    await acts[act](inMemory(), smokes, answers)
    seen.push({ flips: taken, bodies })
    for (let at = start.length; at < taken.length; at++) waiting.push([...taken.slice(0, at), true])
  }
  return seen
}

const found = {}
for (const [name, each] of Object.entries(situations)) found[name] = { yes: await paths(each, true), no: await paths(each, false) }
process.stdout.write(JSON.stringify(found))
