import { fromHex, isHex } from "./bytes.js"
import { refuse } from "./errors.js"
import { hostOf, isAddress, locationOf } from "./link.js"
import { loaded } from "./loading.js"
import { byServices, leastPeople, type Plan } from "./plan.js"
import { isUsable } from "./seal.js"
import { areDifferent, hasKeys, isCount, isName } from "./shapes.js"

/** What a bundle says about a collection, whoever mixes. */
interface Collection {
  readonly plan: Plan
  readonly plan_digest: string
  readonly wording: Wording
  readonly period: string
  readonly opens: string
  readonly closes: string
  readonly disposes: string
  readonly strata: readonly string[]
  readonly small_strata: "delete" | "merge"
  readonly codes: boolean
  readonly colluding: number
  readonly reserve: number
  readonly slots: readonly number[]
}

/** A bundle with one shuffler, which invites and mixes. */
export interface ShufflerBundle extends Collection {
  readonly format: "incrowd bundle 1"
  readonly wanted: number | null
  readonly local_only: boolean
  readonly key_configuration: string
  readonly shuffler_key: string
  readonly addresses: { readonly shuffler: string; readonly collector: string }
}

/** A bundle with an inviter, two mixers, and a collector. runs: the organization that runs each service. */
export interface MixersBundle extends Collection {
  readonly format: "incrowd bundle 2"
  readonly runs: { readonly inviter: string; readonly first: string; readonly second: string; readonly collector: string }
  readonly inviter: {
    readonly address: string
    readonly key: string
    readonly entry: TokenKeyText
    readonly messages: readonly TokenKeyText[]
  }
  readonly first: { readonly address: string; readonly key: string }
  readonly second: { readonly address: string; readonly key: string; readonly key_configuration: string }
  readonly collector: { readonly address: string; readonly key_configuration: string }
}

/** A key with which the inviter signs tokens, and the proof that blinding hides what it signs; in hexadecimal. */
export interface TokenKeyText {
  readonly modulus: string
  readonly roots: readonly string[]
}

/** Everything that a device and the services agree on, as they publish it (docs/protocol.md, "Bundle"). */
export type Bundle = ShufflerBundle | MixersBundle

export interface Wording {
  readonly language: string
  readonly title: string
  readonly introduction: string
  readonly questions: { readonly [id: string]: string }
}

/** The checks of a part of a bundle: whether each field follows the protocol. */
export interface Checks {
  readonly [field: string]: boolean
}

const ROLES = ["inviter", "first", "second", "collector"] as const

/** Checks what a bundle with one shuffler says about shuffler and collector. */
export async function checksOfShuffler(bundle: ShufflerBundle): Promise<Checks> {
  const { wanted, plan, reserve, addresses } = bundle
  const { local_only: alone } = bundle
  const areAddresses = hasKeys(addresses, "collector shuffler") && Object.values(addresses).every(isAddress)
  return {
    small_strata: ["delete", byServices(plan) ? "delete" : "merge"].includes(bundle.small_strata),
    codes: typeof bundle.codes === "boolean",
    wanted: wanted === null || isCount(wanted, leastPeople(plan) + reserve),
    shuffler_key: isHex(bundle.shuffler_key, 32),
    addresses: areAddresses,
    local_only: alone === true || (alone === false && areAddresses && hostOf(addresses.shuffler) !== hostOf(addresses.collector)),
    key_configuration: await isUsable(bundle.key_configuration),
  }
}

const TO_DELIVER = 24 * 60 * 60 * 1000

/** Checks what a bundle with two mixers says about the four parties, and the proofs of the token keys. */
export async function checksOfMixers(bundle: MixersBundle): Promise<Checks> {
  const { runs, inviter, first, second, collector, plan } = bundle
  const shaped =
    hasKeys(inviter, "address entry key messages") && hasKeys(first, "address key") &&
    hasKeys(second, "address key key_configuration") && hasKeys(collector, "address key_configuration")
  if (!shaped) return { "what it says about a party": false }
  const addresses = ROLES.map((role) => bundle[role].address)
  const keys = [inviter.key, first.key, second.key]
  const tokenKeys = [inviter.entry, ...(Array.isArray(inviter.messages) ? inviter.messages : [])]
  const checks: Checks = {
    disposes: Date.parse(bundle.disposes) - Date.parse(bundle.closes) >= TO_DELIVER,
    noise: !byServices(plan),
    small_strata: bundle.small_strata === "delete",
    codes: bundle.codes === true,
    runs: hasKeys(runs, [...ROLES].sort().join(" ")) && Object.values(runs).every(isName) && !isSame(runs.inviter, runs.collector),
    addresses: addresses.every(isAddress) && areDifferent(addresses.map(locationOf)),
    keys: keys.every((key) => isHex(key, 32)) && areDifferent(keys),
    "second.key_configuration": await isUsable(second.key_configuration),
    "collector.key_configuration":
      (await isUsable(collector.key_configuration)) && keyOf(collector.key_configuration) !== keyOf(second.key_configuration),
    "inviter.messages": tokenKeys.length === plan.messages.length + 1 && areDifferent(tokenKeys.map(({ modulus }) => modulus)),
  }
  if (Object.values(checks).every(Boolean)) await checkTokenKeys(tokenKeys)
  return checks
}

/** Whether two names are of one organization: white space and the case of A to Z do not count. */
const isSame = (one: string, other: string): boolean => plain(one) === plain(other)

const plain = (name: string): string => name.replace(/\s/g, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const keyOf = (configuration: string): string => configuration.slice(6, -12)

async function checkTokenKeys(keys: readonly TokenKeyText[]): Promise<void> {
  const { checkKey, tokenKey } = await loaded(import("./blind.js"))
  for (const { modulus, roots } of keys) {
    const readable = isHex(modulus, 256) && Array.isArray(roots) && roots.every((root) => isHex(root, 256))
    if (!readable) refuse("a token key is not in hexadecimal digits")
    await checkKey(tokenKey(fromHex(modulus)), roots.map(fromHex)).catch((error: Error) => refuse(error.message))
  }
}
