/** The page's own texts and the survey's, in one language; where a survey lacks it, in the survey's own. */
export class Words {
  /** tables: the page's texts by language. wording: of the bundle, and in `survey` the language of its survey. */
  constructor(language, tables, wording = null) {
    this.language = language
    this.table = tables[language]
    this.wording = wording
    const main = (tag) => tag.split("-")[0]
    const wanted = globalThis.navigator?.languages ?? []
    this.locale = wanted.find((tag) => main(tag) === main(language) && isKnown(tag)) ?? language
  }

  /** A text of the page, with values in the places of {names}. */
  say(key, values = {}) {
    const shown = (_, name) => (typeof values[name] === "number" ? this.number(values[name]) : String(values[name]))
    return this.table[key].replace(/\{(\w+)\}/g, shown)
  }

  has(key) {
    return Object.hasOwn(this.table, key)
  }

  number(value) {
    return new Intl.NumberFormat(this.locale, { maximumFractionDigits: 20 }).format(value)
  }

  time(text) {
    const style = { dateStyle: "long", timeStyle: "short" }
    return new Intl.DateTimeFormat(this.locale, style).format(new Date(text))
  }

  /** What the bundle says in its own language. */
  stated(text) {
    return { text, lang: this.#mark(this.wording.language) }
  }

  /** The wording of a question: the bundle's, unless the survey has it in this language and the bundle has not. */
  question({ id, text }) {
    const { language, questions } = this.wording
    const tag = typeof text === "object" && language !== this.language ? this.#tagIn(text) : undefined
    return tag === undefined ? this.stated(questions[id]) : { text: text[tag], lang: null }
  }

  help({ help }) {
    return this.#of(help ?? "")
  }

  answer({ type, labels }, answer) {
    if (labels && Object.hasOwn(labels, answer)) return this.#of(labels[answer])
    const own = { yes: "yes", no: "no", "no answer": "no_answer", ...(type === "multi" && { "none chosen": "none" }) }[answer]
    if (own) return { text: this.say(own), lang: null }
    return type === "amount" ? { text: this.number(Number(answer)), lang: null } : this.#of(this.#range(answer))
  }

  /** A text of the survey, or of its table of languages: in this language, its main one, or the survey's. */
  #of(words) {
    const { survey } = this.wording
    if (typeof words === "string") return { text: words, lang: this.#mark(survey) }
    const tag = this.#tagIn(words)
    return tag === undefined ? { text: words[survey], lang: this.#mark(survey) } : { text: words[tag], lang: null }
  }

  #tagIn = (table) => [this.language, this.language.split("-")[0]].find((tag) => Object.hasOwn(table, tag))

  #range(answer) {
    const between = /^(\S+) to <(\S+)$/.exec(answer)
    if (between) return this.say("range", { low: Number(between[1]), high: Number(between[2]) })
    const last = /^(\S+) or more$/.exec(answer)
    return last ? this.say("range_last", { low: Number(last[1]) }) : answer
  }

  #mark(tag) {
    return tag === this.language ? null : tag
  }
}

/** Whether dates can be written so: some browsers name languages that are none. */
function isKnown(tag) {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf([tag]).length > 0
  } catch {
    return false
  }
}

/** The language to begin with: the survey's if the page knows it, else the first that the browser wants, else any. */
export function firstLanguage(tables, wanted) {
  const known = Object.keys(tables)
  for (const tag of wanted) {
    const found = [tag, tag.split("-")[0]].find((each) => known.includes(each))
    if (found) return found
  }
  return known[0]
}
