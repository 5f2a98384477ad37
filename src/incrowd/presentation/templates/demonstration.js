// A demonstration for respondents: what a device decides, what is heard, and who else says the same.
const { questions, words, times } = JSON.parse(document.getElementById("data").textContent)
const byId = (id) => document.getElementById(id)
const language = document.documentElement.lang
const PIPS = { 1: [4], 2: [0, 8], 3: [0, 4, 8], 4: [0, 2, 6, 8], 5: [0, 2, 4, 6, 8], 6: [0, 2, 3, 5, 6, 8] }
let asked = questions[0]

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name])

function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}

const paragraphs = (texts) => texts.map((text) => el("p", {}, text))

function picture(number) {
  const name = "http://www.w3.org/2000/svg"
  const svg = document.createElementNS(name, "svg")
  svg.setAttribute("viewBox", "0 0 30 30")
  svg.setAttribute("aria-hidden", "true")
  const add = (tag, values) => {
    const part = document.createElementNS(name, tag)
    for (const [key, value] of Object.entries(values)) part.setAttribute(key, value)
    svg.append(part)
  }
  add("rect", { x: 1, y: 1, width: 28, height: 28, rx: 5 })
  for (const pip of PIPS[number]) add("circle", { cx: 7 + 8 * (pip % 3), cy: 7 + 8 * Math.floor(pip / 3), r: 2.6 })
  return svg
}

const truth = () => Number(document.querySelector("#answers input:checked").value)

/** A number from 0 to below 1. */
const chance = () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32

/** One draw for a person: an outcome of the device. */
function drawn(outcomes) {
  let left = chance()
  return outcomes.find(({ probability }) => (left -= probability) < 0) ?? outcomes.at(-1)
}

/** All draws of one answer. */
const draws = (answer) => Array.from({ length: asked.repeats }, () => drawn(asked.outcomes[answer]))

const report = (all) => (asked.repeats > 1 ? all.filter((each) => each.report === 1).length : all[0].report)

function share(value, digits = 0) {
  const places = value > 0 && value < 1 && !digits ? 1 : digits
  return value.toLocaleString(language, { maximumFractionDigits: places, useGrouping: true })
}

function showOnce() {
  const answer = truth()
  const all = draws(answer)
  const seen = all.flatMap(({ shows, face, do: says, other }) => [
    ...(face ? [el("p", {}, picture(face))] : []),
    ...paragraphs([shows, other, says].filter(Boolean)),
  ])
  byId("seen").replaceChildren(...seen)
  const said = report(all)
  const heard = asked.repeats > 1 ? all.map((each) => asked.said[each.report]).join(", ") : asked.reports[said]
  byId("heard").replaceChildren(filled(words.hears, { report: heard }))
  const others = asked.answers.map((label, place) => ({ label, share: asked.matrix[said][place] })).filter((_, place) => place !== answer)
  const texts = others.filter((each) => each.share > 0).map((each) => filled(words.others, { answer: each.label, number: share(100 * each.share), report: asked.reports[said] }))
  const end = texts.length ? words.cannot : filled(words.can, { answer: asked.answers[answer] })
  byId("shares").replaceChildren(...paragraphs([...texts, end]))
  byId("others").hidden = false
}

function showMany() {
  const answer = truth()
  const counts = asked.reports.map(() => 0)
  for (let time = 0; time < times; time++) counts[report(draws(answer))] += 1
  const others = asked.answers.map((label, place) => ({ label, place })).filter(({ place }) => place !== answer)
  const head = [words.said, words.times, words.expected, ...others.map(({ label }) => filled(words.otherwise, { answer: label }))]
  byId("head").replaceChildren(...head.map((text) => el("th", { scope: "col" }, text)))
  const rows = asked.reports.map((label, place) => {
    const numbers = [counts[place], times * asked.matrix[place][answer], ...others.map((other) => times * asked.matrix[place][other.place])]
    return el("tr", {}, el("th", { scope: "row" }, label), ...numbers.map((number) => el("td", {}, share(Math.round(number)))))
  })
  byId("rows").replaceChildren(...rows)
  byId("counted").hidden = false
}

/** Nothing has been drawn for this answer yet. */
function forget() {
  byId("seen").replaceChildren(...paragraphs([words.nothing]))
  byId("heard").replaceChildren(words.nothing)
  byId("others").hidden = true
  byId("counted").hidden = true
  byId("same").replaceChildren(filled(words.once, { answer: asked.answers[truth()] }))
}

function ask(place) {
  asked = questions[place]
  byId("question").replaceChildren(asked.text)
  byId("second").hidden = !asked.other
  byId(asked.device_asks ? "acts" : "question").after(byId("second"))
  byId("other").replaceChildren(asked.other ?? "")
  const choices = asked.order.map((answer, first) => {
    const input = el("input", { type: "radio", name: "answer", value: answer })
    input.checked = first === 0
    return el("label", { class: "choice" }, input, asked.answers[answer])
  })
  byId("answers").replaceChildren(...choices)
  byId("acts").replaceChildren(...paragraphs(asked.acts))
  byId("promise").replaceChildren(...paragraphs(asked.promise))
  forget()
}

byId("questions").append(...questions.map((each, place) => el("option", { value: place }, each.name)))
byId("which").hidden = questions.length < 2
byId("questions").addEventListener("change", (event) => ask(Number(event.target.value)))
byId("answers").addEventListener("change", forget)
byId("draw").addEventListener("click", showOnce)
byId("many").addEventListener("click", showMany)
ask(0)
