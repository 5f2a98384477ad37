import { IncrowdError, type Problem } from "./errors.js"

/** How long to try, in milliseconds: in all, a single try, and the first and the longest pause between tries. */
export interface Patience {
  readonly whole: number
  readonly one: number
  readonly first: number
  readonly longest: number
}

export const PATIENCE: Patience = { whole: 120_000, one: 30_000, first: 500, longest: 30_000 }

export const MEDIA_TYPE = "application/octet-stream"

const NOT_TAKEN = "The shuffler does not take this upload."

// Of each problem its status, whether the same bytes may be taken later, and what it means to a person.
const PROBLEMS: { readonly [name in Problem]: readonly [status: number, again: boolean, meaning: string] } = {
  length: [400, false, NOT_TAKEN],
  bundle: [422, false, NOT_TAKEN],
  stratum: [422, false, NOT_TAKEN],
  sealed: [422, false, NOT_TAKEN],
  "not-open": [403, true, "The survey has not opened yet."],
  closed: [410, false, "The survey is closed; an upload sent before may be counted."],
  withdrawn: [410, false, "This upload was withdrawn; answer anew."],
  "code-used": [409, false, "The invitation was used; an upload sent with it may be counted."],
  "code-unknown": [403, false, "There is no such invitation; check every character of it."],
  "not-found": [410, false, "It is too late to withdraw: the survey is closed."],
  "no-resource": [404, false, "There is no survey at this address."],
  method: [405, false, NOT_TAKEN],
  slow: [408, true, "Sending took too long."],
  "media-type": [415, false, NOT_TAKEN],
  busy: [503, true, "Too many people are sending at once."],
  full: [507, true, "There is no room left for now."],
  fault: [500, true, "The shuffler has a fault."],
}

const PREFIX = "urn:incrowd:problem:"

/** An answer of a shuffler: bytes if it did what was asked, else the error that says why not, and a pause it wants. */
type Reply = { readonly status: number; readonly body: ArrayBuffer } | { readonly error: IncrowdError; readonly pause: number }

/**
 * Asks until there is an answer that is final, sending the same bytes every time. A pause is what `Retry-After` asks
 * for, or twice the one before, shortened at random by up to half, so that those who were turned away together do not
 * come back together. Nothing is sent but the bytes: no cookie, no referrer; and no redirection is followed.
 */
export async function ask(method: string, url: string, body: BodyInit | null, patience: Patience): Promise<Reply & { body: ArrayBuffer }> {
  const end = Date.now() + patience.whole
  for (let pause = patience.first; ; pause = Math.min(2 * pause, patience.longest)) {
    const reply = await once(method, url, body, patience)
    if ("body" in reply) return reply
    const wait = Math.max(pause * (1 - Math.random() / 2), reply.pause)
    if (!reply.error.again || reply.error.code === "not-open" || Date.now() + wait > end) throw reply.error
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}

async function once(method: string, url: string, body: BodyInit | null, { one }: Patience): Promise<Reply> {
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
    const bytes = await response.arrayBuffer()
    if (response.ok) return { status: response.status, body: bytes }
    return { error: problemOf(response.status, bytes), pause: seconds(response.headers.get("Retry-After")) * 1000 }
  } catch {
    const error = new IncrowdError("unreachable", "The shuffler did not answer; try again, the same bytes are sent then.", true)
    return { error, pause: 0 }
  }
}

/** The error of a problem document (RFC 9457); of anything else the status decides whether to ask again. */
export function problemOf(status: number, body: ArrayBuffer): IncrowdError {
  const name = typeOf(body)
  const known = Object.hasOwn(PROBLEMS, name) ? PROBLEMS[name as Problem] : undefined
  if (known?.[0] === status) return new IncrowdError(name as Problem, known[2], known[1])
  const again = status === 408 || status === 429 || status >= 500
  return new IncrowdError("response", `The address answered with ${status}, which is not an answer of a shuffler.`, again)
}

function typeOf(body: ArrayBuffer): string {
  try {
    const { type } = JSON.parse(new TextDecoder().decode(body)) as { type: unknown }
    return typeof type === "string" && type.startsWith(PREFIX) ? type.slice(PREFIX.length) : ""
  } catch {
    return ""
  }
}

/** Of a `Retry-After`: a number of seconds, or a time (RFC 9110, section 10.2.3); 0 if it is neither. */
export function seconds(text: string | null): number {
  if (text === null) return 0
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const time = Date.parse(text)
  return Number.isNaN(time) ? 0 : Math.max(0, (time - Date.now()) / 1000)
}
