import { isHex, sha256, toHex, utf8, type Bytes } from "./bytes.js"
import { canonical, type Json } from "./canonical.js"
import { cellCount, mostCells } from "./cells.js"
import { hiddenIn } from "./characters.js"
import { IncrowdError, refuse } from "./errors.js"
import { isAddress } from "./link.js"
import { checkPlan, plaintextBytes, questionsOf, type Plan } from "./plan.js"
import { isUsable, overhead } from "./seal.js"
import { fewestSlots, pools } from "./slots.js"

const LONGEST = 2 ** 24
const MOST = 65536 // strata, and reports of a person
const KEYS =
  "addresses closes codes colluding disposes format key_configuration local_only opens period plan plan_digest " +
  "reserve shuffler_key slots small_strata strata wanted wording"

/** Everything that a device, a shuffler and a collector agree on, as the shuffler publishes it (docs/protocol.md). */
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

/** A checked bundle with the pinned digest. */
export interface Survey {
  readonly bundle: Bundle
  /** SHA-256 of the bundle's text. */
  readonly digest: Bytes
  /** The invitation of the link; empty without one. */
  readonly code: string
}

/** Reads a survey from the bytes of a bundle. They are refused unless they have the pinned digest and are valid. */
export async function readBundle(bytes: Bytes, pinned: string): Promise<Survey> {
  if (bytes.length > LONGEST) refuse("it has more than 16 MiB")
  const digest = await sha256(bytes)
  if (toHex(digest) !== pinned) refuse(`its SHA-256 is ${toHex(digest)}, not the pinned ${pinned}`)
  const bundle = parse(bytes) as unknown as Bundle
  if (toHex(await sha256(utf8(canonical(bundle.plan as unknown as Json)))) !== bundle.plan_digest)
    refuse("plan_digest is not the digest of the plan")
  const hidden = hiddenIn(bundle)
  if (hidden) refuse(`${hidden.slice(1)} contains a hidden character`)
  const wrong = await firstWrong(bundle).catch((error) => {
    if (error instanceof IncrowdError) throw error
    return "the plan"
  })
  if (wrong) refuse(`${wrong} does not follow the protocol`)
  return { bundle, digest, code: "" }
}

function parse(bytes: Bytes): { [key: string]: Json } {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    const value = JSON.parse(text) as Json
    if (canonical(value) === text && hasKeys(value, KEYS)) return value
  } catch {
    // it is not text, or not JSON
  }
  return refuse("it is not the canonical JSON of a bundle")
}

/** The first invalid field of a bundle. Throws if the plan does not even have the structure of a plan. */
async function firstWrong(bundle: Bundle & { readonly format?: unknown }): Promise<string | undefined> {
  const { plan, wording, strata, reserve, wanted, addresses, slots } = bundle
  const { survey } = plan
  checkPlan(plan)
  const times = [bundle.opens, bundle.closes, bundle.disposes].map(timeOf)
  const checks: { readonly [field: string]: boolean } = {
    format: bundle.format === "incrowd bundle 1",
    rows_per_person: survey.rows_per_person === 1,
    wording: isWording(wording, survey.question.map(({ id }) => id)),
    period: isName(bundle.period),
    closes: times[0] < times[1] && times[1] <= times[2],
    strata: Array.isArray(strata) && strata.length <= MOST && strata.length > 0 && strata.every(isName),
    "the names of strata": new Set(strata).size === strata.length,
    small_strata: ["delete", "merge"].includes(bundle.small_strata),
    codes: typeof bundle.codes === "boolean",
    local_only: typeof bundle.local_only === "boolean",
    colluding: bundle.colluding === survey.colluding,
    reserve: isCount(reserve, Math.max(20, Math.ceil(survey.crowd / 100))),
    wanted: wanted === null || isCount(wanted, survey.crowd + reserve),
    shuffler_key: isHex(bundle.shuffler_key, 32),
    addresses: hasKeys(addresses, "collector shuffler") && Object.values(addresses).every(isAddress),
    slots: Array.isArray(slots) && areSlots(plan, slots),
    key_configuration: await isUsable(bundle.key_configuration),
  }
  return Object.keys(checks).find((field) => !checks[field])
}

const hasKeys = (value: unknown, keys: string): value is { [key: string]: Json } =>
  value instanceof Object && Object.keys(value).sort().join(" ") === keys

const isName = (text: unknown): boolean => typeof text === "string" && text !== "" && [...text].length <= 200

const isCount = (value: unknown, least: number): boolean => Number.isSafeInteger(value) && (value as number) >= least

function isWording(wording: Wording, ids: string[]): boolean {
  if (!hasKeys(wording, "introduction language questions title")) return false
  const { language, title, introduction, questions } = wording as Wording
  const tag = /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/.test(language) && language.length <= 35
  const texts = Object.values(questions).every((text) => typeof text === "string" && text !== "")
  return tag && isName(title) && typeof introduction === "string" && texts && hasKeys(questions, ids.sort().join(" "))
}

/** The milliseconds of a time such as 2026-11-22T08:00:00Z; NaN for any other text. */
const timeOf = (text: string): number => {
  const time = Date.parse(text)
  return Number.isNaN(time) || new Date(time).toISOString().replace(".000", "") !== text ? NaN : time
}

function areSlots(plan: Plan, slots: readonly number[]): boolean {
  const together = pools(plan).map((pool) => pool.map((message) => plan.messages[message]))
  const chance = 1e-9 / (plan.survey.crowd * together.filter((pool) => pool.some(({ cells }) => cells)).length)
  const right = together.every((pool, i) => {
    const fixed = total(pool.filter(({ cells }) => !cells).map(({ copies }) => copies))
    const sets = pool.filter(({ cells }) => cells).map((message) => {
      const [questions, parities] = [questionsOf(plan, message), message.parities]
      return { most: mostCells(questions, parities), cells: cellCount(questions, parities), q: message.noise_numerator! / 2 ** 32 }
    })
    if (!sets.length) return slots[i] === fixed
    return isCount(slots[i], fixed + 1) && fewestSlots(slots[i] - fixed, sets, chance)
  })
  return right && slots.length === together.length && total(slots) <= MOST
}

const total = (slots: readonly number[]): number => slots.reduce((sum, count) => sum + count, 0)

/** The sealed length of every report of a survey. */
export const sealedBytes = (bundle: Bundle): number => plaintextBytes(bundle.plan) + overhead(bundle.key_configuration)

/** The length of every upload of a survey. */
export const uploadBytes = (bundle: Bundle): number => 50 + total(bundle.slots) * sealedBytes(bundle)
