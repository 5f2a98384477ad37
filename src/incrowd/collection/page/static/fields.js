import { combobox } from "./combobox.js"
import { el, phrase } from "./dom.js"

const MOST_LISTED = 12 // options that are shown at once; of more a field finds them
const NO_ANSWER = "no answer"

/** An answer that does not fit, with the key of a text of the page. */
export class Wrong extends Error {
  constructor(key, values = {}) {
    super(key)
    this.key = key
    this.values = values
  }
}

/**
 * A question on the page: its element, and how its answer is read. draft: what was typed or chosen so far, which
 * outlives the element. changed: is called after every change.
 */
export function fieldOf(question, number, words, draft, changed) {
  const id = `q${number}`
  const described = `${id}-help ${id}-error`
  const part = { question, id, words, draft, changed, described }
  const { controls, grouped, read, first } = KINDS[kindOf(question)](part)
  const text = phrase(grouped ? "legend" : "label", words.question(question), { class: "asked", for: grouped ? null : id })
  const error = el("p", { class: "wrong", id: `${id}-error` })
  const hints = [phrase("span", words.help(question)), " ", hint(question, words)]
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

function hint(question, words) {
  const limit = question.type === "multi" ? words.say("at_most", { most: question.at_most }) : ""
  const openly = question.open ? words.say("openly") : ""
  const hintOfType = { number: "range_only", amount: "rounded_only" }[question.type]
  return [openly, limit, hintOfType ? words.say(hintOfType) : "", question.optional ? words.say("optional") : ""]
    .filter((text) => text)
    .join(" ")
}

const kindOf = ({ type, options = [] }) => {
  if (type === "yesno") return "radios"
  if (type === "choice") return options.length > MOST_LISTED ? "find" : "radios"
  if (type === "multi") return options.length > MOST_LISTED ? "findSeveral" : "boxes"
  return type
}

const KINDS = { radios, boxes, find, findSeveral, number: numberField, amount: numberField, text: textField }

const missing = (question) => {
  if (!question.optional) throw new Wrong("missing")
  return null
}

function radios({ question, id, words, draft, changed }) {
  const answers = [...(question.options ?? ["yes", "no"]), ...(question.optional ? [NO_ANSWER] : [])]
  const lines = answers.map((answer, i) =>
    tick("radio", `${id}-${i}`, id, words.answer(question, answer), draft.chosen === answer, () => {
      draft.chosen = answer
      changed()
    }),
  )
  const read = () => {
    if (draft.chosen === undefined || draft.chosen === NO_ANSWER) return missing(question)
    return question.type === "yesno" ? draft.chosen === "yes" : draft.chosen
  }
  return { controls: lines, grouped: true, read, first: () => lines[0].firstChild }
}

function tick(type, id, name, label, checked, onchange) {
  const input = el("input", { type, id, name, checked, onchange })
  return el("div", { class: "line" }, input, phrase("label", label, { for: id }))
}

function boxes({ question, id, words, draft, changed }) {
  draft.several ??= new Set()
  const answers = [...question.options, ...(question.optional ? [NO_ANSWER] : [])]
  const inputs = new Map()
  const turned = (answer, on) => {
    on ? draft.several.add(answer) : draft.several.delete(answer)
    for (const other of on ? [...draft.several] : []) {
      if ((other === NO_ANSWER) !== (answer === NO_ANSWER)) {
        draft.several.delete(other)
        inputs.get(other).checked = false
      }
    }
    changed()
  }
  const lines = answers.map((answer, i) => {
    const name = words.answer(question, answer)
    const on = draft.several.has(answer)
    const made = tick("checkbox", `${id}-${i}`, id, name, on, (event) => turned(answer, event.target.checked))
    inputs.set(answer, made.firstChild)
    return made
  })
  return { controls: lines, grouped: true, read: () => several(question, draft), first: () => lines[0].firstChild }
}

function several(question, { several: chosen }) {
  if (chosen.has(NO_ANSWER)) return null
  if (chosen.size > question.at_most) throw new Wrong("too_many", { most: question.at_most, chosen: chosen.size })
  return [...chosen]
}

const choices = (question, words) =>
  [...question.options, ...(question.optional ? [NO_ANSWER] : [])].map((value) => ({
    value,
    ...words.answer(question, value),
  }))

function find({ question, id, words, draft, changed, described }) {
  const text = draft.chosen === undefined ? (draft.typed ?? "") : words.answer(question, draft.chosen).text
  const choose = (value) => {
    draft.chosen = value ?? undefined
    changed()
  }
  const { input, element } = combobox({ id, describedby: described, options: choices(question, words), text, words, choose })
  input.addEventListener("input", () => (draft.typed = input.value))
  const read = () => {
    if (draft.chosen !== undefined) return draft.chosen === NO_ANSWER ? null : draft.chosen
    if (input.value.trim()) throw new Wrong("not_listed")
    return missing(question)
  }
  return { controls: element, grouped: false, read, first: () => input }
}

function findSeveral({ question, id, words, draft, changed, described }) {
  draft.several ??= new Set()
  const chosen = el("ul", { class: "chosen" })
  const list = () => {
    chosen.replaceChildren(...[...draft.several].map(entry))
    changed()
  }
  const entry = (value) => {
    const name = words.answer(question, value)
    const off = { type: "button", onclick: () => (draft.several.delete(value), list(), input.focus()) }
    return el("li", {}, phrase("span", name), el("button", { ...off, "aria-label": words.say("remove", { name: name.text }) }, "×"))
  }
  const choose = (value) => {
    if (value === null) return
    if (value === NO_ANSWER) draft.several.clear()
    else draft.several.delete(NO_ANSWER)
    draft.several.add(value)
    input.value = ""
    list()
  }
  const options = choices(question, words)
  const { input, element } = combobox({ id, describedby: described, options, words, choose, clears: true })
  chosen.replaceChildren(...[...draft.several].map(entry))
  const read = () => {
    if (input.value.trim()) throw new Wrong("not_listed")
    return several(question, draft)
  }
  return { controls: [element, chosen], grouped: false, read, first: () => input }
}

function numberField({ question, id, words, draft, changed, described }) {
  const preview = el("output", { class: "quiet", for: id })
  const input = el("input", {
    id,
    type: "number",
    step: "any",
    value: draft.typed ?? "",
    "aria-describedby": described,
    oninput: () => {
      draft.typed = input.value
      preview.textContent = shownAs(question, input.valueAsNumber, words)
      changed()
    },
  })
  preview.textContent = shownAs(question, Number.parseFloat(draft.typed), words)
  const read = () => {
    if (input.validity.badInput) throw new Wrong("no_number")
    if (input.value === "") return missing(question)
    if (question.type === "number" && input.valueAsNumber < question.edges[0])
      throw new Wrong("too_low", { least: question.edges[0] })
    return input.valueAsNumber
  }
  return { controls: [input, preview], grouped: false, read, first: () => input }
}

/** How a number counts: the range that contains it, or the two edges around it, one of which is drawn at random. */
export const shownAs = (question, number, words) =>
  (question.type === "amount" ? edgesBeside : rangeOf)(question, number, words)

function edgesBeside({ edges }, number, words) {
  if (Number.isNaN(number)) return ""
  const low = edges.findLast((edge) => edge <= number) ?? edges[0]
  const high = edges.find((edge) => edge >= number) ?? edges.at(-1)
  return low === high ? words.say("counts_as", { edge: low }) : words.say("counts_as_either", { low, high })
}

function rangeOf({ edges }, number, words) {
  const at = edges.filter((edge) => edge <= number).length - 1
  if (at < 0) return ""
  const [low, high] = [edges[at], edges[at + 1]]
  return high === undefined ? words.say("range_last", { low }) : words.say("range", { low, high })
}

function textField({ question, id, draft, changed, described }) {
  const input = el("input", {
    id,
    type: "text",
    maxlength: "1000",
    autocomplete: "off",
    value: draft.typed ?? "",
    "aria-describedby": described,
    oninput: () => {
      draft.typed = input.value
      changed()
    },
  })
  const read = () => input.value.trim() || missing(question)
  return { controls: input, grouped: false, read, first: () => input }
}
