import { AEAD_AES_128_GCM, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256, LabeledExpand, LabeledExtract, type KEM } from "hpke"

import { concat, twoBytes, utf8, type Bytes } from "./bytes.js"

// Only the parts of the suites: importing `CipherSuite` would make this client a fifth larger.
export const X25519 = KEM_DHKEM_X25519_HKDF_SHA256()
const kdf = KDF_HKDF_SHA256()
const aead = AEAD_AES_128_GCM()
const NONE = new Uint8Array(0)

/** A function that seals for a public key and an `info`: single shot, base mode (RFC 9180, sections 5.1 and 6.1). */
export async function sealer(kem: KEM, publicKey: Bytes, info: Bytes): Promise<(plaintext: Bytes) => Promise<Bytes>> {
  const suite = concat(utf8("HPKE"), ...[kem, kdf, aead].map(({ id }) => twoBytes(id)))
  const extract = (salt: Uint8Array, label: string, secret: Uint8Array) =>
    LabeledExtract(kdf, suite, salt, utf8(label), secret)
  const recipient = await kem.DeserializePublicKey(publicKey)
  const hashes = [await extract(NONE, "psk_id_hash", NONE), await extract(NONE, "info_hash", info)]
  const context = concat(Uint8Array.of(0), ...hashes) // mode 0: base
  return async (plaintext) => {
    const { shared_secret, enc } = await kem.Encap(recipient)
    const secret = await extract(shared_secret, "secret", NONE)
    const expand = (label: string, length: number) => LabeledExpand(kdf, suite, secret, utf8(label), context, length)
    const [key, nonce] = await Promise.all([expand("key", aead.Nk), expand("base_nonce", aead.Nn)])
    return concat(enc, await aead.Seal(key, nonce, NONE, plaintext))
  }
}
