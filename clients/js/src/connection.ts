import type { Bytes } from "./bytes.js"
import { IncrowdError, type Problem } from "./errors.js"

/** How long to try, in milliseconds: in total, for one attempt, and the first and the longest pause between attempts. */
export interface Patience {
  readonly whole: number
  readonly one: number
  readonly first: number
  readonly longest: number
}

export const PATIENCE: Patience = { whole: 120_000, one: 30_000, first: 500, longest: 30_000 }

const LONGEST_PROBLEM = 2 ** 16 // bytes

export const MEDIA_TYPE = "application/octet-stream"

const REFUSED = "The service does not accept this upload."

// The status of each problem, whether the same bytes may be accepted later, and a message for people.
const PROBLEMS: { readonly [name in Problem]: readonly [status: number, again: boolean, meaning: string] } = {
  length: [400, false, REFUSED],
  bundle: [422, false, REFUSED],
  stratum: [422, false, REFUSED],
  sealed: [422, false, REFUSED],
  "not-open": [403, true, "The survey has not opened yet."],
  closed: [410, false, "The survey is closed; an upload that was sent before may be counted."],
  withdrawn: [410, false, "This upload was withdrawn; nothing more can be sent."],
  "code-used": [409, false, "The invitation was already used; an upload that was sent with it may be counted."],
  "code-unknown": [403, false, "The invitation is not recognized; check each of its characters, and send the same sealed answers with the right one."],
  "too-often": [429, false, "The same tokens were requested too often."],
  token: [403, false, "The service does not accept a token of this upload."],
  "not-found": [410, false, "It is too late to withdraw: the survey is closed."],
  "no-resource": [404, false, "There is no survey at this address."],
  method: [405, false, REFUSED],
  slow: [408, true, "Sending took too long."],
  "media-type": [415, false, REFUSED],
  busy: [503, true, "The service is busy."],
  full: [507, true, "The service is out of storage space."],
  fault: [500, true, "The service has a problem."],
}

const PREFIX = "urn:incrowd:problem:"

/** The response of a service: bytes if the request succeeded, otherwise the error and the pause that it asks for. */
type Reply = { readonly status: number; readonly body: Bytes } | { readonly error: IncrowdError; readonly pause: number }

/**
 * Repeats a request with the same bytes until the response is final. A pause is that of `Retry-After`, or twice the
 * previous one, shortened at random by up to half, so that clients that were refused together do not return together.
 * Only the bytes are sent: no cookie and no referrer. Redirections are not followed. most: bytes that are read of a
 * response, if they are more than those of a problem; of a longer one, one more byte is read.
 */
export async function ask(method: string, url: string, body: BodyInit | null, patience: Patience, most = 0): Promise<Reply & { body: Bytes }> {
  const end = Date.now() + patience.whole
  for (let pause = patience.first; ; pause = Math.min(2 * pause, patience.longest)) {
    const reply = await once(method, url, body, patience, Math.max(most, LONGEST_PROBLEM))
    if ("body" in reply) return reply
    const wait = Math.max(pause * (1 - Math.random() / 2), reply.pause)
    if (!reply.error.again || reply.error.code === "not-open" || Date.now() + wait > end) throw reply.error
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

async function once(method: string, url: string, body: BodyInit | null, { one }: Patience, most: number): Promise<Reply> {
  try {
    const response = await fetch(url, {
      method,
      body,
      headers: body ? { "Content-Type": MEDIA_TYPE } : {},
      cache: "no-store",
      credentials: "omit",
      redirect: "manual",
      referrerPolicy: "no-referrer",
      signal: AbortSignal.timeout(one),
    })
    const bytes = await firstBytes(response, most + 1)
    if (response.ok) return { status: response.status, body: bytes }
    return { error: problemOf(response.status, bytes), pause: seconds(response.headers.get("Retry-After")) * 1000 }
  } catch {
    const error = new IncrowdError("unreachable", "The service did not respond; try again. The same bytes are sent.", true)
    return { error, pause: 0 }
  }
}

/** The first bytes of a response, at most that many. The rest is not read, whatever length the service states. */
export async function firstBytes(response: Response, most: number): Promise<Bytes> {
  const reader = response.body?.getReader()
  const bytes = new Uint8Array(reader ? most : 0)
  let length = 0
  while (reader && length < most) {
    const { done, value } = await reader.read()
    if (done) break
    const piece = value.subarray(0, most - length)
    bytes.set(piece, length)
    length += piece.length
  }
  await reader?.cancel()
  return bytes.slice(0, length)
}

/** The error of a problem document (RFC 9457); for anything else, the status decides whether to try again. */
export function problemOf(status: number, body: BufferSource): IncrowdError {
  const name = typeOf(body)
  const problem = Object.hasOwn(PROBLEMS, name) ? PROBLEMS[name as Problem] : undefined
  if (problem?.[0] === status) return new IncrowdError(name as Problem, problem[2], problem[1])
  const again = status === 408 || status === 429 || status >= 500
  return new IncrowdError("response", `The address responded with status ${status}, which is not a response of a service of this survey.`, again)
}

function typeOf(body: BufferSource): string {
  try {
    const { type } = JSON.parse(new TextDecoder().decode(body)) as { type: unknown }
    return typeof type === "string" && type.startsWith(PREFIX) ? type.slice(PREFIX.length) : ""
  } catch {
    return ""
  }
}

/** The seconds of a `Retry-After` header: a number or a time (RFC 9110, section 10.2.3); 0 for anything else. */
export function seconds(text: string | null): number {
  if (text === null) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const time = Date.parse(text)
  return Number.isNaN(time) ? 0 : Math.max(0, (time - Date.now()) / 1000)
}
