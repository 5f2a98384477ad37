/** What the client itself finds wrong; the names of the problems of a shuffler stand beside them. */
export type Fault =
  | "answer" // an answer does not fit its question
  | "bundle-refused" // the bundle is not the pinned one, or not as the protocol says
  | "code-needed" // the survey asks for an invitation, or knows none
  | "link" // the link is not one of a survey
  | "response" // what came back is no answer of a shuffler
  | "unreachable" // no answer came

/** Problems that a shuffler may answer with (docs/protocol.md, "Problems"). */
export type Problem =
  | "length" | "bundle" | "stratum" | "sealed" | "not-open" | "closed" | "code-used" | "code-unknown"
  | "not-found" | "no-resource" | "method" | "slow" | "media-type" | "busy" | "full" | "fault"

/** Every error of this package. `code` tells what went wrong; `again` whether the same may work later. */
export class IncrowdError extends Error {
  override name = "IncrowdError"
  constructor(
    readonly code: Fault | Problem,
    message: string,
    readonly again = false,
    /** The question, where an answer is wrong. */
    readonly question?: string,
  ) {
    super(message)
  }
}

export function refuse(reason: string): never {
  throw new IncrowdError("bundle-refused", `The bundle is refused: ${reason}.`)
}
