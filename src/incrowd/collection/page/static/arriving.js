const PATIENCE = { whole: 8_000, one: 8_000, first: 500, longest: 3_000 }

/**
 * The survey that this page is about, and how far it is known to be the right one. fragment: what stood behind the #
 * of the page's link: the digest of the bundle, and behind a point an invitation.
 *
 * pinned: whether the link, or the page itself, named the digest; else it is whichever bundle the shuffler gives out, and a
 * person has to compare the short form.
 */
export async function arrive(sdk, config, fragment) {
  if (!globalThis.crypto?.subtle) throw fault("insecure")
  const parts = /^([0-9a-f]{64})?(?:\.(.*))?$/.exec(fragment)
  if (!parts) throw fault("link")
  const [, digest = config.digest, code = ""] = parts
  const link = { address: config.services[0], digest: digest || null, code: code ? codeOf(sdk, code) : "" }
  const survey = await sdk.fetchSurvey(link, PATIENCE)
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

/** An error of the page, with a code like those of the client. */
export const fault = (code) => Object.assign(new Error(code), { code })
