import { readBundle, uploadBytes, type Survey } from "./bundle.js"
import { concat, twoBytes, utf8, type Bytes } from "./bytes.js"
import { ask, PATIENCE, type Patience } from "./connection.js"
import type { Answers } from "./encode.js"
import { IncrowdError } from "./errors.js"
import { parseCode, parseLink, type Link } from "./link.js"
import { browserStore, storedKey, type KeyStore } from "./permanent.js"
import { isMemoized } from "./questions.js"
import { randomOrder, systemWords } from "./random.js"
import { plaintexts } from "./reports.js"
import { seal } from "./seal.js"
import { stratumOf } from "./strata.js"

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
 * about the person is sent.
 */
export async function fetchSurvey(link: string | Link, patience: Patience = PATIENCE): Promise<Survey> {
  const { address, digest, code } = typeof link === "string" ? parseLink(link) : link
  const { body } = await ask("GET", `${address}/bundle`, null, patience)
  return { ...(await readBundle(new Uint8Array(body), digest)), code }
}

/**
 * Creates the upload of one person: the randomized answers, sealed for the collector, in random order among dummies.
 * The noise is drawn here, once: send these bytes, and keep them until they are accepted. Nothing is sent yet.
 */
export async function sealAnswers(survey: Survey, answers: Answers, options: SealOptions = {}): Promise<Bytes> {
  const { bundle, digest } = survey
  const start = concat(digest, codeField(survey, options.code), stratumField(survey, answers, options.stratum))
  const memoized = bundle.plan.survey.question.some(isMemoized)
  const key = memoized ? await storedKey(storeOf(options)) : null
  const reports = await plaintexts(bundle.plan, bundle.slots, answers, systemWords, key)
  const order = randomOrder(reports.length, systemWords)
  const sealed = await seal(bundle.key_configuration, digest, order.map((at) => reports[at]))
  return concat(start, ...sealed)
}

/** Sends an upload, repeatedly if necessary, until the shuffler has stored or refused it. */
export const sendUpload = async (survey: Survey, upload: Bytes, patience: Patience = PATIENCE): Promise<void> =>
  void (await ask("POST", addressOf(survey, upload), upload, patience))

/** Withdraws an upload before the survey closes. */
export const withdrawUpload = async (survey: Survey, upload: Bytes, patience: Patience = PATIENCE): Promise<void> =>
  void (await ask("DELETE", addressOf(survey, upload), upload, patience))

function addressOf({ bundle }: Survey, upload: Bytes): string {
  if (upload.length !== uploadBytes(bundle)) throw new IncrowdError("length", "These bytes are not an upload for this survey.")
  return `${bundle.addresses.shuffler}/upload`
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
