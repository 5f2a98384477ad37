import { el, said } from "./dom.js"

const MOST_SHOWN = 5 // pieces, of one's own and of invented ones
const BETWEEN = " / " // the answers that one piece says

/** Whether pieces are mixed with those of others: the invented ones hide something only then. */
export const areMixed = ({ promise }, bundle) => !(bundle.local_only || promise.local_only || promise.repeated)

/** About how many people's devices invent the same piece, with two digits. */
export const inventedPieces = ({ survey }, { noise_numerator: noise }) => Number(((survey.crowd * noise) / 2 ** 32).toPrecision(2))

/** What a message of cells could send: pieces that say what a person answered, and others that chance invents. */
export function pieces(plan, message, reports, mixed, words) {
  const asked = message.questions.map((id) => plan.survey.question.find((question) => question.id === id))
  const listed = (some) => {
    const rest = some.length - MOST_SHOWN
    const shown = some.slice(0, MOST_SHOWN).flatMap((report, i) => [i ? "; " : "", ...inWords(asked, report, words)])
    return [shown, rest > 0 ? ` ${words.say("more_numbers", { rest })}` : ""]
  }
  const own = reports.filter(([{ invented }]) => !invented)
  const others = reports.filter(([{ invented }]) => invented)
  return [
    el("div", {}, own.length ? listed(own) : words.say(asked.length > 1 && !message.parities ? "left_out" : "nothing_sent")),
    others.length ? el("div", { class: "quiet" }, words.say("invented"), " ", listed(others)) : null,
    own.length && mixed ? el("div", { class: "quiet" }, words.say("hidden_among", { invented: inventedPieces(plan, message) })) : null,
  ]
}

/**
 * The answers of one piece; where it says nothing of a question that allows several, whatever was chosen there. A piece
 * of two questions of many says that exactly one of both answers was given.
 */
function inWords(asked, report, words) {
  if (report[0].either) return [words.say("either"), " ", ...report.flatMap((one, i) => [i ? BETWEEN : "", ...inFull(asked, one, words)])]
  return asked.flatMap((question, i) => {
    const found = report.find((one) => one.question === question.id)
    const text = found ? words.answer(question, found.answers[0]) : { text: words.say("whatever"), lang: null }
    return [i ? BETWEEN : "", said("span", text)]
  })
}

/** An answer behind its question. */
function inFull(asked, { question: id, answers }, words) {
  const question = asked.find((one) => one.id === id)
  return [said("span", words.question(question)), " ", said("span", words.answer(question, answers[0]))]
}
