// Devices of a rehearsal in Node: reads a link and people as one line of JSON, and writes the outcome of each person's
// upload on a line. Answers are as in a file of answers. Ends when its input does, with whoever started it.
import { createInterface } from "node:readline"
import { fetchSurvey, requestTokens, sealAnswers, sendUpload } from "./incrowd-sdk.js"

const lines = createInterface({ input: process.stdin })
lines.once("close", () => process.exit(1))
const { link, people, atOnce } = JSON.parse(await new Promise((read) => lines.once("line", read)))
const survey = await fetchSurvey(link)
const typed = { yesno: (text) => text === "yes", multi: (text) => (text === "none" ? [] : text.split(";")), number: Number, amount: Number }

function answersOf(texts) {
  const answers = survey.bundle.plan.survey.question.map(({ id, type }) => {
    const text = texts[id] ?? null
    return [id, text !== null && Object.hasOwn(typed, type) ? typed[type](text) : text]
  })
  return Object.fromEntries(answers)
}

async function send({ answers, code, stratum }) {
  try {
    const sealed = await sealAnswers(survey, answersOf(answers), { code, stratum })
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
