// Looks again every few seconds. The token stays in this module: it is in no address, cookie or storage.
const SECONDS = 5
const by = (id) => document.getElementById(id)
const number = (value) => value.toLocaleString("en")
const time = (text) => new Date(text).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }) + " UTC"

let token = location.hash.slice(1)
let shown = null // the version of the estimates that are here
let timer = 0
by("title").parentElement.tabIndex = -1
history.replaceState(null, "", location.pathname + location.search)

const authorized = () => ({ Authorization: `Bearer ${token}` })

/** An element with text, and with others in it. */
function el(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties)
  made.append(...children)
  return made
}

function say(id, text) {
  if (by(id).textContent !== text) by(id).textContent = text // else a screen reader says it again
}

async function look() {
  clearTimeout(timer)
  try {
    const answer = await fetch("dashboard/state", { headers: authorized(), cache: "no-store", credentials: "omit" })
    if (answer.status === 401) return ask("This is not the token. It stands in the collector's settings.")
    if (!answer.ok) throw new Error(answer.status)
    await show(await answer.json())
    say("status", "")
  } catch {
    say("status", "The collector does not answer; what is shown may be old. This page tries again.")
  }
  timer = setTimeout(look, 1000 * SECONDS)
}

/** Without the right token there is nothing to show, and nothing stays. */
function ask(refused) {
  by("seen").hidden = true
  by("found").replaceChildren()
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
    "not-open": `People can send from ${time(opens)} on.`,
    collecting: `People are sending. Nothing is released with fewer than ${number(least_people)} people.`,
    closed: `It is closed; the release has not come. With too few people everything is deleted unread by ${time(disposes)}.`,
    opening: "A release is here and is being opened.",
    opened: estimates ? "It is opened: the estimates are below." : "It is opened, but too few of the reports are usable: no estimates are shown.",
    disposed: "Too few people sent. Nothing was released, and everything was deleted unread.",
  })[phase]

function row({ name, people, missing, released }, { strata, more_strata, least_people }) {
  const alone = strata.length + more_strata === 1
  const label = alone ? "People" : name
  const known = people === null ? "not known yet" : `${number(people)} of the ${number(least_people)} that a release needs`
  const lacking = missing ? `at most ${number(missing)} are missing` : "enough"
  const bar = el("progress", { max: least_people, value: Math.min(people ?? 0, least_people), ariaLabel: label })
  if (released) bar.value = least_people
  const said = released ? "released" : people === null ? known : `${known}; ${lacking}`
  return el("div", { className: "stratum" }, el("p", {}, el("span", {}, label), el("span", {}, said)), bar)
}

const more = ({ more_strata }) => (more_strata ? [el("p", { className: "quiet" }, `and ${number(more_strata)} more strata`)] : [])

const REJECTED = {
  "another-key": "for another key",
  unopened: "could not be opened",
  malformed: "not well formed",
  repeated: "repeated",
}

function facts(state) {
  const left = Date.parse(state.closes) - Date.parse(state.now)
  const kinds = Object.entries(state.rejected).filter(([, count]) => count)
  const rejected = kinds.map(([kind, count]) => `${number(count)} ${REJECTED[kind]}`).join(", ") || "none"
  const opened = ["People in the opened releases", number(state.opened_people)]
  return [
    [left > 0 ? "Time to closing" : "Closed", left > 0 ? duration(left / 60000) : time(state.closes)],
    ["Crowd of the plan", `${number(state.crowd)} people`],
    ...(state.next_count ? [["People are counted again", time(state.next_count)]] : []),
    ...(state.sealed_reports ? [opened, ["Sealed reports", number(state.sealed_reports)], ["Of these rejected", rejected]] : []),
    ...(state.contradicted ? [["Proof of cheating", "The shuffler signed two releases that exclude each other; keep the folder contradictions."]] : []),
  ]
}

function duration(minutes) {
  const parts = [[Math.floor(minutes / 1440), "day"], [Math.floor(minutes / 60) % 24, "hour"], [Math.floor(minutes) % 60, "minute"]]
  const said = parts.filter(([count]) => count).slice(0, 2)
  return said.map(([count, unit]) => `${count} ${unit}${count === 1 ? "" : "s"}`).join(" ") || "less than a minute"
}

function counted({ as_of, shuffler_away, opened_people }) {
  if (opened_people && !shuffler_away) return ""
  const away = shuffler_away ? "The shuffler does not answer; it is asked again in a minute. " : ""
  const asked = as_of ? ` As of the hour that began at ${time(as_of)}.` : ""
  return `${away}The shuffler tells how many people sent once an hour, rounded down.${asked}`
}

/** What holds for the people who are here; the page of estimates says it itself. */
function promise({ guarantee, estimates, phase }) {
  by("promise").hidden = !guarantee || Boolean(estimates)
  if (!guarantee) return
  const when = phase === "collecting" ? ", were it closed now," : ""
  say("heading", `${guarantee.heading}${when} with ${number(guarantee.people)} people`)
  say("sentence", guarantee.sentence)
  say("symbols", guarantee.symbols)
}

/** Puts the main part of the page of estimates here: both pages have one style sheet. */
async function estimates(version) {
  const made = version && (await fetched("dashboard/estimates"))
  by("found").replaceChildren(...(made ? [el("h2", {}, "Estimates"), ...made.body.childNodes] : []))
  for (const styled of by("found").querySelectorAll("[data-style]")) styled.style.cssText = styled.dataset.style
  shown = version
}

/** A page as a document whose scripts, if it had any, would not run. */
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
