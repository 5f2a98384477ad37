import { isHex, type Bytes } from "./bytes.js"
import { hostOf, isAddress } from "./link.js"
import { byServices, leastPeople, plaintextBytes, type Plan } from "./plan.js"
import { isUsable, overhead } from "./seal.js"
import { hasKeys, isCount } from "./shapes.js"

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

/** A checked bundle with the pinned digest. */
export interface Survey<B extends Bundle = Bundle> {
  readonly bundle: B
  /** SHA-256 of the bundle's text. */
  readonly digest: Bytes
  /** The invitation of the link; empty without one. */
  readonly code: string
}

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

export const hasMixers = (bundle: Bundle): bundle is MixersBundle => bundle.format === "incrowd bundle 2"

const collectorKey = (bundle: Bundle): string => (hasMixers(bundle) ? bundle.collector : bundle).key_configuration

/** The length of every report of a survey that is sealed for its collector. */
export const sealedBytes = (bundle: Bundle): number => plaintextBytes(bundle.plan) + overhead(collectorKey(bundle))

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
