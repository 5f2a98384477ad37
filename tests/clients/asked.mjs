// The questions that people are asked after each of some sets of answers, by a plan that the client accepts.
import { readFileSync } from "node:fs"

const client = await import(process.argv[2])
const { plan, answers } = JSON.parse(readFileSync(0))
client.checkPlan(plan)
process.stdout.write(JSON.stringify(answers.map((each) => client.askedQuestions({ bundle: { plan } }, each))))
