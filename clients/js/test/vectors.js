import { readFileSync } from "node:fs"

/** A file of the shared vectors. */
export const vectors = (name) => JSON.parse(readFileSync(new URL(`../../../vectors/${name}.json`, import.meta.url)))

/** Words as the vectors write them, as a source that ends when they do. */
export function drawFrom(words) {
  let at = 0
  const draw = (count) => {
    const taken = words.slice(at, (at += count))
    if (taken.length < count) throw new Error("more words are drawn than there are")
    return Uint32Array.from(taken.flatMap((word) => [parseInt(word.slice(8), 16), parseInt(word.slice(0, 8), 16)]))
  }
  return { draw, left: () => words.length - at }
}

/** Answers of the vectors, which are written as in a CSV file, as the client takes them. */
export function typed(question, answer) {
  if (answer === null) return null
  if (question.type === "yesno") return { yes: true, no: false }[answer] ?? answer
  if (question.type === "multi") return answer === "none" ? [] : answer.split(";")
  return answer
}

/** A pair of keys of X25519, from its secret. */
export async function pairOf(secret) {
  const pkcs8 = new Uint8Array([...Buffer.from("302e020100300506032b656e04220420", "hex"), ...secret])
  const privateKey = await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", true, ["deriveBits"])
  const { x } = await crypto.subtle.exportKey("jwk", privateKey)
  const publicKey = await crypto.subtle.importKey("raw", Buffer.from(x, "base64url"), "X25519", true, [])
  return { privateKey, publicKey }
}
