import { controlOf } from "./controls.js"
import { el, phrase } from "./dom.js"

/**
 * A question on the page: its element, and how its answer is read. draft: what was typed or chosen so far, which
 * outlives the element. changed: is called after every change.
 */
export function fieldOf(question, number, words, draft, changed) {
  const id = `q${number}`
  const described = `${id}-help ${id}-error`
  const control = controlOf(question, words)
  const { controls, grouped, read, first } = control.input({ question, id, words, draft, changed, described, ...words.field(question) })
  const text = phrase(grouped ? "legend" : "label", words.question(question), { class: "asked", for: grouped ? null : id })
  const error = el("p", { class: "wrong", id: `${id}-error` })
  const hints = [phrase("span", words.help(question)), " ", phrase("span", words.hint(question)), " ", notes(question, control, words)]
  const element = el(
    grouped ? "fieldset" : "div",
    { class: "question", "aria-describedby": grouped ? described : null },
    text,
    el("p", { class: "quiet", id: `${id}-help` }, hints),
    controls,
    error,
  )
  const mark = (wrong) => {
    error.textContent = wrong ? words.say(wrong.key, wrong.values) : ""
    for (const input of element.querySelectorAll("input")) {
      wrong ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid")
    }
  }
  return { question, element, first, read, mark }
}

const notes = (question, control, words) =>
  [question.open && words.say("openly"), control.note?.(words.field(question), words), question.optional && words.say("optional")]
    .filter((text) => text)
    .join(" ")
