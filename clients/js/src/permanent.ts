import { concat, toHex, utf8, type Bytes } from "./bytes.js"
import { channelOf } from "./channels.js"
import { inParts } from "./cells.js"
import { questionsOf, type Message, type Plan } from "./plan.js"
import { answersOf, bitsOf, type Question } from "./questions.js"
import { eightBytes, framed } from "./words.js"

const DOMAIN = utf8("incrowd permanent response 1")
const SET = "incrowd permanent set 1"

/** The secret of a device: 32 bytes, or an HMAC-SHA256 key that cannot be exported. */
export type DeviceKey = Bytes | CryptoKey

/**
 * The store of a device's secret. It receives a fresh secret, stores it unless it already has one, and returns the one
 * that is stored.
 */
export type KeyStore = (fresh: Bytes) => Promise<DeviceKey>

export const hmacKey = async (key: DeviceKey): Promise<CryptoKey> =>
  key instanceof Uint8Array
    ? crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
    : key

/** The secret in a store, as a key. */
export const storedKey = async (store: KeyStore): Promise<CryptoKey> =>
  hmacKey(await store(crypto.getRandomValues(new Uint8Array(32))))

/** Stores the secret in this origin's IndexedDB, as a key that scripts cannot export. */
export const browserStore: KeyStore = async (fresh) => {
  const database = await done(opening())
  const key = await hmacKey(fresh)
  const table = database.transaction("keys", "readwrite").objectStore("keys")
  const stored = (await done(table.get("device"))) as CryptoKey | undefined
  if (stored === undefined) await done(table.add(key, "device"))
  database.close()
  return stored ?? key
}

function opening(): IDBOpenDBRequest {
  const request = indexedDB.open("incrowd", 1)
  request.onupgradeneeded = () => request.result.createObjectStore("keys")
  return request
}

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })

/** The name of a series of reports with the same permanent responses. */
export function seriesOf(plan: Plan, message: Message, numerator: number): string {
  const questions = questionsOf(plan, message).map((question) => `${question.id}: ${answersOf(question).join(", ")}`)
  const pairs = message.parities ? " in pairs" : ""
  return `${plan.survey.name}, noise ${numerator}, with ${questions.join("; ")}${pairs}`
}

/** The numerator over 2^32 of the permanent noise: that of a randomizer's first stage, or the plan's. */
export const permanentNoise = (message: Message, question: Question): number =>
  question.randomizer
    ? channelOf(question.randomizer, bitsOf(question), question.id).permanent!.flip!
    : message.noise_numerator!

/** The cells that a draw flips for a person who is in the cells `chosen`. attempt: the number of draws that did not fit. */
export async function permanentFlips(
  key: CryptoKey,
  series: string,
  message: Message,
  cells: number,
  chosen: number[],
  attempt: number,
): Promise<number[]> {
  const answer = [...chosen].sort((a, b) => a - b).join()
  const name = framed(...[SET, series, message.questions.join(), answer, `${attempt}`].map(utf8))
  const secret = await crypto.subtle.sign("HMAC", key, name)
  const cipher = await crypto.subtle.importKey("raw", secret, "AES-CTR", false, ["encrypt"])
  return inParts(cells, async (first, size) => {
    const algorithm = { name: "AES-CTR", counter: concat(eightBytes(0), eightBytes(first / 4)), length: 64 }
    const stream = new DataView(await crypto.subtle.encrypt(algorithm, cipher, new Uint8Array(4 * size)))
    const numbers = Array.from({ length: size }, (_, i) => stream.getUint32(4 * i))
    return numbers.flatMap((number, i) => (number < message.noise_numerator! ? [i] : []))
  })
}

/** The bits of an answer, each flipped with probability numerator / 2^32; the same arguments give the same bits. */
export function permanentBits(key: CryptoKey, series: string, question: Question, bits: boolean[], numerator: number) {
  const prefix = framed(DOMAIN, utf8(series), utf8(question.id), utf8(toHex(highestFirst(bits))))
  return Promise.all(
    bits.map(async (bit, i) => {
      const digest = new DataView(await crypto.subtle.sign("HMAC", key, concat(prefix, eightBytes(i))))
      return bit !== digest.getUint32(0) < numerator
    }),
  )
}

/** Bit i at place 7 - i % 8 of byte i // 8: used only here, to name the answer. */
function highestFirst(bits: boolean[]): Bytes {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  bits.forEach((bit, i) => bit && (bytes[i >> 3] |= 128 >> (i & 7)))
  return bytes
}
