import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from "hpke"

import { concat, equal, fromHex, isHex, twoBytes, utf8, type Bytes } from "./bytes.js"

const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM)
const ALGORITHMS = Uint8Array.of(0, 1, 0, 1) // HKDF-SHA256, AES-128-GCM
const KEM = twoBytes(0x0020)
const LABEL = utf8("application/vnd.incrowd.report request\0")

/** What a sealed report has more than its plaintext. */
export const OVERHEAD = 55

/** The beginning of every sealed report: key id and algorithms. */
const headerOf = (configuration: Bytes): Bytes => concat(configuration.subarray(0, 1), KEM, ALGORITHMS)

/** Seals plaintexts for the key of a bundle, each with an ephemeral key of its own. */
export async function seal(configuration: string, digest: Bytes, plaintexts: readonly Bytes[]): Promise<Bytes[]> {
  const bytes = fromHex(configuration)
  const header = headerOf(bytes)
  const info = concat(LABEL, header, digest)
  const key = await suite.DeserializePublicKey(bytes.subarray(3, 35))
  return Promise.all(
    plaintexts.map(async (plaintext) => {
      const { encapsulatedSecret, ciphertext } = await suite.Seal(key, plaintext, { info })
      return concat(header, encapsulatedSecret, ciphertext)
    }),
  )
}

/** Whether it is a key configuration of the one known kind, with a key that gives secrets which are not zero. */
export async function isUsable(configuration: unknown): Promise<boolean> {
  if (!isHex(configuration, 41)) return false
  const bytes = fromHex(configuration)
  if (!equal(bytes.subarray(1, 3), KEM) || !equal(bytes.subarray(35), concat(twoBytes(4), ALGORITHMS))) return false
  return seal(configuration, new Uint8Array(32), [new Uint8Array(1)]).then(
    () => true,
    () => false,
  )
}
