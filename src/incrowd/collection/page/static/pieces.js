import { el, phrase } from "./dom.js"

const MOST_SHOWN = 5 // real pieces, and invented ones
const BETWEEN = " / " // between the answers of one piece

/** Whether pieces are mixed with those of others; otherwise, invented pieces hide nothing. */
export const areMixed = ({ promise }, bundle) => !(bundle.local_only || promise.local_only || promise.repeated)

/** The approximate number of devices that invent the same piece, with two digits. */
export const inventedPieces = ({ survey }, { noise_numerator: noise }) => Number(((survey.crowd * noise) / 2 ** 32).toPrecision(2))

/** What a message of cells could send: pieces with the person's answers, and others that are invented at random. */
export function pieces(plan, message, reports, mixed, words) {
  const asked = message.questions.map((id) => plan.survey.question.find((question) => question.id === id))
  const listed = (some) => {
    const rest = some.length - MOST_SHOWN
    const shown = some.slice(0, MOST_SHOWN).flatMap((report, i) => [i ? "; " : "", ...inWords(asked, report, words)])
    return [shown, rest > 0 ? ` ${words.say("more_numbers", { rest })}` : ""]
  }
  const real = reports.filter(([{ invented }]) => !invented)
  const others = reports.filter(([{ invented }]) => invented)
  const nothing = message.added ? "dummy" : asked.length > 1 && !message.parities ? "left_out" : "nothing_sent"
  return [
    el("div", {}, real.length ? listed(real) : words.say(nothing)),
    others.length ? el("div", { class: "quiet" }, words.say("invented"), " ", listed(others)) : null,
    real.length && mixed && !message.added ? el("div", { class: "quiet" }, words.say("hidden_among", { invented: inventedPieces(plan, message) })) : null,
  ]
}

/**
 * The answers of one piece, or "any answer" if it has none for a question that allows several. A parity states that
 * exactly one of two answers was given.
 */
function inWords(asked, report, words) {
  if (report[0].either) return [words.say("either"), " ", ...report.flatMap((one, i) => [i ? BETWEEN : "", ...inFull(asked, one, words)])]
  return asked.flatMap((question, i) => {
    const statement = report.find((one) => one.question === question.id)
    const text = statement ? words.answer(question, statement.answers[0]) : { text: words.say("whatever"), lang: null }
    return [i ? BETWEEN : "", phrase("span", text)]
  })
}

/** An answer after its question. */
function inFull(asked, { question: id, answers }, words) {
  const question = asked.find((one) => one.id === id)
  return [phrase("span", words.question(question)), " ", phrase("span", words.answer(question, answers[0]))]
}
