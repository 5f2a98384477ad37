import { cleanBase32, grouped, isBase32, toBase32, type Bytes } from "./bytes.js"
import { IncrowdError } from "./errors.js"

/** The address of a survey, the digest of its bundle, and the invitation, if the link contains one. */
export interface Link {
  readonly address: string
  /** SHA-256 of the bundle, 64 hexadecimal digits. */
  readonly digest: string
  /** 16 characters, or empty. */
  readonly code: string
}

/**
 * Parses a link: the address of the shuffler or the inviter, `#`, the digest, and optionally a period and an invitation.
 * The address of a survey page may end with `/` or `/index.html`.
 */
export function parseLink(text: string): Link {
  const [, written, digest, code] = /^([^#]*)#([0-9a-f]{64})(?:\.([0-9A-Z]{16}))?$/.exec(text.trim()) ?? []
  const address = written?.replace(/\/(index\.html)?$/, "")
  if (!digest || !isAddress(address) || !isBase32(code ?? ""))
    throw new IncrowdError("link", "This is not the complete link of a survey, which ends with # and 64 characters.")
  return { address, digest, code: code ?? "" }
}

// A name, an IPv4 address, or an IPv6 address that is not one of IPv4; then port and path.
const HOST = "(?:[a-z0-9-]+\\.)*[a-z][a-z0-9-]*|[0-9.]+|\\[(?!::ffff:)[0-9a-f:]+]"
const ADDRESS = new RegExp(`^(https?)://(${HOST})(?::([1-9]\\d{0,4}))?(?:/(?!\\.{1,2}(?:/|$))[\\w.~-]+)*$`)

/** Whether a text is an address as the protocol writes it: `https`, or `http` on this machine. */
export function isAddress(text: unknown): text is string {
  const [, scheme, host, port] = (typeof text === "string" && ADDRESS.exec(text)) || []
  const is = host && (/[a-z][^.\]]*$/.test(host) || isShort(host)) && Number(port ?? 1) < 65536
  return Boolean(is) && (scheme === "https" || isThisMachine(host!))
}

/** Whether an IP address is in its only form. */
function isShort(host: string): boolean {
  try {
    return new URL(`https://${host}`).hostname === host
  } catch {
    return false
  }
}

const isThisMachine = (host: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(host)

/** The host of a valid address, without its port. */
export const hostOf = (address: string): string => ADDRESS.exec(address)![2]

/** The host of a valid address; on this machine with its port, which distinguishes the services of a rehearsal. */
export const locationOf = (address: string): string =>
  isThisMachine(hostOf(address)) ? address.split("/")[2] : hostOf(address)

/** The short form of a digest that people compare: its first 20 bytes. */
export const shortForm = (digest: Bytes): string => grouped(toBase32(digest.subarray(0, 20)))

/** Parses an invitation that a person typed; returns its 16 characters. */
export function parseCode(typed: string): string {
  const code = cleanBase32(typed)
  if (code.length === 16 && isBase32(code)) return code
  throw new IncrowdError("code", "An invitation has 16 letters and digits; check each of them.")
}
