import { concat, equal, fromHex, isHex, twoBytes, utf8, type Bytes } from "./bytes.js"
import { sealer } from "./hpke.js"

const KEM = twoBytes(0x0020)
const ALGORITHMS = Uint8Array.of(0, 1, 0, 1) // HKDF-SHA256, AES-128-GCM
const LABEL = utf8("application/vnd.incrowd.report request\0")

/** The number of bytes by which a sealed report is longer than its plaintext. */
export const OVERHEAD = 55

/** Seals plaintexts for the key of a bundle, each with a separate ephemeral key. */
export async function seal(configuration: string, digest: Bytes, plaintexts: readonly Bytes[]): Promise<Bytes[]> {
  const bytes = fromHex(configuration)
  const header = concat(bytes.subarray(0, 1), KEM, ALGORITHMS)
  const sealed = await sealer(bytes.slice(3, 35), concat(LABEL, header, digest))
  return Promise.all(plaintexts.map(async (plaintext) => concat(header, await sealed(plaintext))))
}

/** Whether it is a key configuration of the supported kind, with a key whose shared secrets are not zero. */
export async function isUsable(configuration: unknown): Promise<boolean> {
  if (!isHex(configuration, 41)) return false
  const bytes = fromHex(configuration)
  if (!equal(bytes.subarray(1, 3), KEM) || !equal(bytes.subarray(35), concat(twoBytes(4), ALGORITHMS))) return false
  return seal(configuration, new Uint8Array(32), [new Uint8Array(1)]).then(
    () => true,
    () => false,
  )
}
