import { sha256, toHex, utf8, type Bytes } from "./bytes.js"
import { canonical, type Json } from "./canonical.js"
import { cellCount, laneOf, mostCells } from "./cells.js"
import { hiddenIn } from "./characters.js"
import { IncrowdError, refuse } from "./errors.js"
import { mixing, SHARED } from "./mixing.js"
import { checksOfShuffler, hasMixers, sealedBytes, type Bundle, type Checks, type Survey, type Wording } from "./parties.js"
import { byServices, checkPlan, questionsOf, type Plan } from "./plan.js"
import { overhead } from "./seal.js"
import { areDifferent, hasKeys, isCount, isName } from "./shapes.js"
import { fewestSlots, separatePools, sharedPools, type Pools } from "./slots.js"

export const LONGEST = 2 ** 24 // bytes
const MOST = 65536 // strata, and reports of a person
const KEYS: { readonly [format: string]: string } = {
  "incrowd bundle 1":
    "addresses closes codes colluding disposes format key_configuration local_only opens period plan plan_digest " +
    "reserve shuffler_key slots small_strata strata wanted wording",
  "incrowd bundle 2":
    "closes codes collector colluding disposes first format inviter opens period plan plan_digest reserve runs second " +
    "slots small_strata strata wording",
}
const SIGNATURE = 256 // bytes of a token

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
    const { format } = value as { format: string }
    if (canonical(value) === text && Object.hasOwn(KEYS, format) && hasKeys(value, KEYS[format])) return value
  } catch {
    // it is not text, or not JSON
  }
  return refuse("it is not the canonical JSON of a bundle")
}

/** The first invalid field of a bundle. Throws if the plan does not even have the structure of a plan. */
async function firstWrong(bundle: Bundle): Promise<string | undefined> {
  const { plan, wording, strata, reserve, slots } = bundle
  const { survey } = plan
  checkPlan(plan)
  const times = [bundle.opens, bundle.closes, bundle.disposes].map(timeOf)
  const checks: Checks = {
    rows_per_person: survey.rows_per_person === 1,
    wording: isWording(wording, survey.question.map(({ id }) => id)),
    period: isName(bundle.period),
    closes: times[0] < times[1] && times[1] <= times[2],
    strata: Array.isArray(strata) && strata.length <= MOST && strata.length > 0 && strata.every(isName),
    "the names of strata": areDifferent(strata),
    colluding: bundle.colluding === survey.colluding,
    reserve: isCount(reserve, plan.guarantee.crowd ? Math.max(20, Math.ceil(survey.crowd / 100)) : 0),
    slots: Array.isArray(slots) && areSlots(plan, slots, poolsOf(bundle)),
    ...(await (hasMixers(bundle) ? (await mixing()).checksOfMixers(SHARED, bundle) : checksOfShuffler(bundle))),
  }
  return Object.keys(checks).find((field) => !checks[field])
}

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

function areSlots(plan: Plan, slots: readonly number[], pools: Pools): boolean {
  const together = pools.map((pool) => pool.map((message) => plan.messages[message]))
  const chance = 1e-9 / (plan.survey.crowd * together.filter((pool) => pool.some(({ cells, added }) => cells && !added)).length)
  const right = together.every((pool, i) => {
    const first = questionsOf(plan, pool[0])
    if (pool[0].added) return slots[i] === laneOf(first, cellCount(first) - 1) + 1
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

/** The messages that share slots, for each number of slots. */
export const poolsOf = (bundle: Bundle): Pools =>
  (hasMixers(bundle) || byServices(bundle.plan) ? separatePools : sharedPools)(bundle.plan)

/** The number of sealed reports in every upload of a survey. */
export const places = (bundle: Bundle): number => total(bundle.slots)

/** The length of every upload of a survey. */
export function uploadBytes(bundle: Bundle): number {
  if (!hasMixers(bundle)) return 50 + places(bundle) * sealedBytes(bundle)
  const envelope = 2 + SIGNATURE + sealedBytes(bundle) + overhead(bundle.second.key_configuration)
  return 66 + SIGNATURE + places(bundle) * envelope
}
