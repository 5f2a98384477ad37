import { IncrowdError } from "./errors.js"

/** A part of the client that only some surveys need, from a separate file. */
export const loaded = <T>(file: Promise<T>): Promise<T> =>
  file.catch(() => {
    throw new IncrowdError("unreachable", "A part of the program could not be loaded; try again.", true)
  })
