import { el } from "./dom.js"

const MOST = 50 // matches that are listed

const folded = (text) => text.normalize("NFKD").replace(/\p{Diacritic}/gu, "").toLowerCase()

/**
 * A field with a list of matches below it, for any number of options (the combobox pattern of ARIA 1.2).
 *
 * options: values with their texts. text: what stands in it at first. choose: is told a value, or null when what is
 * typed is none. clears: whether it is emptied after a choice.
 */
export function combobox({ id, describedby, options, text = "", words, choose, clears = false }) {
  let matches = []
  let at = -1
  let keys = null
  const list = el("ul", { role: "listbox", id: `${id}-list`, hidden: true, "aria-label": words.say("matches") })
  const status = el("p", { class: "unseen", role: "status" })
  const input = el("input", {
    id,
    type: "text",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": `${id}-list`,
    "aria-describedby": describedby,
    value: text,
    oninput: () => (choose((!clears && exact()?.value) || null), open()),
    onkeydown: pressed,
    onblur: close,
    onclick: open,
  })

  function found(typed) {
    keys ??= options.map((option) => folded(option.text))
    const wanted = folded(typed.trim())
    const starting = []
    const holding = []
    keys.forEach((key, i) => {
      const place = key.indexOf(wanted)
      if (place >= 0) (place === 0 ? starting : holding).push(options[i])
    })
    return [...starting, ...holding]
  }

  const exact = () => options.find((option) => option.text === input.value.trim())

  function open() {
    const all = found(input.value)
    at = -1
    matches = all.slice(0, MOST)
    list.replaceChildren(...matches.map(line))
    list.hidden = matches.length === 0
    input.setAttribute("aria-expanded", String(!list.hidden))
    status.textContent = words.say("matching", { shown: matches.length, all: all.length })
    mark(-1)
  }

  function close() {
    matches = []
    list.hidden = true
    input.setAttribute("aria-expanded", "false")
    mark(-1)
  }

  const line = (option, i) =>
    el(
      "li",
      {
        role: "option",
        id: `${id}-${i}`,
        lang: option.lang,
        "aria-selected": "false",
        onpointerdown: (event) => event.preventDefault(),
        onclick: () => take(option),
      },
      option.text,
    )

  function mark(place) {
    list.children[at]?.setAttribute("aria-selected", "false")
    at = place
    const marked = list.children[at]
    if (!marked) return input.removeAttribute("aria-activedescendant")
    marked.setAttribute("aria-selected", "true")
    marked.scrollIntoView({ block: "nearest" })
    input.setAttribute("aria-activedescendant", marked.id)
  }

  function take(option) {
    input.value = clears ? "" : option.text
    choose(option.value)
    close()
  }

  function pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step) {
      if (list.hidden) open()
      mark((at + step + matches.length) % Math.max(1, matches.length))
    } else if (event.key === "Enter" && (matches[at] ?? exact())) take(matches[at] ?? exact())
    else if (event.key === "Escape" && !list.hidden) close()
    else return
    event.preventDefault()
  }

  return { input, element: el("div", { class: "combobox" }, input, list, status) }
}
