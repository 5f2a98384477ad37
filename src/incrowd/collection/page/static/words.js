import { controlOf } from "./controls.js"

const NAMED = { yes: "yes", no: "no", "no answer": "no_answer", "not asked": "not_asked" } // answers, with the keys of their texts

/** The texts of the page and of the survey in one language; those that the survey lacks are in its own language. */
export class Words {
  /**
   * tables: the page's texts by language. wording: of the bundle, and in `survey` the language of its survey. fields: what
   * people answer each question with, by its id.
   */
  constructor(language, tables, wording = null, fields = {}) {
    this.language = language
    this.table = tables[language]
    this.wording = wording
    this.fields = fields
    const main = (tag) => tag.split("-")[0]
    const wanted = globalThis.navigator?.languages ?? []
    this.locale = wanted.find((tag) => main(tag) === main(language) && isKnown(tag)) ?? language
  }

  /** A text of the page, with values in place of {names}. */
  say(key, values = {}) {
    const shown = (_, name) => (typeof values[name] === "number" ? this.number(values[name]) : String(values[name]))
    return this.table[key].replace(/\{(\w+)\}/g, shown)
  }

  has(key) {
    return Object.hasOwn(this.table, key)
  }

  /** decimals: the least number of them. */
  number(value, decimals = 0) {
    const digits = { minimumFractionDigits: decimals, maximumFractionDigits: 20 }
    return new Intl.NumberFormat(this.locale, digits).format(value)
  }

  list(texts) {
    return new Intl.ListFormat(this.locale, { type: "conjunction" }).format(texts)
  }

  time(text) {
    const style = { dateStyle: "long", timeStyle: "short" }
    return new Intl.DateTimeFormat(this.locale, style).format(new Date(text))
  }

  /** A text of the bundle, in its language. */
  stated(text) {
    return { text, lang: this.#mark(this.wording.language) }
  }

  /** The wording of a question: the bundle's, unless only the survey has it in this language. */
  question({ id, text }) {
    const { language, questions } = this.wording
    const tag = typeof text === "object" && language !== this.language ? this.#tagIn(text) : undefined
    return tag === undefined ? this.stated(questions[id]) : { text: text[tag], lang: null }
  }

  help({ help }) {
    return this.own(help ?? "")
  }

  /** The field of a question, with the answers to choose from. */
  field({ id, options }) {
    return { answers: options, ...this.fields[id] }
  }

  /** What the type of a question says below it, in this language or in English. */
  hint(question) {
    const { hint = "" } = this.field(question)
    const tag = this.#tagIn(hint)
    return tag ? { text: hint[tag], lang: null } : { text: hint.en ?? "", lang: "en" }
  }

  answer(question, answer) {
    const { labels } = question
    if (labels && Object.hasOwn(labels, answer)) return this.own(labels[answer])
    const text = Object.hasOwn(NAMED, answer) ? this.say(NAMED[answer]) : controlOf(question, this).named?.(answer, this)
    return text === undefined ? this.own(answer) : { text, lang: null }
  }

  /** A text of the survey: in this language, in its base language, or in the survey's. */
  own(words) {
    const { survey } = this.wording
    if (typeof words === "string") return { text: words, lang: this.#mark(survey) }
    const tag = this.#tagIn(words)
    return tag === undefined ? { text: words[survey], lang: this.#mark(survey) } : { text: words[tag], lang: null }
  }

  #tagIn = (table) => [this.language, this.language.split("-")[0]].find((tag) => Object.hasOwn(table, tag))

  #mark(tag) {
    return tag === this.language ? null : tag
  }
}

/** Whether dates can be written in a language: some browsers list invalid tags. */
function isKnown(tag) {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf([tag]).length > 0
  } catch {
    return false
  }
}

/** The first language: the first wanted one that the page has, or any. */
export function firstLanguage(tables, wanted) {
  const tags = Object.keys(tables)
  for (const tag of wanted) {
    const match = [tag, tag.split("-")[0]].find((each) => tags.includes(each))
    if (match) return match
  }
  return tags[0]
}
