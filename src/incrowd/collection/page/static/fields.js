import { controlOf, NO_ANSWER, Wrong } from "./controls.js"
import { el, phrase } from "./dom.js"

/**
 * A question on the page: its element, and how its answer is read. draft: what was typed or chosen so far, which
 * outlives the element. changed: is called after every change. row: whether it is a row of a matrix.
 */
export function fieldOf(question, number, words, draft, changed, row = false) {
  const id = `q${number}`
  const described = `${id}-help ${id}-error`
  const control = controlOf(question, words)
  const { controls, grouped, read, first } = control.input({ question, id, words, draft, changed, described, ...words.field(question) })
  const label = words.question(question)
  const error = el("p", { class: "wrong", id: `${id}-error` })
  const help = [phrase("span", words.help(question))]
  const hints = row ? help : [help, " ", phrase("span", words.hint(question)), " ", notes(question, control, words)]
  const below = [el("p", { class: "quiet", id: `${id}-help` }, hints), controls, error]
  const element = grouped && row ? rowOf(id, label, described, below) : questionOf(id, label, described, below, grouped)
  return { question, label, element, first, read, mark: marking(element, error, words) }
}

function questionOf(id, label, described, below, grouped) {
  const text = phrase(grouped ? "legend" : "label", label, { class: "asked", for: grouped ? null : id })
  return el(grouped ? "fieldset" : "div", { class: "question", "aria-describedby": grouped ? described : null }, text, below)
}

/** A row of a matrix: a group of its own, so that it reads the same as a table and below each other. */
function rowOf(id, label, described, below) {
  const text = phrase("p", label, { class: "asked", id: `${id}-text` })
  return el("div", { class: "item", role: "radiogroup", "aria-labelledby": `${id}-text`, "aria-describedby": described }, text, below)
}

const marking = (element, error, words) => (wrong) => {
  error.textContent = wrong ? words.say(wrong.key, wrong.values) : ""
  for (const input of element.querySelectorAll("input")) {
    wrong ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid")
  }
}

const MOST_COLUMNS = 7 // of a table; more if all of its answers are short, as in a scale from 0 to 10
const [MOST_SHORT, SHORT] = [11, 3]

/**
 * Questions with the same answers: a table in wide windows, whose columns have the answers on top, and otherwise one below
 * the other, each with all answers.
 */
export function matrixOf(matrix, fields, words) {
  const { question, element: first } = fields[0]
  const answers = [...first.querySelectorAll("label")]
  const heads = answers.map((label) => phrase("span", { text: label.textContent, lang: label.getAttribute("lang") }))
  const most = answers.every(({ textContent }) => textContent.length <= SHORT) ? MOST_SHORT : MOST_COLUMNS
  const fits = first.classList.contains("item") && answers.length <= most
  const hints = [phrase("span", words.own(matrix.help ?? "")), " ", notes(question, controlOf(question, words), words)]
  const element = el(
    "fieldset",
    { class: fits ? "question matrix" : "question", "aria-describedby": `m-${fields[0].element.id}` },
    phrase("legend", words.own(matrix.text), { class: "asked" }),
    el("p", { class: "quiet", id: `m-${fields[0].element.id}` }, hints),
    fits ? el("div", { class: "scale", "aria-hidden": "true" }, el("span"), heads) : null,
    fields.map((field) => field.element),
  )
  element.style.setProperty("--answers", answers.length)
  return { element, fields }
}

/** What a person has to agree to. Nothing about it is sent. kept: whether she `agreed` so far. */
export function consentOf(text, words, kept, changed) {
  const onchange = () => {
    kept.agreed = input.checked
    changed({ more: 0, fewer: 0 })
  }
  const input = el("input", { type: "checkbox", id: "agree", checked: kept.agreed, "aria-describedby": "agree-help agree-error", onchange })
  const error = el("p", { class: "wrong", id: "agree-error" })
  const label = { text: words.say("consent"), lang: null }
  const element = el(
    "fieldset",
    { class: "question", id: "consent" },
    phrase("legend", label, { class: "asked" }),
    phrase("p", words.own(text), { class: "stated" }),
    el("div", { class: "line" }, input, el("label", { for: "agree" }, words.say("agree"))),
    el("p", { class: "quiet", id: "agree-help" }, words.say("consent_is")),
    error,
  )
  const read = () => {
    if (!input.checked) throw new Wrong("not_agreed")
  }
  return { label, element, first: () => input, read, mark: marking(element, error, words) }
}

const notes = (question, control, words) =>
  [
    question.open && words.say("openly"),
    control.note?.(words.field(question), words, question),
    question.other !== undefined && words.say("other_only", { other: words.answer(question, question.other).text }),
    question.optional && words.say("optional", { none: words.answer(question, NO_ANSWER).text }),
  ]
    .filter((text) => text)
    .join(" ")
