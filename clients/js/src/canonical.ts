export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** The canonical JSON of RFC 8785: keys sorted by UTF-16 units, no white space, ECMAScript's numbers. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new TypeError("a lone surrogate")
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  const members = Object.keys(value).sort().map((key) => `${canonical(key)}:${canonical(value[key])}`)
  return `{${members.join(",")}}`
}
