import { combobox } from "./combobox.js"
import { el, phrase } from "./dom.js"

const MOST_LISTED = 12 // options that are shown at once; of more a field finds them
export const NO_ANSWER = "no answer"

/** An answer that does not fit, with the key of a text of the page. */
export class Wrong extends Error {
  constructor(key, values = {}) {
    super(key)
    this.key = key
    this.values = values
  }
}

/**
 * What people answer with. The type of a question names its control (`PageField` in survey/forms.py), with the answers
 * to choose from, the most that can be chosen, or edges.
 *
 * input: the elements for a question, and how its answer is read. note: what else is said below the question. said: an
 * answer for the review. named: the text of a named answer that has no label. stated: what a report states.
 */
const CONTROLS = {
  one: {
    input: (part) => (listed(part) ? radios : find)(part),
    said: (question, answer, words) => inOrder(question, [answer], words),
  },
  several: {
    input: (part) => (listed(part) ? boxes : findSeveral)(part),
    note: ({ most }, words) => words.say("at_most", { most }),
    said: (question, answer, words) => (answer.length ? inOrder(question, answer, words) : words.say("none")),
    named: (answer, words) => (answer === "none chosen" ? words.say("none") : undefined),
  },
  range: {
    input: (part) => number(part, rangeOf, limitsOf(part.question, part.edges[0])),
    note: ({ edges }, words, question) => `${stating(limitsOf(question, edges[0]), words)}${words.say("range_only")}`,
    said: (question, answer, words) => `${words.number(answer)} (${rangeOf(words.field(question), answer, words)})`,
    named: (answer, words) => rangeIn(answer, words),
  },
  edges: {
    input: (part) => number(part, edgesBeside, limitsOf(part.question)),
    note: (_, words, question) => `${stating(limitsOf(question), words)}${words.say("rounded_only")}`,
    said: (question, answer, words) => `${words.number(answer)} (${edgesBeside(words.field(question), answer, words)})`,
    named: (answer, words) => words.number(Number(answer)),
  },
  word: {
    input: word,
    said: (_, answer) => answer,
    stated: (_, answers, words) => {
      const [cohort, ...bits] = answers.map((answer) => answer.split(" ")[1])
      return words.say("bits", { cohort: Number(cohort), bits: bits.join(", ") || "–" })
    },
  },
}

export const controlOf = (question, words) => CONTROLS[words.field(question).control]

/** A person's answer, for the review. */
export const said = (question, answer, words) =>
  answer === null ? inOrder(question, [NO_ANSWER], words) : controlOf(question, words).said(question, answer, words)

/** What a report states about a question. */
export const stated = (question, answers, words) =>
  controlOf(question, words).stated?.(question, answers, words) ?? (answers.length ? inOrder(question, answers, words) : words.say("nothing_ticked"))

const inOrder = (question, answers, words) =>
  answers.flatMap((answer, i) => [i ? "; " : "", phrase("span", words.answer(question, answer))])

const listed = ({ answers }) => answers.length <= MOST_LISTED

/** All answers that can be chosen. */
const offered = ({ question, answers }) => [...answers, ...(question.optional ? [NO_ANSWER] : [])]

const missing = (question) => {
  if (!question.optional) throw new Wrong("missing")
  return null
}

function radios({ question, id, words, draft, changed, answers }) {
  const lines = offered({ question, answers }).map((answer, i) =>
    tick("radio", `${id}-${i}`, id, words.answer(question, answer), draft.chosen === answer, () => {
      draft.chosen = answer
      changed()
    }),
  )
  const read = () => {
    if (draft.chosen === undefined || draft.chosen === NO_ANSWER) return missing(question)
    return draft.chosen
  }
  return { controls: lines, grouped: true, read, first: () => lines[0].firstChild }
}

function tick(type, id, name, label, checked, onchange) {
  const input = el("input", { type, id, name, checked, onchange })
  return el("div", { class: "line" }, input, phrase("label", label, { for: id }))
}

function boxes({ question, id, words, draft, changed, answers, most }) {
  draft.several ??= new Set()
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
  const lines = offered({ question, answers }).map((answer, i) => {
    const name = words.answer(question, answer)
    const on = draft.several.has(answer)
    const made = tick("checkbox", `${id}-${i}`, id, name, on, (event) => turned(answer, event.target.checked))
    inputs.set(answer, made.firstChild)
    return made
  })
  return { controls: lines, grouped: true, read: () => several(most, draft), first: () => lines[0].firstChild }
}

function several(most, { several: chosen }) {
  if (chosen.has(NO_ANSWER)) return null
  if (chosen.size > most) throw new Wrong("too_many", { most, chosen: chosen.size })
  return [...chosen]
}

const choices = (part) => offered(part).map((value) => ({ value, ...part.words.answer(part.question, value) }))

function find({ question, id, words, draft, changed, described, answers }) {
  const text = draft.chosen === undefined ? (draft.typed ?? "") : words.answer(question, draft.chosen).text
  const choose = (value) => {
    draft.chosen = value ?? undefined
    changed()
  }
  const { input, element } = combobox({ id, describedby: described, options: choices({ question, words, answers }), text, words, choose })
  input.addEventListener("input", () => (draft.typed = input.value))
  const read = () => {
    if (draft.chosen !== undefined) return draft.chosen === NO_ANSWER ? null : draft.chosen
    if (input.value.trim()) throw new Wrong("not_listed")
    return missing(question)
  }
  return { controls: element, grouped: false, read, first: () => input }
}

function findSeveral({ question, id, words, draft, changed, described, answers, most }) {
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
  const options = choices({ question, words, answers })
  const { input, element } = combobox({ id, describedby: described, options, words, choose, clears: true })
  chosen.replaceChildren(...[...draft.several].map(entry))
  const read = () => {
    if (input.value.trim()) throw new Wrong("not_listed")
    return several(most, draft)
  }
  return { controls: [element, chosen], grouped: false, read, first: () => input }
}

/** The numbers that can be typed. lowest: below it, nothing counts. */
function limitsOf({ minimum, maximum, whole = false }, lowest = -Infinity) {
  return { least: Math.max(minimum ?? -Infinity, lowest), most: maximum ?? Infinity, whole, stated: [minimum, maximum].some(Number.isFinite) || whole }
}

/** What is wrong with a number outside of the limits, with the limits. */
function beyond({ least, most, whole }) {
  const [low, high] = [least > -Infinity, most < Infinity]
  const keys = whole ? ["whole", "whole_low", "whole_high", "whole_between"] : ["no_number", "too_low", "too_high", "between"]
  return new Wrong(keys[Number(low) + 2 * Number(high)], { least, most })
}

const isWithin = (value, { least, most, whole }) => value >= least && value <= most && (!whole || Number.isInteger(value))

/** The limits in words, if the survey states any. */
function stating(limits, words) {
  const { key, values } = beyond(limits)
  return limits.stated ? `${words.say(key, values)} ` : ""
}

/** A field for a number. counted: how a number counts, in words. */
function number({ question, id, words, draft, changed, described, edges }, counted, limits) {
  const inWords = (value) => (isWithin(value, limits) ? counted({ edges }, value, words) : "")
  const preview = el("output", { class: "quiet", for: id })
  const input = el("input", {
    id,
    type: "number",
    step: limits.whole ? "1" : "any",
    min: Number.isFinite(limits.least) ? limits.least : null,
    max: Number.isFinite(limits.most) ? limits.most : null,
    value: draft.typed ?? "",
    "aria-describedby": described,
    oninput: () => {
      draft.typed = input.value
      preview.textContent = inWords(input.valueAsNumber)
      changed()
    },
  })
  preview.textContent = inWords(Number.parseFloat(draft.typed))
  const read = () => {
    if (input.validity.badInput) throw new Wrong("no_number")
    if (input.value === "") return missing(question)
    if (!isWithin(input.valueAsNumber, limits)) throw beyond(limits)
    return input.valueAsNumber
  }
  return { controls: [input, preview], grouped: false, read, first: () => input }
}

/** The two edges around a number, one of which is drawn at random. */
function edgesBeside({ edges }, number, words) {
  if (Number.isNaN(number)) return ""
  const low = edges.findLast((edge) => edge <= number) ?? edges[0]
  const high = edges.find((edge) => edge >= number) ?? edges.at(-1)
  return low === high ? words.say("counts_as", { edge: low }) : words.say("counts_as_either", { low, high })
}

/** The range that contains a number. */
function rangeOf({ edges }, number, words) {
  const at = edges.filter((edge) => edge <= number).length - 1
  if (at < 0) return ""
  const [low, high] = [edges[at], edges[at + 1]]
  return high === undefined ? words.say("range_last", { low }) : words.say("range", { low, high })
}

/** The name of a range in words. */
function rangeIn(answer, words) {
  const between = /^(\S+) to <(\S+)$/.exec(answer)
  if (between) return words.say("range", { low: Number(between[1]), high: Number(between[2]) })
  const last = /^(\S+) or more$/.exec(answer)
  return last ? words.say("range_last", { low: Number(last[1]) }) : undefined
}

function word({ question, id, draft, changed, described }) {
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
