import { LONGEST, poolsOf, readBundle, uploadBytes } from "./bundle.js"
import { concat, sha256, toHex, twoBytes, utf8, type Bytes } from "./bytes.js"
import { ask, PATIENCE, type Patience } from "./connection.js"
import type { Answers } from "./encode.js"
import { IncrowdError } from "./errors.js"
import { parseCode, parseLink, type Link } from "./link.js"
import { mixing, SHARED } from "./mixing.js"
import { hasMixers, sealedBytes, type Survey } from "./parties.js"
import { browserStore, storedKey, type KeyStore } from "./permanent.js"
import { byServices } from "./plan.js"
import { isMemoized } from "./questions.js"
import { randomOrder, systemWords } from "./random.js"
import { plaintexts } from "./reports.js"
import { REPORT, seal } from "./seal.js"
import { stratumOf } from "./strata.js"

/** A link, or an address with an invitation from paper. */
export type Unpinned = Omit<Link, "digest"> & { readonly digest: string | null }

const CODE_AT = 32 // the place of the invitation, after the digest

export interface SealOptions {
  /** The invitation; by default that of the link. */
  readonly code?: string
  /** The name of the person's stratum; required if there are several and no question is open. */
  readonly stratum?: string
  /** The store of the device's key for permanent responses; by default this origin's IndexedDB. */
  readonly keyStore?: KeyStore
}

/**
 * Fetches the survey of a link. Its bundle is refused unless it is valid and its SHA-256 is the one in the link. Nothing
 * about the person is sent. A `digest` of null accepts whichever bundle there is: a person then has to compare the
 * `shortForm` of its digest with her invitation.
 */
export async function fetchSurvey(link: string | Unpinned, patience: Patience = PATIENCE): Promise<Survey> {
  const { address, digest, code } = typeof link === "string" ? parseLink(link) : link
  const { body } = await ask("GET", `${address}/bundle`, null, patience, LONGEST)
  return { ...(await readBundle(body, digest ?? toHex(await sha256(body)))), code }
}

/**
 * Draws the noise of one person, once, and seals the randomized answers for the collector, among dummies. Nothing is
 * sent yet. Store these bytes before you send anything, until the survey has accepted the upload that `requestTokens`
 * makes from them. Never call it a second time for a person, whatever the survey answers and even if she withdraws:
 * two draws reveal more about her than the promise says (docs/protocol.md, "What a device keeps").
 */
export async function sealAnswers(survey: Survey, answers: Answers, options: SealOptions = {}): Promise<Bytes> {
  const { bundle, digest } = survey
  const [code, stratum] = [codeField(survey, options.code), stratumField(survey, answers, options.stratum)]
  const { plan, slots } = bundle
  const added = byServices(plan)
  const memoized = plan.survey.question.some(isMemoized)
  const key = memoized ? await storedKey(storeOf(options)) : null
  const reports = await plaintexts(plan, poolsOf(bundle), slots, answers, systemWords, key)
  if (hasMixers(bundle)) return (await mixing()).blindSlots(SHARED, { ...survey, bundle }, code, stratum, reports)
  const sealed: Bytes[] = []
  // The slots of each lane: reports are in random order within it, and open in no other one.
  const lanes = added ? plan.messages.flatMap(({ added }, i) => (added ? Array<number>(slots[i]).fill(1) : slots[i])) : [reports.length]
  for (const [lane, size] of lanes.entries()) {
    const start = sealed.length
    const order = randomOrder(size, systemWords).map((at) => reports[start + at])
    const binding = added ? concat(digest, stratum, twoBytes(lane)) : digest
    sealed.push(...(await seal(bundle.key_configuration, REPORT, binding, order)))
  }
  return concat(digest, code, stratum, ...sealed)
}

/**
 * Makes the upload from what `sealAnswers` returned. With two mixers, it requests the tokens that admit the upload and
 * its reports: from the inviter, which sees the invitation but not what it signs. With one shuffler, the bytes are the
 * upload already. Store the upload before you send it; if this fails, call it again with the same bytes.
 */
export async function requestTokens(survey: Survey, sealed: Bytes, patience: Patience = PATIENCE): Promise<Bytes> {
  const { bundle } = survey
  if (!hasMixers(bundle)) return sealed
  const mixed = { ...survey, bundle }
  const { readDrawn, uploadOf } = await mixing()
  const drawn = readDrawn(SHARED, mixed, sealedBytes(bundle), sealed)
  const { body } = await ask("POST", `${bundle.inviter.address}/tokens`, drawn.request, patience, drawn.request.length)
  return uploadOf(SHARED, mixed, drawn, body)
}

/**
 * Puts another invitation into what `sealAnswers` returned, for a person whose invitation was refused with `code-unknown`
 * or `code-used`. Everything else stays the same. Store the result before you send it.
 */
export function withInvitation(survey: Survey, sealed: Bytes, code: string): Bytes {
  const corrected = sealed.slice()
  corrected.set(codeField(survey, code), CODE_AT)
  return corrected
}

/** Sends an upload, repeatedly if necessary, until the shuffler or the first mixer has stored or refused it. */
export const sendUpload = async (survey: Survey, upload: Bytes, patience: Patience = PATIENCE): Promise<void> =>
  void (await ask("POST", addressOf(survey, upload), upload, patience))

/** Withdraws an upload before the survey closes. This is final: the person cannot answer again. */
export const withdrawUpload = async (survey: Survey, upload: Bytes, patience: Patience = PATIENCE): Promise<void> =>
  void (await ask("DELETE", addressOf(survey, upload), upload, patience))

function addressOf({ bundle }: Survey, upload: Bytes): string {
  if (upload.length !== uploadBytes(bundle)) throw new IncrowdError("length", "These bytes are not an upload for this survey.")
  return `${hasMixers(bundle) ? bundle.first.address : bundle.addresses.shuffler}/upload`
}

function codeField({ bundle, code }: Survey, typed = code): Bytes {
  if (bundle.codes && !typed) throw new IncrowdError("code", "This survey requires an invitation.")
  if (!bundle.codes && typed) throw new IncrowdError("code", "This survey does not use invitations.")
  return typed ? utf8(parseCode(typed)) : new Uint8Array(16)
}

function stratumField({ bundle: { plan, strata } }: Survey, answers: Answers, typed?: string): Bytes {
  const stratum = stratumOf(plan, answers) || (strata.length === 1 ? strata[0] : typed)
  const number = stratum && stratum === (typed ?? stratum) ? strata.indexOf(stratum) : -1
  if (number < 0) throw new IncrowdError("stratum", `Name one of the strata of this survey: ${strata.join(", ")}.`)
  return twoBytes(number)
}

function storeOf({ keyStore }: SealOptions): KeyStore {
  if (keyStore) return keyStore
  if (typeof indexedDB === "undefined")
    throw new IncrowdError("key", "This survey has permanent responses; provide a keyStore for the device's key.")
  return browserStore
}
