// Devices of a rehearsal in Node: reads a link and people as one line of JSON, and writes the outcome of each person's
// upload on a line. Ends when its input does, with whoever started it.
import { createInterface } from "node:readline"
import { askedQuestions, fetchSurvey, requestTokens, sealAnswers, sendUpload } from "./incrowd-sdk.js"

const lines = createInterface({ input: process.stdin })
lines.once("close", () => process.exit(1))
const { link, people, atOnce } = JSON.parse(await new Promise((read) => lines.once("line", read)))
const survey = await fetchSurvey(link)
async function send({ answers, code, stratum }) {
  try {
    const asked = askedQuestions(survey, answers).map((id) => [id, answers[id]]) // a file may have others
    const sealed = await sealAnswers(survey, Object.fromEntries(asked), { code, stratum })
    await sendUpload(survey, await requestTokens(survey, sealed))
    return "stored"
  } catch (error) {
    return error.code ?? String(error)
  }
}

const waiting = people.values()
async function work() {
  for (const person of waiting) console.log(await send(person))
}
await Promise.all(Array.from({ length: atOnce }, work))
process.exit(0)
