// Characters that move the cursor, change the direction of text, or have no width: they can hide other text. They are
// listed by code point and not by category, so that all clients agree (docs/protocol.md, "Bundle").
const HIDDEN = new RegExp(
  "[\\0-\\x1f\\x7f-\\x9f" + // C0, DEL, C1
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069" + // bidirectional
    "\\u2028\\u2029" + // separators of lines and paragraphs
    "\\xad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u2060-\\u2065\\u206a-\\u206f\\u3164\\ufeff\\uffa0" +
    "\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e007f}" + // no width
    "\\ud800-\\udfff]", // half of a pair
  "u",
)

/** Where a text may have paragraphs, so that U+000A is allowed. */
const PARAGRAPHS =
  /^\.(wording\.(introduction$|questions\b)|plan\.survey\.((question|section|matrix)\.\d+\.(text|help)|page\.(consent|thanks))\b)/

/** The place of the first text in a bundle with such a character. Codes of files are never shown. */
export function hiddenIn(value: unknown, place = ""): string | undefined {
  if (place === ".plan.survey.codes") return undefined
  if (typeof value === "string") return HIDDEN.test(PARAGRAPHS.test(place) ? value.replaceAll("\n", "") : value) ? place : undefined
  if (!(value instanceof Object)) return undefined
  for (const [key, each] of Object.entries(value)) {
    const hidden = hiddenIn(key, place || ".") ?? hiddenIn(each, `${place}.${key}`)
    if (hidden) return hidden
  }
  return undefined
}

/** White space as Python's `str.strip` removes it; ECMAScript's `trim` differs. */
const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+"
const AROUND = new RegExp(`^${SPACE}|${SPACE}$`, "g")

/** A word as it is hashed: in Unicode NFC, without white space around it, case-sensitive. */
export const normalize = (word: string): string => word.normalize("NFC").replace(AROUND, "")

/** Whether a text is not empty, and has no white space around it. */
export const isTrimmed = (text: unknown): boolean => typeof text === "string" && text !== "" && text.replace(AROUND, "") === text
