/** What the client itself finds wrong. */
export type Fault =
  | "answer" // an answer does not fit its question
  | "bundle-refused" // the bundle is not the pinned one, or not as the protocol says
  | "code" // an invitation is needed, cannot be read, or is not asked for
  | "key" // permanent responses need a store for the device's key
  | "link" // it is not the link of a survey
  | "response" // what came back is no answer of a shuffler
  | "stratum" // there are several parts of people, and none of them was named
  | "unreachable" // nothing came back

/** What a shuffler may answer a device (docs/protocol.md, "Problems"). */
export type Problem =
  | "length" | "bundle" | "stratum" | "sealed" | "not-open" | "closed" | "withdrawn" | "code-used" | "code-unknown"
  | "not-found" | "no-resource" | "method" | "slow" | "media-type" | "busy" | "full" | "fault"

/** Every error of this package. */
export class IncrowdError extends Error {
  override name = "IncrowdError"
  constructor(
    /** What went wrong. */
    readonly code: Fault | Problem,
    message: string,
    /** Whether the same bytes may be taken later. */
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
