import { checkKey, tokenKey } from "./blind.js"
import { fromHex, isHex } from "./bytes.js"
import { isAddress, locationOf } from "./link.js"
import type { Checks, MixersBundle, TokenKeyText } from "./parties.js"
import { byServices } from "./plan.js"
import { areDifferent, hasKeys, isName } from "./shapes.js"
import type { Shared } from "./tokens.js"

// What only surveys with two mixers need, as one file that the client loads on demand.
export { blindSlots, readDrawn, uploadOf } from "./tokens.js"

const ROLES = ["inviter", "first", "second", "collector"] as const
const TO_DELIVER = 24 * 60 * 60 * 1000

/** Checks what a bundle with two mixers says about the four parties, and the proofs of the token keys. */
export async function checksOfMixers({ isUsable, refuse }: Shared, bundle: MixersBundle): Promise<Checks> {
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
  if (Object.values(checks).every(Boolean)) await checkTokenKeys(refuse, tokenKeys)
  return checks
}

/** Whether two names are of one organization: white space and the case of A to Z do not count. */
const isSame = (one: string, other: string): boolean => plain(one) === plain(other)

const plain = (name: string): string => name.replace(/\s/g, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const keyOf = (configuration: string): string => configuration.slice(6, -12)

async function checkTokenKeys(refuse: Shared["refuse"], keys: readonly TokenKeyText[]): Promise<void> {
  for (const { modulus, roots } of keys) {
    const readable = isHex(modulus, 256) && Array.isArray(roots) && roots.every((root) => isHex(root, 256))
    if (!readable) refuse("a token key is not in hexadecimal digits")
    await checkKey(tokenKey(fromHex(modulus)), roots.map(fromHex)).catch((error: Error) => refuse(error.message))
  }
}
