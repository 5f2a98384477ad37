import { el } from "./dom.js"

const figure = (text, words) => (Number.isFinite(Number(text)) ? words.number(Number(text)) : text)

/** What is promised to whoever answers: worked out when the page was made, from the plan that it is for. */
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
      el("p", { class: "claim" }, words.say("noise")),
      el("p", {}, words.say(key, values)),
      about,
      config.promise.permanent ? el("p", {}, words.say("permanent", { local: figure(config.promise.local_factor, words) })) : null,
    ),
  ]
}

/** Who could break the promise, and how: this page's own host among them. */
export function whoCouldCheat(config, bundle, short, pinned, words) {
  const values = {
    shuffler: bundle.addresses.shuffler,
    collector: bundle.addresses.collector,
    host: location.host,
    factor: figure(config.promise.local_factor, words),
  }
  const kinds = ["cheat_shuffler", "cheat_both", "cheat_host", bundle.codes ? "cheat_codes" : "cheat_open"]
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
