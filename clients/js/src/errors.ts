/** The errors that the client itself detects. */
export type Fault =
  | "answer" // an answer does not fit its question
  | "bundle-refused" // the bundle is not the pinned one, or does not follow the protocol
  | "code" // an invitation is required, cannot be read, or is not used
  | "key" // permanent responses require a store for the device's key
  | "link" // it is not the link of a survey
  | "response" // the response is not that of a service of the survey
  | "stratum" // there are several strata, and none of them was named
  | "tokens" // a signature of the inviter is not valid
  | "unreachable" // there was no response

/** The problems that a service can report to a device (docs/protocol.md, "Problems"). */
export type Problem =
  | "length" | "bundle" | "stratum" | "sealed" | "not-open" | "closed" | "withdrawn" | "code-used" | "code-unknown"
  | "too-often" | "token" | "not-found" | "no-resource" | "method" | "slow" | "media-type" | "busy" | "full" | "fault"

/** Every error of this package. */
export class IncrowdError extends Error {
  override name = "IncrowdError"
  constructor(
    /** The kind of error. */
    readonly code: Fault | Problem,
    message: string,
    /** Whether the same bytes may be accepted later. */
    readonly again = false,
    /** The id of the question whose answer is wrong. */
    readonly question?: string,
  ) {
    super(message)
  }
}

export function refuse(reason: string): never {
  throw new IncrowdError("bundle-refused", `The bundle is refused: ${reason}. Nothing was sent.`)
}
