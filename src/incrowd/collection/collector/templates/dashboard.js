// Updates itself every few seconds. The token stays in this module: it is never in an address, a cookie or storage.
const SECONDS = 5
const by = (id) => document.getElementById(id)
const number = (value) => value.toLocaleString("en")
const time = (text) => new Date(text).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }) + " UTC"

let token = location.hash.slice(1)
let shown = null // the version of the estimates on this page
let timer = 0
by("title").parentElement.tabIndex = -1
history.replaceState(null, "", location.pathname + location.search)

const authorized = () => ({ Authorization: `Bearer ${token}` })

/** An element with properties and children. */
function el(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties)
  element.append(...children)
  return element
}

function say(id, text) {
  if (by(id).textContent !== text) by(id).textContent = text // otherwise a screen reader repeats it
}

async function look() {
  clearTimeout(timer)
  try {
    const answer = await fetch("dashboard/state", { headers: authorized(), cache: "no-store", credentials: "omit" })
    if (answer.status === 401) return ask("The token is not correct. You can find the token in the collector's settings.")
    if (!answer.ok) throw new Error(answer.status)
    await show(await answer.json())
    say("status", "")
  } catch {
    say("status", "The collector does not respond. The figures may be out of date. This page keeps trying.")
  }
  timer = setTimeout(look, 1000 * SECONDS)
}

/** Asks for the token, and removes everything that was shown. */
function ask(refused) {
  by("seen").hidden = true
  by("estimates").replaceChildren()
  shown = null
  by("door").hidden = false
  say("refused", refused)
  by("token").focus()
}

async function show(state) {
  document.title = state.title
  say("title", state.title)
  say("phase", phase(state))
  say("period", state.period)
  by("people").replaceChildren(...state.strata.map((stratum) => row(stratum, state)), ...more(state))
  by("facts").replaceChildren(...facts(state).map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text))))
  say("counted", counted(state))
  promise(state)
  by("door").hidden = true
  by("seen").hidden = false
  if (state.estimates !== shown) await estimates(state.estimates)
}

const phase = ({ phase, opens, disposes, least_people, estimates }) =>
  ({
    "not-open": `People can send answers from ${time(opens)} on.`,
    collecting: `People are sending their answers. A release needs at least ${number(least_people)} people.`,
    closed: `The collection is closed, and the release has not arrived yet. If too few people sent, everything is deleted unread by ${time(disposes)}.`,
    opening: "A release has arrived and is being opened.",
    opened: estimates ? "The release has been opened. The estimates are below." : "The release has been opened, but too few of its reports are usable. No estimates are shown.",
    disposed: "Too few people sent. Nothing was released, and everything was deleted unread.",
  })[phase]

function row({ name, people, missing, released, too_few }, { strata, more_strata, least_people }) {
  const alone = strata.length + more_strata === 1
  const label = alone ? "People" : name
  const count = people === null ? "not known yet" : `${number(people)} of the ${number(least_people)} that a release needs`
  const lacking = missing ? `up to ${number(missing)} more needed` : "enough"
  const bar = el("progress", { max: least_people, value: Math.min(people ?? 0, least_people), ariaLabel: label })
  if (released) bar.value = least_people
  const gone = too_few ? "too few tokens: nothing was counted" : "released"
  const state = released ? gone : people === null ? count : `${count}; ${lacking}`
  return el("div", { className: "stratum" }, el("p", {}, el("span", {}, label), el("span", {}, state)), bar)
}

const more = ({ more_strata }) => (more_strata ? [el("p", { className: "quiet" }, `and ${number(more_strata)} more strata`)] : [])

const REJECTED = {
  "another-key": "for another key",
  unopened: "could not be opened",
  malformed: "malformed",
  repeated: "repeated",
}

function facts(state) {
  const left = Date.parse(state.closes) - Date.parse(state.now)
  const kinds = Object.entries(state.rejected).filter(([, count]) => count)
  const rejected = kinds.map(([kind, count]) => `${number(count)} ${REJECTED[kind]}`).join(", ") || "none"
  const opened = ["People in the opened releases", number(state.opened_people)]
  return [
    [left > 0 ? "Time until closing" : "Closed", left > 0 ? duration(left / 60000) : time(state.closes)],
    [state.counts_on_crowd ? "Crowd in the plan" : "People expected; no crowd is needed", `${number(state.crowd)} people`],
    ...(state.next_count ? [["Next count of people", time(state.next_count)]] : []),
    ...(state.opened_people || state.sealed_reports ? [opened] : []),
    ...(state.sealed_reports ? [["Sealed reports", number(state.sealed_reports)], ["Rejected reports", rejected]] : []),
    ...(state.cheating ? [["Proof of cheating", state.cheating]] : []),
  ]
}

function duration(minutes) {
  const parts = [[Math.floor(minutes / 1440), "day"], [Math.floor(minutes / 60) % 24, "hour"], [Math.floor(minutes) % 60, "minute"]]
  return parts.filter(([count]) => count).slice(0, 2).map(([count, unit]) => `${count} ${unit}${count === 1 ? "" : "s"}`).join(" ") || "less than a minute"
}

function counted({ as_of, counted_by, counter_away, opened_people }) {
  if (opened_people && !counter_away) return ""
  const away = counter_away ? `The ${counted_by} does not respond; this page asks again in a minute. ` : ""
  const asked = as_of ? ` The latest count is from ${time(as_of)}.` : ""
  return `${away}Once an hour, the ${counted_by} reports how many people have sent, rounded down.${asked}`
}

/** The guarantee for the people so far; hidden once the estimates, which include it, are shown. */
function promise({ guarantee, estimates, phase }) {
  by("promise").hidden = !guarantee || Boolean(estimates)
  if (!guarantee) return
  const when = phase === "collecting" ? " if the collection closed now," : ""
  say("heading", `${guarantee.heading}${when} with ${number(guarantee.people)} people`)
  say("sentence", guarantee.sentence)
  say("symbols", guarantee.symbols)
}

/** Inserts the main part of the page of estimates, which has the same style sheet. */
async function estimates(version) {
  const page = version && (await fetched("dashboard/estimates"))
  by("estimates").replaceChildren(...(page ? [el("h2", {}, "Estimates"), ...page.body.childNodes] : []))
  shown = version
}

/** Fetches a page as a document whose scripts, if any, do not run. */
const fetched = (address) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open("GET", address)
    request.responseType = "document"
    request.setRequestHeader("Authorization", authorized().Authorization)
    request.onload = () => (request.status === 200 && request.response ? resolve(request.response) : reject(new Error(request.status)))
    request.onerror = reject
    request.send()
  })

by("door").addEventListener("submit", (event) => {
  event.preventDefault()
  token = by("token").value.trim()
  by("token").value = ""
  look().then(() => by("seen").hidden || by("title").parentElement.focus())
})
if (token) look()
else ask("")
