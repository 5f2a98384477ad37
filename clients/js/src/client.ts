import { readBundle, uploadBytes, type Survey } from "./bundle.js"
import { concat, twoBytes, utf8, type Bytes } from "./bytes.js"
import { ask, PATIENCE, type Patience } from "./connection.js"
import type { Answers } from "./encode.js"
import { IncrowdError } from "./errors.js"
import { parseCode, parseLink, type Link } from "./link.js"
import { browserStore, keptKey, type KeyStore } from "./permanent.js"
import { isMemoized } from "./questions.js"
import { randomOrder, systemWords } from "./random.js"
import { plaintexts } from "./reports.js"
import { seal } from "./seal.js"
import { stratumOf } from "./strata.js"

export interface SealOptions {
  /** The invitation; by default that of the link, if the survey was fetched with one. */
  readonly code?: string
  /** The part of the people that she belongs to, by its name; needed where there are several and no question is open. */
  readonly stratum?: string
  /** Where the device's key for permanent responses is kept; by default this origin's IndexedDB. */
  readonly keyStore?: KeyStore
}

/**
 * The survey that a link names: its bundle is fetched from the shuffler, and refused unless its SHA-256 is the one
 * that the link pins and it is right in every part. Nothing of the person is sent.
 */
export async function fetchSurvey(link: string | Link, patience: Patience = PATIENCE): Promise<Survey> {
  const { address, digest, code } = typeof link === "string" ? parseLink(link) : link
  const { body } = await ask("GET", `${address}/bundle`, null, patience)
  return { ...(await readBundle(new Uint8Array(body), digest)), code }
}

/**
 * The upload of one person: her answers randomized, sealed for the collector, in random order among dummies. The
 * noise is drawn here, once: send these bytes, and keep them until they were taken. Nothing is sent yet.
 */
export async function sealAnswers(survey: Survey, answers: Answers, options: SealOptions = {}): Promise<Bytes> {
  const { bundle, digest } = survey
  const start = concat(digest, codeField(survey, options.code), stratumField(survey, answers, options.stratum))
  const memoized = bundle.plan.survey.question.some(isMemoized)
  const key = memoized ? await keptKey(storeOf(options)) : null
  const made = await plaintexts(bundle.plan, bundle.slots, answers, systemWords, key)
  const order = randomOrder(made.length, systemWords)
  const sealed = await seal(bundle.key_configuration, digest, order.map((at) => made[at]))
  return concat(start, ...sealed)
}

/** Sends an upload, again and again if need be, until the shuffler has stored it or says no. */
export const sendUpload = async (survey: Survey, upload: Bytes, patience: Patience = PATIENCE): Promise<void> =>
  void (await ask("POST", addressOf(survey, upload), upload, patience))

/** Takes an upload back, before the survey closes. */
export const withdrawUpload = async (survey: Survey, upload: Bytes, patience: Patience = PATIENCE): Promise<void> =>
  void (await ask("DELETE", addressOf(survey, upload), upload, patience))

function addressOf({ bundle }: Survey, upload: Bytes): string {
  if (upload.length !== uploadBytes(bundle)) throw new IncrowdError("length", "These bytes are no upload for this survey.")
  return `${bundle.addresses.shuffler}/upload`
}

function codeField({ bundle, code }: Survey, typed = code): Bytes {
  if (bundle.codes && !typed) throw new IncrowdError("code", "This survey needs an invitation.")
  if (!bundle.codes && typed) throw new IncrowdError("code", "This survey takes no invitation.")
  return typed ? utf8(parseCode(typed)) : new Uint8Array(16)
}

function stratumField({ bundle: { plan, strata } }: Survey, answers: Answers, typed?: string): Bytes {
  const said = stratumOf(plan, answers) || (strata.length === 1 ? strata[0] : typed)
  const number = said && said === (typed ?? said) ? strata.indexOf(said) : -1
  if (number < 0) throw new IncrowdError("stratum", `Name one of the parts of this survey: ${strata.join(", ")}.`)
  return twoBytes(number)
}

function storeOf({ keyStore }: SealOptions): KeyStore {
  if (keyStore) return keyStore
  if (typeof indexedDB === "undefined")
    throw new IncrowdError("key", "This survey has permanent responses: give a keyStore that keeps the device's key.")
  return browserStore
}
