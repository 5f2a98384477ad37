/** An element with attributes, listeners (named "on…") and children. Texts stay text: nothing here reads markup. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value)
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? "" : value)
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""))
  return made
}

/** Text in an element of its own, marked if it is in another language than what stands around it. */
export const said = (name, { text, lang }, attributes = {}) => el(name, { ...attributes, lang }, text)

/** Brings an element into view and to whoever reads by ear. */
export function show(element) {
  element.tabIndex = -1
  element.focus()
  element.scrollIntoView({ block: "start" })
}
