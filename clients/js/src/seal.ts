import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from "hpke"

import { headerOf, type Survey } from "./bundle.js"
import { concat, fromHex, utf8, type Bytes } from "./bytes.js"

const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM)

/** Seals plaintexts for the collector of a survey, each with an ephemeral key of its own. */
export async function seal({ bundle, digest }: Survey, plaintexts: readonly Bytes[]): Promise<Bytes[]> {
  const header = headerOf(bundle)
  const info = concat(utf8("application/vnd.incrowd.report request"), Uint8Array.of(0), header, digest)
  const key = await suite.DeserializePublicKey(fromHex(bundle.key_configuration).subarray(3, 35))
  return Promise.all(
    plaintexts.map(async (plaintext) => {
      const { encapsulatedSecret, ciphertext } = await suite.Seal(key, plaintext, { info })
      return concat(header, encapsulatedSecret, ciphertext)
    }),
  )
}
