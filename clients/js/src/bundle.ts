import { isHex, sha256, toHex, utf8, type Bytes } from "./bytes.js"
import { canonical, type Json } from "./canonical.js"
import { refuse } from "./errors.js"
import { isAddress } from "./link.js"
import { bitsOf, checkPlan, plaintextBytes, type Plan } from "./plan.js"
import { isUsable, OVERHEAD } from "./seal.js"
import { fewestSlots } from "./slots.js"

const LONGEST = 2 ** 24
const KEYS =
  "addresses closes codes colluding disposes format key_configuration local_only opens period plan plan_digest " +
  "reserve shuffler_key slots small_strata strata wanted wording"

/** All that a device, a shuffler and a collector agree on, as the shuffler gives it out (docs/protocol.md). */
export interface Bundle {
  readonly plan: Plan
  readonly plan_digest: string
  readonly wording: Wording
  readonly period: string
  readonly opens: string
  readonly closes: string
  readonly disposes: string
  readonly wanted: number | null
  readonly strata: readonly string[]
  readonly small_strata: "delete" | "merge"
  readonly codes: boolean
  readonly colluding: number
  readonly reserve: number
  readonly local_only: boolean
  readonly slots: readonly number[]
  readonly key_configuration: string
  readonly shuffler_key: string
  readonly addresses: { readonly shuffler: string; readonly collector: string }
}

export interface Wording {
  readonly language: string
  readonly title: string
  readonly introduction: string
  readonly questions: { readonly [id: string]: string }
}

/** A bundle whose digest is the pinned one, checked. */
export interface Survey {
  readonly bundle: Bundle
  /** SHA-256 of the bundle's text. */
  readonly digest: Bytes
  /** The invitation of the link; empty without one. */
  readonly code: string
}

/** The survey that these bytes describe; refused unless they are the pinned ones and right in every part. */
export async function readBundle(bytes: Bytes, pinned: string): Promise<Survey> {
  if (bytes.length > LONGEST) refuse("it has more than 16 MiB")
  const digest = await sha256(bytes)
  if (toHex(digest) !== pinned) refuse(`its SHA-256 is ${toHex(digest)}, not the pinned ${pinned}`)
  const bundle = parse(bytes) as unknown as Bundle
  if (toHex(await sha256(utf8(canonical(bundle.plan as unknown as Json)))) !== bundle.plan_digest)
    refuse("plan_digest is not the digest of the plan")
  checkFields(bundle)
  checkPlan(bundle.plan)
  checkAgainstPlan(bundle)
  if (!(await isUsable(bundle.key_configuration))) refuse("key_configuration is not one that this client can seal for")
  return { bundle, digest, code: "" }
}

function parse(bytes: Bytes): { [key: string]: Json } {
  let value: Json
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    value = JSON.parse(text)
    if (canonical(value) !== text) throw new SyntaxError("not as RFC 8785 writes it")
  } catch (error) {
    return refuse(`its text is not canonical JSON (${(error as Error).message})`)
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return refuse("it is no JSON object")
  hasKeys(value, KEYS, "the bundle")
  return value
}

function hasKeys(value: object, keys: string, what: string): void {
  const found = Object.keys(value ?? {}).sort().join(" ")
  if (found !== keys) refuse(`the keys of ${what} are ${found}, not ${keys}`)
}

function checkFields(bundle: Bundle): void {
  const { wording, strata, reserve, wanted, addresses } = bundle
  const demand = (right: boolean, field: string): void => {
    if (!right) refuse(`${field} is not as the protocol says`)
  }
  demand((bundle as unknown as Record<string, unknown>)["format"] === "incrowd bundle 1", "format")
  hasKeys(wording, "introduction language questions title", "wording")
  demand([wording.language, wording.title, wording.introduction].every((text) => typeof text === "string"), "wording")
  demand(wording.language !== "" && wording.title !== "", "wording")
  demand(typeof bundle.period === "string", "period")
  const times = [bundle.opens, bundle.closes, bundle.disposes].map(timeOf)
  demand(times[0] < times[1] && times[1] <= times[2], "the order of opens, closes and disposes")
  demand(wanted === null || isCount(wanted, 1), "wanted")
  demand(Array.isArray(strata) && strata.length > 0 && strata.length <= 65536, "strata")
  demand(strata.every((name) => typeof name === "string" && name !== ""), "strata")
  demand(new Set(strata).size === strata.length, "strata")
  demand(["delete", "merge"].includes(bundle.small_strata), "small_strata")
  demand(typeof bundle.codes === "boolean" && typeof bundle.local_only === "boolean", "codes or local_only")
  demand(isCount(reserve, 20), "reserve")
  demand(isHex(bundle.shuffler_key, 32), "shuffler_key")
  hasKeys(addresses, "collector shuffler", "addresses")
  demand([addresses.shuffler, addresses.collector].every(isAddress), "addresses")
}

const isCount = (value: unknown, least: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least

/** Milliseconds of a time that is written as 2026-11-22T08:00:00Z; NaN of any other text. */
const timeOf = (text: string): number => {
  const time = Date.parse(text)
  return Number.isNaN(time) || new Date(time).toISOString().replace(".000", "") !== text ? NaN : time
}

function checkAgainstPlan({ plan, wording, colluding, reserve, slots }: Bundle): void {
  const { survey, messages } = plan
  const ids = survey.question.map(({ id }) => id).sort()
  hasKeys(wording.questions, ids.join(" "), "wording.questions")
  if (!ids.every((id) => typeof wording.questions[id] === "string" && wording.questions[id] !== ""))
    refuse("a question has no wording")
  if (survey.rows_per_person !== 1) refuse("rows_per_person of the plan is not 1")
  if (colluding !== survey.colluding) refuse("colluding is not that of the plan")
  if (reserve < Math.ceil(survey.crowd / 100)) refuse("reserve is below 1% of the crowd")
  if (!Array.isArray(slots) || slots.length !== messages.length || !slots.every((count) => isCount(count, 1)))
    refuse("slots does not name a number for each message")
  if (slots.reduce((sum, count) => sum + count, 0) > 65536) refuse("a person would send more than 65,536 reports")
  const unlinked = messages.filter(({ apart }) => apart).length
  messages.forEach((message, i) => {
    const chance = 1e-9 / (survey.crowd * unlinked)
    const [question] = message.questions.map((id) => survey.question.find((one) => one.id === id)!)
    const most = question.type === "multi" ? question.at_most : 1
    const q = (message.noise_numerator ?? 0) / 2 ** 32
    const right = message.apart
      ? fewestSlots(slots[i], most, bitsOf(question), message.copies, q, chance)
      : slots[i] === message.copies
    if (!right) refuse(`slots of message ${i} is ${slots[i]}, which is not what its law asks for`)
  })
}

/** The sealed length of every report of a survey. */
export const sealedBytes = (plan: Plan): number => plaintextBytes(plan) + OVERHEAD

/** The length that every upload of a survey has. */
export const uploadBytes = ({ plan, slots }: Bundle): number =>
  50 + slots.reduce((sum, count) => sum + count, 0) * sealedBytes(plan)
