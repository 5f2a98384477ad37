import type { KEM } from "hpke"

import { concat, fromHex, isHex, utf8, type Bytes } from "./bytes.js"
import { sealer, X25519 } from "./hpke.js"
import { loaded } from "./loading.js"

const ALGORITHMS = "00010001" // HKDF-SHA256, AES-128-GCM
/** The label of what is sealed for a collector with one shuffler. */
export const REPORT = utf8("application/vnd.incrowd.report request\0")
const FIXED = 7 + 16 // bytes of the header and of the tag

/** A supported key encapsulation mechanism: the lengths of its keys, and how to get it. */
interface Mechanism {
  readonly publicBytes: number
  readonly encapsulatedBytes: number
  readonly load: () => Promise<KEM>
}

const MECHANISMS: { readonly [id: string]: Mechanism } = {
  "0020": { publicBytes: 32, encapsulatedBytes: 32, load: async () => X25519 },
  "647a": { publicBytes: 1216, encapsulatedBytes: 1120, load: async () => (await loaded(import("./x-wing.js"))).X_WING },
}

/** The mechanism of a key configuration: id of the key (1 byte), id of the mechanism (2 bytes), key, algorithms. */
const mechanismOf = (configuration: string): Mechanism => MECHANISMS[configuration.slice(2, 6)]

/** The number of bytes by which a sealed report is longer than its plaintext. */
export const overhead = (configuration: string): number => FIXED + mechanismOf(configuration).encapsulatedBytes

/**
 * Seals plaintexts for a key, each with a separate encapsulated secret. label: what they are. binding: what they belong
 * to, such as the digest of a bundle.
 */
export async function seal(configuration: string, label: Bytes, binding: Bytes, plaintexts: readonly Bytes[]): Promise<Bytes[]> {
  const header = fromHex(configuration.slice(0, 6) + ALGORITHMS)
  const kem = await mechanismOf(configuration).load()
  const sealed = await sealer(kem, fromHex(configuration.slice(6, -12)), concat(label, header, binding))
  return Promise.all(plaintexts.map(async (plaintext) => concat(header, await sealed(plaintext))))
}

/** Whether it is a key configuration of a supported kind, with a valid key whose shared secrets are not zero. */
export async function isUsable(configuration: unknown): Promise<boolean> {
  if (typeof configuration !== "string" || !Object.hasOwn(MECHANISMS, configuration.slice(2, 6))) return false
  const { publicBytes, load } = mechanismOf(configuration)
  if (!isHex(configuration, 9 + publicBytes) || !configuration.endsWith(`0004${ALGORITHMS}`)) return false
  await load()
  return seal(configuration, REPORT, new Uint8Array(32), [new Uint8Array(1)]).then(
    () => true,
    () => false,
  )
}
