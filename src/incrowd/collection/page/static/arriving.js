const PATIENCE = { whole: 8_000, one: 8_000, first: 500, longest: 3_000 }

/**
 * The survey that this page is about, and how far it is known to be the right one. fragment: what stood behind the #
 * of the page's link: the digest of the bundle, and behind a point an invitation.
 *
 * pinned: whether the link, or the page itself, named the digest; else a person has to compare the short form.
 */
export async function arrive(sdk, config, fragment) {
  if (!globalThis.crypto?.subtle) throw fault("insecure")
  const parts = /^([0-9a-f]{64})?(?:\.(.*))?$/.exec(fragment)
  if (!parts) throw fault("link")
  const [, digest = config.digest, code = ""] = parts
  const invitation = code ? codeOf(sdk, code) : ""
  const survey = digest
    ? await sdk.fetchSurvey({ address: config.services[0], digest, code: invitation }, PATIENCE)
    : { ...(await unpinned(sdk, config)), code: invitation }
  if (!isOf(config, survey.bundle, digest)) throw fault("another-plan")
  return { survey, short: sdk.shortForm(survey.digest), pinned: Boolean(digest) }
}

/** Whether this page is for a bundle: with two mixers, its promise depends on who runs which service. */
function isOf(config, { plan_digest, inviter, first, addresses }, digest) {
  const services = inviter ? [inviter.address, first.address] : [addresses.shuffler]
  const same = !inviter || digest === config.digest
  return same && plan_digest === config.plan && services.join() === config.services.join()
}

function codeOf(sdk, text) {
  try {
    return sdk.parseCode(text)
  } catch {
    throw fault("link")
  }
}

/** The bundle that the shuffler gives out, whichever it is: only a person can tell whether it is the right one. */
async function unpinned(sdk, { services: [shuffler] }) {
  const options = { cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" }
  let bytes
  try {
    const response = await fetch(`${shuffler}/bundle`, options)
    if (!response.ok) throw fault("unreachable")
    bytes = new Uint8Array(await response.arrayBuffer())
  } catch {
    throw fault("unreachable")
  }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
  return sdk.readBundle(bytes, Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join(""))
}

/** An error of the page, with a code like those of the client. */
export const fault = (code) => Object.assign(new Error(code), { code })
