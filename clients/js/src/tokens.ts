import { blind, finalize, tokenKey } from "./blind.js"
import { concat, equal, fromHex, sha256, twoBytes, utf8, type Bytes } from "./bytes.js"
import type { IncrowdError, refuse } from "./errors.js"
import type { MixersBundle, Survey } from "./parties.js"
import { randomOrder, systemWords } from "./random.js"
import type { isUsable, seal } from "./seal.js"

/** What the client gives to this code, which is loaded on demand and must not contain it again. */
export interface Shared {
  readonly IncrowdError: typeof IncrowdError
  readonly refuse: typeof refuse
  readonly seal: typeof seal
  readonly isUsable: typeof isUsable
}

const INNER = utf8("incrowd inner 2\0")
const OUTER = utf8("incrowd outer 2\0")
const ENTRY = utf8("incrowd entry 2\0")
const SLOT = utf8("incrowd slot 2\0")
const [DIGEST, CODE, STRATUM, NONCE, SIGNATURE] = [32, 16, 2, 32, 256] // bytes

/**
 * What a device stores before it requests tokens, so that it never draws or blinds again. inverses: they undo the
 * blinding of each value. inners: the sealed reports, one for each slot, message after message.
 */
interface Drawn {
  /** What is sent to the inviter: the digest of the bundle, the code, and the blinded values. */
  readonly request: Bytes
  readonly stratum: Bytes
  readonly nonce: Bytes
  readonly inverses: readonly Bytes[]
  readonly inners: readonly Bytes[]
}

/** Seals a person's plaintexts for the collector and blinds what the inviter has to sign. Returns the bytes to store. */
export async function blindSlots(
  { refuse, seal }: Shared,
  survey: Survey<MixersBundle>,
  code: Bytes,
  stratum: Bytes,
  plaintexts: readonly Bytes[],
): Promise<Bytes> {
  const { bundle, digest } = survey
  const inners = await seal(bundle.collector.key_configuration, INNER, concat(digest, stratum), plaintexts)
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE))
  const messages = await signed(survey, { stratum, nonce, inners })
  const blinded = await blind(messages, tokenKeys(bundle), systemWords).catch((error: Error) => refuse(error.message))
  const request = concat(digest, code, ...blinded.map(({ blinded }) => blinded))
  return concat(request, stratum, nonce, ...blinded.map(({ inverse }) => inverse), ...inners)
}

/** Reads stored bytes; all lengths follow from the bundle. sealed: that of an inner report. */
export function readDrawn({ IncrowdError }: Shared, { bundle, digest }: Survey<MixersBundle>, sealed: number, bytes: Bytes): Drawn {
  const slots = slotMessages(bundle).length
  const [request, inners] = [DIGEST + CODE + (slots + 1) * SIGNATURE, slots * sealed]
  const length = request + STRATUM + NONCE + (slots + 1) * SIGNATURE + inners
  if (bytes.length !== length || !equal(bytes.subarray(0, DIGEST), digest))
    throw new IncrowdError("length", "These bytes were not drawn for this survey.")
  const [nonce, inverses] = [request + STRATUM, request + STRATUM + NONCE]
  return {
    request: bytes.slice(0, request),
    stratum: bytes.slice(request, nonce),
    nonce: bytes.slice(nonce, inverses),
    inverses: cut(bytes.slice(inverses, -inners), SIGNATURE),
    inners: cut(bytes.slice(-inners), sealed),
  }
}

/**
 * The upload, given the inviter's answer: an envelope for the second mixer for each slot, in random order. Unless all
 * signatures are valid there is none: an upload with fewer reports would tell the inviter whose it is.
 */
export async function uploadOf(
  { IncrowdError, seal }: Shared,
  survey: Survey<MixersBundle>,
  drawn: Drawn,
  answer: Bytes,
): Promise<Bytes> {
  const { bundle, digest } = survey
  const { stratum, nonce, inverses, inners } = drawn
  const [keys, messages] = [tokenKeys(bundle), await signed(survey, drawn)]
  if (answer.length !== keys.length * SIGNATURE)
    throw new IncrowdError("response", "The response is not that of an inviter. Nothing was uploaded.")
  const [entry, ...tokens] = await finalize(messages, keys, inverses, cut(answer, SIGNATURE)).catch((error: Error) => {
    throw new IncrowdError("tokens", `The inviter's response is refused: ${error.message}. Nothing was uploaded.`)
  })
  const reports = slotMessages(bundle).map((message, i) => concat(twoBytes(message), tokens[i], inners[i]))
  const order = randomOrder(reports.length, systemWords)
  const binding = concat(digest, stratum)
  const envelopes = await seal(bundle.second.key_configuration, OUTER, binding, order.map((at) => reports[at]))
  return concat(digest, stratum, nonce, entry, ...envelopes)
}

/** What the tokens sign, in the order of their keys: the entry, then each sealed report of each message. */
async function signed({ bundle, digest }: Survey<MixersBundle>, { stratum, nonce, inners }: Pick<Drawn, "stratum" | "nonce" | "inners">) {
  const slots = slotMessages(bundle).map(async (message, i) =>
    concat(SLOT, digest, stratum, twoBytes(message), await sha256(inners[i])),
  )
  return [concat(ENTRY, digest, nonce), ...(await Promise.all(slots))]
}

/** The message that each slot belongs to. */
const slotMessages = ({ slots }: MixersBundle): number[] => slots.flatMap((count, message) => Array<number>(count).fill(message))

/** The key of each token: that of the entry, then that of each slot. */
function tokenKeys(bundle: MixersBundle) {
  const { entry, messages } = bundle.inviter
  const [first, ...others] = [entry, ...messages].map(({ modulus }) => tokenKey(fromHex(modulus)))
  return [first, ...slotMessages(bundle).map((message) => others[message])]
}

const cut = (bytes: Bytes, size: number): Bytes[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size))
