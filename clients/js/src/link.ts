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

/** Parses a link: the address of the shuffler or the inviter, `#`, the digest, and optionally a period and an invitation. */
export function parseLink(text: string): Link {
  const [, address, digest, code] = /^([^#]*)#([0-9a-f]{64})(?:\.([0-9A-Z]{16}))?$/.exec(text.trim()) ?? []
  if (!digest || !isAddress(address) || !isBase32(code ?? ""))
    throw new IncrowdError("link", "This is not the complete link of a survey, which ends with # and 64 characters.")
  return { address, digest, code: code ?? "" }
}

/** `https`, or `http` on this machine; without user, query and fragment, and without a slash at the end. */
export function isAddress(text: unknown): text is string {
  if (typeof text !== "string" || !/^https?:\/\/[\x21-\x7e]+$/.test(text) || /[?#@]|\/$/.test(text)) return false
  try {
    return new URL(text).protocol === "https:" || isLoopback(text)
  } catch {
    return false
  }
}

const isLoopback = (address: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(address).hostname)

/** The host of a valid address; on this machine with its port, which tells the services of a rehearsal apart. */
export const hostOf = (address: string): string => new URL(address)[isLoopback(address) ? "host" : "hostname"]

/** The short form of a digest that people compare: its first 20 bytes. */
export const shortForm = (digest: Bytes): string => grouped(toBase32(digest.subarray(0, 20)))

/** Parses an invitation that a person typed; returns its 16 characters. */
export function parseCode(typed: string): string {
  const code = cleanBase32(typed)
  if (code.length === 16 && isBase32(code)) return code
  throw new IncrowdError("code", "An invitation has 16 letters and digits; check each of them.")
}
