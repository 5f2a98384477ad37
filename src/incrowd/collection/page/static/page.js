import { el, phrase, show } from "./dom.js"
import * as sdk from "./incrowd-sdk.js"
import { arrive } from "./arriving.js"
import { Outbox } from "./outbox.js"
import { areMixed } from "./pieces.js"
import { promise, whoCouldCheat } from "./promise.js"
import { Questionnaire } from "./questionnaire.js"
import { review } from "./review.js"
import { firstLanguage, Words } from "./words.js"

const read = (id) => JSON.parse(document.getElementById(id).textContent)
const config = read("config")
const tables = read("strings")
const main = document.querySelector("main")
const status = document.getElementById("status")

const CODE_FAULTS = ["code", "code-unknown", "code-used"]

let words
let again = "" // what stood behind the # of the link
let picked = null // the language that a person chose
let arrived = null // the survey that was loaded, and how
let outbox
let kept = null // of the questionnaire: what was typed, and where the person is
let reviewed = null // the answers that the example is of
let stage = "asking" // then "sent", then "withdrawn"
let trouble = null // what went wrong while loading

// --- loading ---------------------------------------------------------------------------------------------------------

async function begin(fragment) {
  main.replaceChildren(el("p", { class: "quiet" }, words.say("loading")))
  trouble = arrived = null
  kept = { drafts: {}, part: 0, agreed: false }
  reviewed = null
  stage = "asking"
  try {
    arrived = await arrive(sdk, config, fragment)
    outbox = await Outbox.opened(sdk, arrived.survey)
  } catch (error) {
    trouble = error
  }
  again = fragment
  const language = picked ?? firstLanguage(tables, wantedLanguages())
  try {
    settle(language)
  } catch (error) {
    trouble = error
    arrived = null
    settle(language)
  }
}

/** Those of the browser in which the survey has words, then the survey's own, then those of the browser. */
function wantedLanguages() {
  if (!arrived) return navigator.languages
  const { wording, plan } = arrived.survey.bundle
  const tagged = plan.survey.question.flatMap(({ text }) => (typeof text === "object" ? Object.keys(text) : []))
  const worded = new Set([wording.language, ...tagged].map((tag) => tag.split("-")[0]))
  const both = navigator.languages.filter((tag) => worded.has(tag.split("-")[0]))
  return [...both, wording.language, ...navigator.languages]
}

/** Shows everything in a language; answers and what was sent stay as they are. */
function settle(language) {
  const bundle = arrived?.survey.bundle
  const wording = bundle ? { ...bundle.wording, survey: bundle.plan.survey.language ?? "en" } : null
  words = new Words(language, tables, wording, config.fields)
  document.documentElement.lang = language
  document.title = bundle?.wording.title ?? document.title
  main.replaceChildren(...(trouble ? failed() : page(arrived)))
  switchLanguage()
  if (reviewed && stage === "asking") void drawReview(reviewed)
}

function switchLanguage() {
  const buttons = Object.keys(tables).map((tag) => {
    const pressed = String(tag === words.language)
    return el("button", { type: "button", lang: tag, "aria-pressed": pressed, onclick: () => pick(tag) }, tables[tag].language)
  })
  const place = document.getElementById("languages")
  place.setAttribute("aria-label", words.say("languages"))
  place.replaceChildren(...buttons)
}

function pick(tag) {
  picked = tag
  settle(tag)
  document.querySelector(`#languages [lang="${tag}"]`).focus()
}

const failed = () => [
  el("h1", {}, words.say("failed")),
  el("p", { class: "notice", role: "alert" }, helpOf(trouble, "load")),
  el("p", {}, el("button", { type: "button", class: "main", onclick: () => begin(again) }, words.say("again"))),
]

/** A sentence about what went wrong that says what to do. */
function helpOf(error, when) {
  const mixed = arrived?.survey.bundle.inviter ? "mixers" : "shuffler"
  const keys = [`error_${error.code}_${when}`, `error_${error.code}_${mixed}`, `error_${error.code}`]
  const key = keys.find((each) => words.has(each))
  const values = { service: config.services[0], closes: arrived ? words.time(arrived.survey.bundle.closes) : "" }
  return key ? words.say(key, values) : words.say("error_other", { message: error.message })
}

// --- the page --------------------------------------------------------------------------------------------------------

function page({ survey, short, pinned }) {
  const { bundle } = survey
  const parts = [
    phrase("h1", words.stated(bundle.wording.title)),
    phrase("p", words.stated(bundle.period), { class: "quiet" }),
    times(bundle),
    phrase("p", words.stated(bundle.wording.introduction), { class: "introduction" }),
    ...promise(config, bundle, words),
  ]
  return [...parts, ...form(), ...whoCouldCheat(config, bundle, short, pinned, words)]
}

/** What a person can do now: send what was drawn before, or answer, or take the answers back. */
function form() {
  if (stage === "sent") return sent()
  if (stage === "withdrawn") return [el("section", { class: "done" }, el("h2", {}, words.say("withdrawn")))]
  return outbox.drawn && !reviewed ? drawnBefore() : questions()
}

/** What was drawn in this browser before can be sent, and not be changed; somebody else may still answer. */
function drawnBefore() {
  const [title, about] = outbox.isOver ? ["answered_before", "answered_before_is"] : ["drawn_before", "drawn_before_is"]
  const another = () => outbox.beginForAnother().then(() => settle(words.language))
  return [
    el(
      "section",
      { id: "review", "aria-labelledby": "review-title" },
      el("h2", { id: "review-title" }, words.say(title)),
      el("p", {}, words.say(about)),
      ...(outbox.isOver ? [] : sender(null)),
      outbox.isAnybodys ? el("p", {}, el("button", { type: "button", id: "another", onclick: another }, words.say("another_person"))) : null,
    ),
  ]
}

function times({ opens, closes }) {
  const now = Date.now()
  const key = now < Date.parse(opens) ? "not_open_yet" : now >= Date.parse(closes) ? "closed_already" : "closes"
  const role = key === "closes" ? null : "note"
  return el("p", { class: role ? "notice" : "quiet", role }, words.say(key, { opens: words.time(opens), closes: words.time(closes) }))
}

function questions() {
  const { survey } = arrived
  const askedBy = (given) => sdk.askedQuestions(survey, given)
  const form = new Questionnaire({ survey: survey.bundle.plan.survey, words, kept, askedBy, changed, left: forget, finish: examine, locked: outbox.drawn })
  return [...form.elements, el("section", { id: "review", "aria-labelledby": "review-title", hidden: true })]
}

const NEWS = { more: ["more_one", "more_several"], fewer: ["fewer_one", "fewer_several"] }

/** Says what a change of an answer means: another example is needed, and other questions are asked. counts: how many. */
function changed(counts) {
  const news = Object.entries(counts).flatMap(([key, number]) => (number ? [words.say(NEWS[key][number > 1 ? 1 : 0], { number })] : []))
  if (forget()) news.unshift(words.say("changed"))
  if (news.length) status.textContent = news.join(" ")
}

/** Takes the example away. Returns whether there was one. */
function forget() {
  const section = document.getElementById("review")
  if (!section || section.hidden || outbox.drawn) return false
  section.hidden = true
  section.replaceChildren()
  reviewed = null
  return true
}

async function examine(answers) {
  reviewed = answers
  const section = await drawReview(answers)
  show(section.querySelector("h2"))
}

// --- looking, and sending --------------------------------------------------------------------------------------------

/** The text above an example of what could be sent. */
function exampleText(messages) {
  if (messages.every(({ added }) => added)) return "example_added"
  return messages.some(({ cells }) => cells) ? "example_pieces" : "example_is"
}

async function drawReview(answers) {
  const { survey } = arrived
  const about = exampleText(survey.bundle.plan.messages)
  const section = document.getElementById("review")
  section.hidden = false
  const drawn = async () => review(survey, answers, await outbox.example(answers), areMixed(config, survey.bundle), words)
  const table = el("div", { class: "scroll" }, await drawn())
  const redraw = async () => {
    table.replaceChildren(...(await drawn()))
    status.textContent = words.say("drawn_again")
  }
  section.replaceChildren(
    el("h2", { id: "review-title" }, words.say("before")),
    el("p", {}, words.say(about)),
    table,
    ...(about === "example_added" ? [] : redrawn(redraw)),
    ...sender(answers),
  )
  return section
}

const redrawn = (redraw) => [
  el("p", {}, el("button", { type: "button", onclick: redraw }, words.say("draw_again"))),
  el("p", { class: "quiet" }, words.say("real_draw")),
]

function sender(answers) {
  const { survey, pinned } = arrived
  const { codes, strata, plan } = survey.bundle
  const typed = { id: "code", type: "text", autocomplete: "off", spellcheck: "false", "aria-describedby": "code-help" }
  const nothing = el("option", { value: "" }, words.say("choose"))
  const inputs = {
    code: codes && !survey.code ? el("input", typed) : null,
    stratum: answers && strata.length > 1 && !plan.survey.question.some(({ open }) => open) ? el("select", { id: "stratum" }, nothing, strata.map((name) => el("option", { value: name }, name))) : null,
    same: pinned ? null : el("input", { type: "checkbox", id: "same" }),
  }
  const outcome = el("p", { id: "outcome", role: "alert" })
  const button = el("button", { type: "submit", class: "main" }, words.say(outbox.drawn ? "send_again" : "send"))
  const onsubmit = (event) => (event.preventDefault(), void sendNow(answers, inputs, button, outcome))
  const labeled = (input, key, help, hidden = false) => input && el("div", { class: "question", hidden }, el("label", { for: input.id, class: "asked" }, words.say(key)), help, input)
  return [
    el(
      "form",
      { novalidate: true, onsubmit },
      labeled(inputs.code, "code", el("p", { class: "quiet", id: "code-help" }, words.say("code_help")), !answers),
      labeled(inputs.stratum, "stratum"),
      inputs.same && el("div", { class: "line" }, inputs.same, el("label", { for: "same" }, words.say("same", { short: arrived.short }))),
      el("p", {}, button),
      outcome,
    ),
  ]
}

async function sendNow(answers, { code, stratum, same }, button, outcome) {
  const refused = [
    [same && !same.checked, "error_not_compared", same],
    [code && !code.value.trim() && !outbox.drawn, "error_code", code],
    [stratum && !stratum.value && !outbox.drawn, "error_stratum", stratum],
  ].find(([wrong]) => wrong)
  if (refused) {
    outcome.textContent = words.say(refused[1])
    return refused[2].focus()
  }
  button.disabled = true
  outcome.textContent = ""
  const progress = (step) => (button.textContent = status.textContent = words.say(step))
  const options = { ...(code?.value.trim() && { code: code.value }), ...(stratum?.value && { stratum: stratum.value }) }
  try {
    await outbox.send(answers, options, progress)
    stage = "sent"
    settle(words.language)
    show(document.getElementById("sent"))
  } catch (error) {
    outcome.textContent = helpOf(error, "send")
    const mistyped = CODE_FAULTS.includes(error.code)
    if (code) code.disabled = outbox.drawn && !mistyped
    if (code && mistyped) code.parentElement.hidden = false
    button.textContent = words.say(outbox.drawn ? "send_again" : "send")
    button.disabled = false
    status.textContent = ""
  }
  lock()
}

/** Once the noise is drawn the same bytes are sent again, so that no answer may change. */
function lock() {
  const all = document.getElementById("all")
  if (all) all.disabled = outbox.drawn
  const stratum = document.getElementById("stratum")
  if (stratum) stratum.disabled = outbox.drawn
}

const sent = () => [
  el(
    "section",
    { class: "done" },
    el("h2", { id: "sent" }, words.say("sent")),
    thanks(arrived.survey.bundle.plan.survey),
    el("p", {}, words.say("sent_is", { closes: words.time(arrived.survey.bundle.closes) })),
    el("p", {}, el("button", { type: "button", onclick: takeBack }, words.say("withdraw"))),
    el("p", { id: "outcome", role: "alert" }),
  ),
]

const thanks = ({ page: { thanks: text } = {} }) => (text === undefined ? null : phrase("p", words.own(text), { class: "stated" }))

async function takeBack(event) {
  const outcome = document.getElementById("outcome")
  event.target.disabled = true
  outcome.textContent = ""
  try {
    await outbox.withdraw()
    stage = "withdrawn"
    reviewed = null
    settle(words.language)
    status.textContent = words.say("withdrawn")
    show(main.querySelector(".done h2"))
  } catch (error) {
    event.target.disabled = false
    outcome.textContent = helpOf(error, "withdraw")
  }
}

// --- beginning -------------------------------------------------------------------------------------------------------

addEventListener("hashchange", () => {
  const fragment = location.hash.slice(1)
  history.replaceState(null, "", location.pathname + location.search)
  if (/^[0-9a-f]{64}/.test(fragment)) begin(fragment)
})
words = new Words(firstLanguage(tables, navigator.languages), tables)
begin(globalThis.incrowdLink ?? "")
