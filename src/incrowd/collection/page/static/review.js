import { said, stated } from "./controls.js"
import { el, phrase } from "./dom.js"
import { pieces } from "./pieces.js"

/** A person's answers next to an example of what could be sent. mixed: whether pieces are mixed with those of others. */
export function review({ bundle: { plan } }, answers, example, mixed, words) {
  const sent = plan.messages.every(({ added }) => added) ? "sent_as" : "example"
  const heads = ["question", "your_answer", sent].map((key) => el("th", { scope: "col" }, words.say(key)))
  const rows = plan.survey.question.map((question) =>
    el(
      "tr",
      {},
      phrase("th", words.question(question), { scope: "row" }),
      el("td", { "data-head": words.say("your_answer") }, said(question, answers[question.id], words)),
      el("td", { "data-head": words.say(sent) }, couldBeSent(plan, question, { answer: answers[question.id], example, mixed }, words)),
    ),
  )
  return el("table", {}, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))
}

/** The example for a question. A message of cells is shown at the first of its questions. */
function couldBeSent(plan, question, { answer, example, mixed }, words) {
  const holding = plan.messages.flatMap((message, at) => (message.questions.includes(question.id) ? [{ message, reports: example[at] }] : []))
  if (!holding.length) return said(question, answer, words) // open
  const joint = holding.find(({ message }) => !message.cells)
  const cells = holding.filter(({ message }) => message.cells)
  return [
    joint ? inReport(question, joint, words) : null,
    cells.map(({ message, reports }) =>
      message.questions[0] === question.id ? pieces(plan, message, reports, mixed, words) : beside(plan, message, words),
    ),
  ]
}

function inReport(question, { message: { copies }, reports: [first] }, words) {
  const { answers } = first.find((one) => one.question === question.id)
  return [stated(question, answers, words), copies > 1 ? ` ${words.say("more_copies", { rest: copies - 1 })}` : ""]
}

/** A reference to the question at which the pieces of a message are shown. */
function beside(plan, { questions }, words) {
  const first = plan.survey.question.find(({ id }) => id === questions[0])
  return el("div", { class: "quiet" }, words.say("together_with"), " ", phrase("span", words.question(first)))
}
