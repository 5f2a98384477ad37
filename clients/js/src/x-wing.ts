import { KEM_MLKEM768_X25519 } from "@panva/hpke-noble"
import type { KEM } from "hpke"

const Q = 3329
const COEFFICIENT_BYTES = 1152

/** X-Wing (draft-connolly-cfrg-xwing-kem): ML-KEM-768 with X25519, secret unless both are broken. */
const library = KEM_MLKEM768_X25519()

export const X_WING: KEM = {
  ...library,
  async DeserializePublicKey(key) {
    if (!isReduced(key)) throw new RangeError("a coefficient of the key is not below q")
    return library.DeserializePublicKey(key)
  },
}

/** The modulus check of FIPS 203, section 7.2, which the library lacks: all coefficients, of 12 bits, are below q. */
function isReduced(key: Uint8Array): boolean {
  for (let i = 0; i < COEFFICIENT_BYTES; i += 3) {
    const [a, b, c] = key.subarray(i, i + 3)
    if ((a | ((b & 15) << 8)) >= Q || ((b >> 4) | (c << 4)) >= Q) return false
  }
  return true
}
