import { el, said } from "./dom.js"

const MOST_SHOWN = 5 // invented pieces
const BETWEEN = " / " // the answers that one piece says

/** Whether pieces are mixed with those of others: the invented ones hide something only then. */
export const areMixed = ({ promise }, bundle) => !(bundle.local_only || promise.local_only || promise.repeated)

/** About how many people's devices invent the same piece, with two digits. */
export const inventedPieces = ({ survey }, { noise_numerator: noise }) => Number(((survey.crowd * noise) / 2 ** 32).toPrecision(2))

/** What a message of cells could send: pieces that say what a person answered, and others that chance invents. */
export function pieces(plan, message, reports, mixed, words) {
  const asked = message.questions.map((id) => plan.survey.question.find((question) => question.id === id))
  const listed = (some) => some.flatMap((report, i) => [i ? "; " : "", ...inWords(asked, report, words)])
  const own = reports.filter(([{ invented }]) => !invented)
  const others = reports.filter(([{ invented }]) => invented)
  const rest = others.length - MOST_SHOWN
  const more = rest > 0 ? ` ${words.say("more_numbers", { rest })}` : ""
  return [
    el("div", {}, own.length ? listed(own) : words.say(asked.length > 1 ? "left_out" : "nothing_sent")),
    others.length ? el("div", { class: "quiet" }, words.say("invented"), " ", listed(others.slice(0, MOST_SHOWN)), more) : null,
    own.length && mixed ? el("div", { class: "quiet" }, words.say("hidden_among", { invented: inventedPieces(plan, message) })) : null,
  ]
}

/** The answers of one piece; where it says nothing of a question that allows several, whatever was chosen there. */
const inWords = (asked, report, words) =>
  asked.flatMap((question, i) => {
    const found = report.find((one) => one.question === question.id)
    const text = found ? words.answer(question, found.answers[0]) : { text: words.say("whatever"), lang: null }
    return [i ? BETWEEN : "", said("span", text)]
  })
