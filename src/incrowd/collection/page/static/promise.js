import { el } from "./dom.js"
import { areMixed, inventedPieces } from "./pieces.js"

const figure = (text, words) => (Number.isFinite(Number(text)) ? words.number(Number(text)) : text)

/** The guarantee for the person who answers, computed from the plan when the page was created. */
export function promise(config, bundle, words) {
  const { repeated } = config.promise
  const alone = bundle.local_only || config.promise.local_only
  const local = alone || repeated
  const { factor, delta } = local ? { factor: config.promise.local_factor, delta: "0" } : config.promise
  const values = { factor: figure(factor, words), delta: figure(delta, words), crowd: config.promise.crowd }
  const key = alone ? "promise_local" : repeated ? "promise_repeated" : delta === "0" ? "promise_pure" : "promise"
  const colluding = words.say(bundle.colluding ? "colluding" : "no_colluding", { colluding: bundle.colluding })
  const about = local ? null : el("p", {}, words.say("promise_rests", { ...values, colluding }))
  return [
    el(
      "section",
      { class: "promise", "aria-labelledby": "promise-title" },
      el("h2", { id: "promise-title" }, words.say("promised")),
      claims(config, bundle, words).map((text) => el("p", { class: "claim" }, text)),
      el("p", {}, words.say(key, values)),
      about,
      config.promise.permanent ? el("p", {}, words.say("permanent", { local: figure(config.promise.local_factor, words) })) : null,
    ),
  ]
}

/** What hides an answer: noise in a joint report; for cells, mainly the pieces of other people. */
function claims(config, { local_only, plan }, words) {
  const cells = plan.messages.filter((message) => message.cells)
  if (!cells.length) return [words.say("noise")]
  const values = { crowd: config.promise.crowd, invented: Math.min(...cells.map((message) => inventedPieces(plan, message))) }
  const travels = words.say(areMixed(config, { local_only }) ? "pieces" : "pieces_local", values)
  return cells.length < plan.messages.length ? [travels, words.say("noise_rest")] : [travels]
}

/** Who could break the guarantee, and how, including the host of this page. */
export function whoCouldCheat(config, bundle, short, pinned, words) {
  const values = {
    shuffler: bundle.addresses.shuffler,
    collector: bundle.addresses.collector,
    host: location.host,
    factor: figure(config.promise.local_factor, words),
  }
  const both = bundle.plan.messages.some(({ cells }) => cells) ? "cheat_both_pieces" : "cheat_both"
  const kinds = ["cheat_shuffler", both, "cheat_host", bundle.codes ? "cheat_codes" : "cheat_open"]
  return [
    el(
      "section",
      { class: "cheat" },
      el("h2", {}, words.say("cheat")),
      el("ul", {}, kinds.map((key) => el("li", {}, words.say(key, values)))),
      el("h2", {}, words.say("compare")),
      el("p", {}, words.say(pinned ? "compare_pinned" : "compare_by_eye")),
      el("p", {}, el("code", { class: "short" }, short)),
    ),
  ]
}
