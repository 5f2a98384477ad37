/** An element with attributes, listeners (named "on…") and children. Text is never parsed as markup. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value)
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value === true ? "" : value)
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""))
  return element
}

/** Text in a separate element, which is marked if its language differs from that of its surroundings. */
export const phrase = (name, { text, lang }, attributes = {}) => el(name, { ...attributes, lang }, text)

/** Scrolls to an element and moves the focus to it, so that screen readers read it. */
export function show(element) {
  element.tabIndex = -1
  element.focus()
  element.scrollIntoView({ block: "start" })
}
