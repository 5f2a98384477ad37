import { el, said } from "./dom.js"
import { toldOf } from "./fields.js"

const MOST_SHOWN = 5 // of the numbers that are reports of their own

/** What a person answered, beside an example of what could be sent. */
export function review(survey, answers, example, words) {
  const { question: questions } = survey.bundle.plan.survey
  const heads = ["question", "your_answer", "example"].map((key) => el("th", { scope: "col" }, words.say(key)))
  const rows = questions.map((question) =>
    el(
      "tr",
      {},
      said("th", words.question(question), { scope: "row" }),
      el("td", { "data-head": words.say("your_answer") }, answered(question, answers[question.id], words)),
      el("td", { "data-head": words.say("example") }, couldBeSent(survey.bundle.plan, question, example, words)),
    ),
  )
  return el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))
}

const listed = (question, answers, words) =>
  answers.flatMap((answer, i) => [i ? "; " : "", said("span", words.answer(question, answer))])

function answered(question, answer, words) {
  if (answer === null) return listed(question, ["no answer"], words)
  if (typeof answer === "boolean") return listed(question, [answer ? "yes" : "no"], words)
  if (typeof answer === "number") return `${words.number(answer)} (${toldOf(question, answer, words)})`
  if (Array.isArray(answer)) return answer.length ? listed(question, answer, words) : words.say("none")
  return question.type === "text" ? answer : listed(question, [answer], words)
}

function couldBeSent(plan, question, example, words) {
  const found = example.flat().filter((one) => one.question === question.id)
  const { cells, copies } = plan.messages.find((message) => message.questions.includes(question.id))
  if (cells) {
    const shown = found.slice(0, MOST_SHOWN).flatMap((one) => one.answers)
    const rest = found.length - shown.length
    return found.length
      ? [listed(question, shown, words), rest ? ` ${words.say("more_numbers", { rest })}` : ""]
      : words.say("nothing_sent")
  }
  const more = copies > 1 ? ` ${words.say("more_copies", { rest: copies - 1 })}` : ""
  return [ticked(question, found[0].answers, words), more].flat()
}

function ticked(question, answers, words) {
  if (question.type === "text") {
    const [cohort, ...bits] = answers.map((answer) => answer.split(" ")[1])
    return words.say("bits", { cohort: Number(cohort), bits: bits.join(", ") || "–" })
  }
  return answers.length ? listed(question, answers, words) : words.say("nothing_ticked")
}
