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

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
const NAME = new RegExp(`^(?:${LABEL}\\.)*(?=[a-z])${LABEL}$`)
const ADDRESS =
  /^(https?):\/\/([a-z0-9.-]+|\[[0-9a-f:]+\])(?::([1-9][0-9]{0,4}))?(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/
const MOST = { host: 253, port: 65535 }

/** Whether a text is an address as the protocol writes it: `https`, or `http` on this machine. */
export function isAddress(text: unknown): text is string {
  const [, scheme, host, port] = (typeof text === "string" && ADDRESS.exec(text)) || []
  if (!host || !isHost(host) || Number(port ?? 1) > MOST.port) return false
  return scheme === "https" || isThisMachine(host)
}

/** A name, or an IP address in the one form that clients compare; not an IPv4 address written as IPv6. */
function isHost(host: string): boolean {
  if (NAME.test(host)) return host.length <= MOST.host
  if (/^\d+(\.\d+){3}$/.test(host)) return host.split(".").every((part) => Number(part) < 256 && String(Number(part)) === part)
  try {
    return host.startsWith("[") && !host.startsWith("[::ffff:") && new URL(`https://${host}`).hostname === host
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
