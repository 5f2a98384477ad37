// Couples each slider with its field of a number, and sets a field from a button.
"use strict"

const LANGUAGE = document.documentElement.lang

/** The number at a place of a slider, on a logarithmic scale; "" at the end that means "no number". */
function numberAt(range) {
  const { low, high, emptyAt } = range.dataset
  const [first, last] = ends(range)
  const place = Number(range.value)
  if ((emptyAt === "high" && place > last) || (emptyAt === "low" && place < first)) return ""
  const exact = Number(low) * (Number(high) / Number(low)) ** ((place - first) / (last - first))
  const power = 10 ** Math.floor(Math.log10(exact))
  if ("power" in range.dataset) return `1e${Math.round(Math.log10(exact))}`
  const number = Number(exact.toPrecision(Number(range.dataset.digits)))
  return String("whole" in range.dataset ? Math.round(number) : power < 1e-3 ? number.toExponential() : number)
}

/** The places of a slider that stand for numbers. */
function ends(range) {
  const { emptyAt } = range.dataset
  return [Number(range.min) + (emptyAt === "low" ? 1 : 0), Number(range.max) - (emptyAt === "high" ? 1 : 0)]
}

/** Moves a slider to the number in its field. */
function follow(range) {
  const text = document.getElementById(range.dataset.for).value
  const { low, high, emptyAt, empty } = range.dataset
  const [first, last] = ends(range)
  const part = Math.log(Number(text) / Number(low)) / Math.log(Number(high) / Number(low))
  if (text === "" && emptyAt) range.value = emptyAt === "high" ? range.max : range.min
  else if (Number.isFinite(part)) range.value = String(Math.round(first + Math.min(Math.max(part, 0), 1) * (last - first)))
  const number = Number(text)
  const words = text === "" && empty ? empty : number >= 1000 ? number.toLocaleString(LANGUAGE) : text
  range.setAttribute("aria-valuetext", words)
  describe(range, number)
}

/** A small chance in words. */
function describe(range, number) {
  const words = range.parentElement.querySelector("[data-chance]")
  if (!words) return
  const times = Math.floor(1 / number + 1e-9)
  words.textContent = Number.isFinite(times) && times > 0 ? words.dataset.chance.replace("{number}", times.toLocaleString(LANGUAGE)) : ""
}

for (const range of document.querySelectorAll("input[type=range][data-for]")) {
  range.hidden = false
  const field = document.getElementById(range.dataset.for)
  follow(range)
  field.addEventListener("input", () => follow(range))
  range.addEventListener("input", () => {
    field.value = numberAt(range)
    follow(range)
  })
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-set]")
  if (!button) return
  event.preventDefault()
  const field = document.getElementById(button.dataset.set)
  field.value = button.value
  field.dispatchEvent(new Event("input", { bubbles: true }))
  field.focus()
})

// An answer says which values it was computed from. If others are shown by now, it is outdated.
function markOutdated() {
  const figures = document.getElementById("figures")
  for (const kind of ["values", "inputs"])
    for (const each of document.querySelectorAll(`[data-${kind}]:not(#figures)`)) {
      const outdated = each.dataset[kind] !== figures.dataset[kind]
      for (const part of each.children) part.hidden = part.classList.contains("outdated") !== outdated
    }
}
document.addEventListener("htmx:after:swap", markOutdated)
