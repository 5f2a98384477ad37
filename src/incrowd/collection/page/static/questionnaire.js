import { Wrong } from "./controls.js"
import { el, phrase, show } from "./dom.js"
import { consentOf, fieldOf, matrixOf } from "./fields.js"

/**
 * The questions of a survey, one part at a time if it has sections. Only those that a person is asked are shown; what was
 * typed in others stays there, but is no answer.
 *
 * survey: of the plan. kept: `drafts`, what was typed so far by question; `part`, which is shown; and whether the person
 * `agreed`. It outlives the elements. askedBy: the ids of the questions that are asked after some answers. changed: is
 * called after every change, with how many questions there are more or fewer. left: is called when a part is left. finish:
 * is called with the answers when all parts are complete. locked: whether nothing can be changed any more.
 */
export class Questionnaire {
  #words
  #kept
  #askedBy
  #left
  #fields
  #consent
  #parts
  #asked = new Set()
  #mistakes
  #back
  #next

  constructor({ survey, words, kept, askedBy, changed, left, finish, locked }) {
    this.#words = words
    this.#kept = kept
    this.#askedBy = askedBy
    this.#left = left
    const update = () => changed(this.#update())
    this.#fields = survey.question.map((question, i) =>
      fieldOf(question, i + 1, words, (kept.drafts[question.id] ??= {}), update, question.matrix !== undefined),
    )
    const { consent } = survey.page ?? {}
    this.#consent = consent === undefined ? null : consentOf(consent, words, kept, changed)
    this.#parts = this.#partsOf(survey)
    this.#mistakes = el("div", { id: "mistakes" })
    this.#back = el("button", { type: "button", onclick: () => this.#turn(-1) }, words.say("back"))
    this.#next = el("button", { type: "submit", class: "main" })
    const onsubmit = (event) => (event.preventDefault(), this.#advance(finish))
    const all = [this.#consent?.element, this.#parts.map(({ element }) => element), el("span", {}, this.#back), this.#next]
    this.elements = [
      this.#mistakes,
      el("form", { novalidate: true, onsubmit }, el("h2", {}, words.say("questions")), el("fieldset", { id: "all", class: "bare", disabled: locked }, all)),
    ]
    this.#update()
  }

  /** The consecutive questions of each section, with those of a matrix in one table. */
  #partsOf({ section: sections = [], matrix: matrices = [] }) {
    const runs = runsOf(this.#fields, "section")
    return runs.map(({ id, fields }, i) => {
      const section = sections.find((one) => one.id === id)
      const blocks = runsOf(fields, "matrix").flatMap(({ id, fields }) => {
        const matrix = matrices.find((one) => one.id === id)
        return matrix ? [matrixOf(matrix, fields, this.#words)] : fields
      })
      const progress = el("p", { class: "quiet" })
      const title = section ? phrase("h3", this.#words.own(section.title)) : null
      const text = section?.text ? phrase("p", this.#words.own(section.text), { class: "stated" }) : null
      const top = runs.length > 1 ? [progress, title, text] : [title, text]
      return { fields, blocks, progress, element: el("div", { class: "part", id: `part${i + 1}` }, top, blocks.map(({ element }) => element)) }
    })
  }

  /** The answers to the questions that are asked, as far as they fit. */
  #given() {
    const given = {}
    for (const { question, read } of this.#fields) {
      try {
        given[question.id] = read()
      } catch (error) {
        if (!(error instanceof Wrong)) throw error
      }
    }
    return given
  }

  /** Shows the questions that are asked now. Returns how many more and how many fewer there are than before. */
  #update() {
    const before = this.#asked
    this.#asked = new Set(this.#askedBy(this.#given()))
    for (const field of this.#fields) field.element.hidden = !this.#isAsked(field)
    for (const block of this.#parts.flatMap(({ blocks }) => blocks)) if (block.fields) block.element.hidden = !block.fields.some((field) => this.#isAsked(field))
    this.#settle()
    return { more: missingIn(this.#asked, before), fewer: missingIn(before, this.#asked) }
  }

  #isAsked = ({ question }) => this.#asked.has(question.id)

  /** The parts that have questions for this person. */
  get #open() {
    return this.#parts.filter(({ fields }) => fields.some((field) => this.#isAsked(field)))
  }

  /** Shows the part of the person, and where it stands among the others. */
  #settle() {
    const open = this.#open
    const part = this.#parts[this.#kept.part]
    const at = Math.max(0, open.indexOf(part))
    this.#parts.forEach((each) => (each.element.hidden = each !== open[at]))
    open.forEach(({ progress }, i) => (progress.textContent = this.#words.say("part_of", { part: i + 1, parts: open.length })))
    if (this.#consent) this.#consent.element.hidden = at > 0
    this.#back.hidden = at === 0
    this.#next.textContent = this.#words.say(at + 1 < open.length ? "next" : "look")
  }

  /** Goes to another part, whose first line gets the focus. */
  #turn(by) {
    const open = this.#open
    const part = open[open.indexOf(this.#parts[this.#kept.part]) + by]
    this.#kept.part = this.#parts.indexOf(part)
    this.#mistakes.replaceChildren()
    this.#left()
    this.#settle()
    show(part.element.querySelector("h3") ?? part.progress)
  }

  /** The next part if everything in this one fits; from the last one, the end. */
  #advance(finish) {
    const open = this.#open
    const at = Math.max(0, open.indexOf(this.#parts[this.#kept.part]))
    this.#kept.part = this.#parts.indexOf(open[at])
    const wrong = this.#wrongIn(at === 0 ? [this.#consent, ...open[at].fields] : open[at].fields)
    if (wrong.length) return this.#list(wrong)
    if (at + 1 < open.length) return this.#turn(1)
    const elsewhere = open.find(({ fields }) => this.#wrongIn(fields).length)
    if (elsewhere) {
      this.#kept.part = this.#parts.indexOf(elsewhere)
      this.#settle()
      return this.#list(this.#wrongIn(elsewhere.fields))
    }
    this.#mistakes.replaceChildren()
    finish(Object.fromEntries(this.#fields.filter(this.#isAsked).map(({ question, read }) => [question.id, read()])))
  }

  /** Those of some fields that do not fit, which are marked. */
  #wrongIn(fields) {
    return fields.filter((field) => {
      if (!field || (field.question && !this.#isAsked(field))) return false
      try {
        field.read()
        field.mark(null)
        return false
      } catch (error) {
        if (!(error instanceof Wrong)) throw error
        field.mark(error)
        return true
      }
    })
  }

  #list(wrong) {
    const go = (field) => (event) => (event.preventDefault(), field.first().focus())
    const link = (field) => el("a", { href: `#${field.element.id}`, onclick: go(field) }, phrase("span", field.label))
    const notice = el(
      "div",
      { class: "notice", role: "alert" },
      el("p", {}, this.#words.say("mistakes", { number: wrong.length })),
      el("ul", {}, wrong.map((field) => el("li", {}, link(field)))),
    )
    this.#mistakes.replaceChildren(notice)
    show(notice)
  }
}

/** Consecutive fields whose questions have the same value of a key. */
function runsOf(fields, key) {
  const runs = []
  for (const field of fields) {
    const id = field.question[key]
    if (runs.length && runs.at(-1).id === id) runs.at(-1).fields.push(field)
    else runs.push({ id, fields: [field] })
  }
  return runs
}

const missingIn = (some, others) => [...some].filter((each) => !others.has(each)).length
