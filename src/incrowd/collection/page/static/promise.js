import { el } from "./dom.js"
import { areMixed, inventedPieces } from "./pieces.js"

const X25519 = "0020" // the number of its KEM; the other one withstands quantum computers

const NONE = "practically-none" // in the place of a factor that is too large to mean anything

/** A figure of the configuration in the words' language, with as many decimals. */
function figure(text, words) {
  if (text === null || !Number.isFinite(Number(text))) return text
  const [, decimals = ""] = /^\d+\.(\d+)$/.exec(text) ?? []
  return words.number(Number(text), decimals.length)
}

/** The guarantee for the person who answers, computed from the plan when the page was created. */
export function promise(config, bundle, words) {
  const told = config.promise.services ? ofServices(config.promise, bundle, words) : ofDevices(config, bundle, words)
  return [
    el(
      "section",
      { class: "promise", "aria-labelledby": "promise-title" },
      el("h2", { id: "promise-title" }, words.say("promised")),
      claims(config, bundle, words).map((text) => el("p", { class: "claim" }, text)),
      told.map((text) => el("p", {}, text)),
    ),
  ]
}

/** What holds if nobody hides the person: a factor, or that practically nothing is left. */
const limit = (factor, words) =>
  factor === NONE || factor === null ? words.say("limit_none") : words.say("limit", { factor: figure(factor, words) })

const STRENGTHS = { strong: "strength_strong", moderate: "strength_moderate", weak: "strength_weak" }

/** How strong a promise is, and what a guess can become; no text if it can become practically certain. */
const strong = ({ strength, guess, most }, words) =>
  strength === NONE || most === null ? [] : [words.say(STRENGTHS[strength], { guess, most })]

/** What is promised about the published results. */
function concluded({ factor, delta }, words) {
  if (factor === NONE) return words.say("promise_none")
  const key = delta === "0" ? "promise_pure" : "promise"
  return words.say(key, { factor: figure(factor, words), delta: figure(delta, words) })
}

/** The same, and how strong that is. */
function published(promise, words) {
  if (promise.factor === NONE) return [concluded(promise, words)]
  const strength = promise.strength === NONE ? [words.say("strength_delta")] : strong(promise, words)
  return [concluded(promise, words), ...strength]
}

/** What is promised if services add noise to the counts of cells: each text is a paragraph. */
function ofServices(promise, { local_only: alone, colluding }, words) {
  const { factor, service_factor: service, crowd } = promise
  if (factor === null) return [words.say("promise_nothing")]
  if (alone) return [words.say("promise_services_alone"), concluded(promise, words)]
  const needed = { crowd, colluding: words.say(colluding ? "colluding" : "no_colluding", { colluding }) }
  return [
    ...published(promise, words),
    service === NONE ? words.say("promise_service_none") : null,
    service && service !== NONE ? words.say("promise_service", { factor: figure(service, words) }) : null,
    words.say(crowd === null ? "promise_rests_services" : "promise_rests_services_crowd", needed),
  ].filter(Boolean)
}

/** What is promised if devices add all noise. */
function ofDevices(config, bundle, words) {
  const { repeated } = config.promise
  const alone = bundle.local_only || config.promise.local_only
  const left = { limit: limit(config.promise.local_factor, words) }
  const permanent = config.promise.permanent ? [words.say("permanent", left)] : []
  if (alone) return [words.say("promise_local", left), ...strong(config.promise, words), ...permanent]
  if (repeated) return [words.say("promise_repeated", left), ...strong(config.promise, words)]
  const colluding = words.say(bundle.colluding ? "colluding" : "no_colluding", { colluding: bundle.colluding })
  return [
    ...published(config.promise, words),
    words.say(restsOn(bundle), { crowd: config.promise.crowd, colluding }),
    ...permanent,
  ]
}

/** Who must not work together. With cells, the first mixer could pass on single pieces of many people. */
function restsOn({ inviter, plan }) {
  if (!inviter) return "promise_rests"
  return hasPieces(plan) ? "promise_rests_mixers_pieces" : "promise_rests_mixers"
}

const hasPieces = (plan) => plan.messages.some(({ cells }) => cells)

/** What hides an answer: noise in a joint report; for cells, what services add, or mainly the pieces of other people. */
function claims(config, { local_only, plan }, words) {
  const added = plan.messages.filter((message) => message.added)
  if (added.length) {
    const rest = added.length < plan.messages.length ? [words.say("noise_rest")] : []
    return [words.say(local_only ? "added_alone" : "added"), ...rest]
  }
  const cells = plan.messages.filter((message) => message.cells)
  if (!cells.length) return [words.say("noise")]
  const values = { crowd: config.promise.crowd, invented: Math.min(...cells.map((message) => inventedPieces(plan, message))) }
  const travels = words.say(areMixed(config, { local_only }) ? "pieces" : "pieces_local", values)
  return cells.length < plan.messages.length ? [travels, words.say("noise_rest")] : [travels]
}

/** Who could break the guarantee, and how, including the host of this page. */
export function whoCouldCheat(config, bundle, short, pinned, words) {
  const about = { host: location.host, limit: limit(config.promise.local_factor, words) }
  const cheating = bundle.inviter ? withMixers(bundle, words) : withShuffler(bundle, words)
  return [
    el(
      "section",
      { class: "cheat" },
      bundle.inviter ? whoRunsWhat(bundle, words) : null,
      el("h2", {}, words.say("cheat")),
      el("ul", {}, cheating.map(([key, values]) => el("li", {}, words.say(key, { ...about, ...values })))),
      el("h2", {}, words.say("compare")),
      el("p", {}, words.say(pinned ? "compare_pinned" : "compare_by_eye")),
      el("p", {}, el("code", { class: "short" }, short)),
    ),
  ]
}

/** The collector's host if releases reach it as files. */
const BY_HAND = "collector.invalid"

/** Each is the name of a text, and its values. */
function withShuffler({ plan, codes, local_only: alone, addresses: { shuffler, collector: address } }, words) {
  const collector = new URL(address).hostname === BY_HAND ? words.say("by_hand") : address
  const added = plan.messages.some((message) => message.added)
  const apart = [
    [added ? "cheat_shuffler_added" : "cheat_shuffler", { shuffler }],
    [added ? "cheat_both_added" : hasPieces(plan) ? "cheat_both_pieces" : "cheat_both", { collector }],
  ]
  return [
    ...(alone ? [[added ? "cheat_one_added" : "cheat_one", { shuffler }]] : apart),
    ["cheat_host"],
    [codes ? "cheat_codes" : "cheat_open"],
  ]
}

/** The table of docs/protocol.md, "Who could cheat". */
function withMixers({ plan, runs, second }, words) {
  const together = (...roles) => ({ who: words.list([...new Set(roles.map((role) => runs[role]))]) })
  const classical = second.key_configuration.slice(2, 6) === X25519
  return [
    ["cheat_alone"],
    [hasPieces(plan) ? "cheat_mixers_pieces" : "cheat_mixers", together("first", "second", "collector")],
    ["cheat_inviter", together("inviter", "collector")],
    ...(hasPieces(plan) ? [["cheat_first", together("first", "collector")]] : []),
    ...(classical ? [["cheat_recorded"]] : []),
    ["cheat_host"],
  ]
}

function whoRunsWhat({ runs, inviter, first, second, collector }, words) {
  const services = [
    ["runs_inviter", { name: runs.inviter, address: inviter.address }],
    ["runs_first", { name: runs.first, address: first.address }],
    ["runs_second", { name: runs.second, address: second.address }],
    ["runs_collector", { name: runs.collector, address: collector.address }],
  ]
  const list = services.map(([key, values]) => el("li", {}, words.say(key, values)))
  return [el("h2", {}, words.say("runs")), el("ul", {}, list)]
}
