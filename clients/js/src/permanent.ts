import { concat, toHex, utf8, type Bytes } from "./bytes.js"
import { channelOf } from "./channels.js"
import { inParts } from "./cells.js"
import { questionsOf, type Message, type Plan } from "./plan.js"
import { answersOf, bitsOf, type Question } from "./questions.js"
import { eightBytes, framed } from "./words.js"

const DOMAIN = utf8("incrowd permanent response 1")
const SET = "incrowd permanent set 1"

/** The secret of a device: 32 bytes, or an HMAC-SHA256 key that cannot be read out. */
export type DeviceKey = Bytes | CryptoKey

/**
 * Where a device keeps its secret. It is given a fresh one, keeps it unless it has one already, and gives back the
 * one that is kept.
 */
export type KeyStore = (fresh: Bytes) => Promise<DeviceKey>

export const hmacKey = async (key: DeviceKey): Promise<CryptoKey> =>
  key instanceof Uint8Array
    ? crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
    : key

/** The secret that a store keeps, as a key. */
export const keptKey = async (store: KeyStore): Promise<CryptoKey> =>
  hmacKey(await store(crypto.getRandomValues(new Uint8Array(32))))

/** Keeps the secret in this origin's IndexedDB, as a key that no script can read out. */
export const browserStore: KeyStore = async (fresh) => {
  const database = await done(opening())
  const key = await hmacKey(fresh)
  const table = database.transaction("keys", "readwrite").objectStore("keys")
  const kept = (await done(table.get("device"))) as CryptoKey | undefined
  if (kept === undefined) await done(table.add(key, "device"))
  database.close()
  return kept ?? key
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

/** What names a series of reports that repeat each other's permanent responses. */
export function seriesOf(plan: Plan, message: Message, numerator: number): string {
  const questions = questionsOf(plan, message).map((question) => `${question.id}: ${answersOf(question).join(", ")}`)
  const pairs = message.parities ? " in pairs" : ""
  return `${plan.survey.name}, noise ${numerator}, with ${questions.join("; ")}${pairs}`
}

/** The noise that is drawn once, over 2^32: the first stage of a randomizer, or that of the plan. */
export const permanentNoise = (message: Message, question: Question): number =>
  question.randomizer
    ? channelOf(question.randomizer, bitsOf(question), question.id).permanent!.flip!
    : message.noise_numerator!

/** Which of so many cells a draw flips for a person who is in those of `chosen`; attempt: how many draws did not fit. */
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

/** The bits of an answer, each flipped with probability numerator / 2^32, alike whenever the rest is. */
export function permanentBits(key: CryptoKey, series: string, question: Question, bits: boolean[], numerator: number) {
  const prefix = framed(DOMAIN, utf8(series), utf8(question.id), utf8(toHex(highestFirst(bits))))
  return Promise.all(
    bits.map(async (bit, i) => {
      const digest = new DataView(await crypto.subtle.sign("HMAC", key, concat(prefix, eightBytes(i))))
      return bit !== digest.getUint32(0) < numerator
    }),
  )
}

/** Bit i of an answer at place 7 - i % 8 of byte i // 8: only here, and only as a name of the answer. */
function highestFirst(bits: boolean[]): Bytes {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8))
  bits.forEach((bit, i) => bit && (bytes[i >> 3] |= 128 >> (i & 7)))
  return bytes
}
