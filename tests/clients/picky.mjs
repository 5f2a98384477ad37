// People who look at examples until one says "no", and then send; writes the uploads behind each other. With `wrong`
// the page is one that sends what it showed last.
import { readFileSync, writeSync } from "node:fs"
import { inMemory } from "./memory.mjs"

const client = await import(process.argv[2])
const { text, digest, people, outbox, wrong } = JSON.parse(readFileSync(0))
const { Outbox } = await import(outbox)
const survey = await client.readBundle(new TextEncoder().encode(text), digest)
const { plan, key_configuration: key } = survey.bundle
const MOST = 100 // examples that she looks at

const sent = []
globalThis.fetch = async (_, { body }) => (sent.push(new Uint8Array(body)), new Response(null, { status: 201 }))

/** Shows a report that is drawn like any other, and seals that one. */
function showing() {
  let report
  return {
    ...client,
    async drawExample(_, answers) {
      const encoded = client.encodeAll(plan, answers, client.systemWords)
      report = (await client.reportsOf(plan, plan.messages[0], encoded, client.systemWords, null))[0]
      return [[[{ question: "smokes", answers: [report[0] & 1 ? "yes" : "no"] }]]]
    },
    async sealAnswers() {
      const plaintext = client.concat(Uint8Array.of(1, 0, 0), report)
      return client.concat(survey.digest, new Uint8Array(18), ...(await client.seal(key, client.REPORT, survey.digest, [plaintext])))
    },
  }
}

for (const smokes of people) {
  const box = await Outbox.opened(wrong ? showing() : client, survey, { storage: inMemory() })
  for (let looks = 0; looks < MOST; looks++) {
    const [[[{ answers }]]] = await box.example({ smokes })
    if (answers[0] === "no") break
  }
  await box.send({ smokes }, {}, () => null)
}
const bytes = Buffer.concat(sent)
for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
