import { said, stated } from "./controls.js"
import { el, phrase } from "./dom.js"
import { pieces } from "./pieces.js"

/** What a person was asked and answered, next to an example of what could be sent. mixed: whether pieces are mixed with those of others. */
export function review({ bundle: { plan } }, answers, example, mixed, words) {
  const sent = plan.messages.every(({ added }) => added) ? "sent_as" : "example"
  const heads = ["question", "your_answer", sent].map((key) => el("th", { scope: "col" }, words.say(key)))
  const asked = plan.survey.question.filter(({ id }) => id in answers)
  const rows = asked.map((question) =>
    el(
      "tr",
      {},
      phrase("th", words.question(question), { scope: "row" }),
      el("td", { "data-head": words.say("your_answer") }, said(question, answers[question.id], words)),
      el("td", { "data-head": words.say(sent) }, couldBeSent(plan, question, { answers, example, mixed }, words)),
    ),
  )
  const table = el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))
  const number = plan.survey.question.length - asked.length
  const rest = () => el("p", { class: "quiet", id: "unasked" }, words.say(number > 1 ? "unasked_several" : "unasked_one", { number }))
  return number ? [table, rest()] : [table]
}

/** The example for a question. A message of cells is shown at the first of its questions that was asked. */
function couldBeSent(plan, question, { answers, example, mixed }, words) {
  const holding = plan.messages.flatMap((message, at) => (message.questions.includes(question.id) ? [{ message, reports: example[at] }] : []))
  if (!holding.length) return said(question, answers[question.id], words) // open
  const joint = holding.find(({ message }) => !message.cells)
  const cells = holding.filter(({ message }) => message.cells)
  const first = ({ questions }) => questions.find((id) => id in answers)
  return [
    joint ? inReport(question, joint, words) : null,
    cells.map(({ message, reports }) =>
      first(message) === question.id ? pieces(plan, message, reports, mixed, words) : beside(plan, first(message), words),
    ),
  ]
}

function inReport(question, { message: { copies }, reports: [first] }, words) {
  const { answers } = first.find((one) => one.question === question.id)
  return [stated(question, answers, words), copies > 1 ? ` ${words.say("more_copies", { rest: copies - 1 })}` : ""]
}

/** A reference to the question at which the pieces of a message are shown. */
function beside(plan, shown, words) {
  const first = plan.survey.question.find(({ id }) => id === shown)
  return el("div", { class: "quiet" }, words.say("together_with"), " ", phrase("span", words.question(first)))
}
