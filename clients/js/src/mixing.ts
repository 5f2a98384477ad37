import { IncrowdError, refuse } from "./errors.js"
import { loaded } from "./loading.js"
import { isUsable, seal } from "./seal.js"
import type { Shared } from "./tokens.js"

/** What the file for two mixers gets from this one, since it must not exist twice. */
export const SHARED: Shared = { IncrowdError, refuse, seal, isUsable }

/** What only surveys with two mixers need. */
export const mixing = () => loaded(import("./mixers.js"))
