import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"

import { readBundle, uploadBytes } from "../lib/bundle.js"
import { sealedBytes } from "../lib/parties.js"
import { toHex } from "../lib/bytes.js"
import { canonical } from "../lib/canonical.js"
import { vectors } from "./vectors.js"

const { right, wrong } = vectors("bundles")
const bytes = (text) => new TextEncoder().encode(text)
const pin = (text) => createHash("sha256").update(text).digest("hex")

for (const expected of right)
  test(`bundle ${expected.short} of the vectors`, async () => {
    const { bundle, digest } = await readBundle(bytes(expected.text), expected.digest)
    assert.equal(toHex(digest), expected.digest)
    assert.equal(uploadBytes(bundle), expected.upload_bytes)
    assert.equal(sealedBytes(bundle), expected.sealed_bytes)
  })

// What each wrong bundle is refused for: a client that finds something else finds it by chance.
const REASONS = {
  "another plan under the digest": "plan_digest",
  "the digest of another plan": "plan_digest",
  "fewer slots": "slots",
  "no reserve": "reserve",
  "more colluding people than the plan takes off": "colluding",
  "closes before it opens": "closes",
  "another way to write a time": "closes",
  "one host for two parties": "local_only",
  "two ports of one host for two parties": "local_only",
  "a host in capitals": "addresses",
  "a title of 201 characters": "wording",
  "an empty title": "wording",
  "a language of 36 characters": "wording",
  "a language that is no tag": "wording",
  "an empty question": "wording",
  "no introduction, not even an empty one": "wording",
  "a period of 201 characters": "period",
  "no stratum": "strata",
  "a stratum without a name": "strata",
  "wanted below what a release needs": "wanted",
  "an address in the clear": "addresses",
  "a key of low order": "key_configuration",
  "another KEM": "key_configuration",
  "a question without words": "wording",
  "a screen that is cleared in the title": "wording.title contains a hidden",
  "a bell in the period": "period contains a hidden",
  "text from right to left in the introduction": "wording.introduction contains a hidden",
  "two lines in a title": "wording.title contains a hidden",
  "no width in the name of a stratum": "strata.0 contains a hidden",
  "text from right to left in an option": "plan.survey.question.1.options.0 contains a hidden",
  "a plan that is not a guarantee": "is not a guarantee",
  "a key too many": "canonical",
  "a number as text": "reserve",
  "white space": "canonical",
  "another order of keys": "canonical",
  "a key twice": "canonical",
}

for (const [why, text] of Object.entries(wrong))
  test(`a bundle is refused: ${why}`, async () => {
    await assert.rejects(readBundle(bytes(text), pin(text)), { code: "bundle-refused", message: new RegExp(`: .*${REASONS[why]}`) })
  })

const changed = (change) => canonical(change(JSON.parse(right[0].text)))
const withPlan = (change) =>
  changed((bundle) => {
    const plan = change(bundle.plan)
    return { ...bundle, plan, plan_digest: pin(canonical(plan)) }
  })
const withQuestion = (id, change) =>
  withPlan((plan) => {
    const question = plan.survey.question.map((one) => (one.id === id ? { ...one, ...change } : one))
    return { ...plan, survey: { ...plan.survey, question } }
  })

for (const [why, text] of Object.entries({
  "no plan": withPlan(() => null),
  "a plan that is none": withPlan(() => ({ format: "incrowd plan 1" })),
  "an old plan": withPlan((plan) => ({ ...plan, format: "incrowd plan 0" })),
  "a question of another type": withQuestion("smokes", { type: "rank" }),
  "another randomizer": withQuestion("smokes", { randomizer: { kind: "dice", sides: 6 } }),
  "a randomizer that gives answers away": withQuestion("smokes", { randomizer: { kind: "bit", one_if_zero: 0, one_if_one: 0.5 } }),
  "a message without noise": withPlan((plan) => ({ ...plan, messages: plan.messages.map((m) => ({ ...m, noise_numerator: null })) })),
  "noise of one half": withPlan((plan) => ({ ...plan, messages: plan.messages.map((m) => ({ ...m, noise_numerator: 2 ** 31 })) })),
  "a question that nobody knows": withPlan((plan) => ({ ...plan, messages: plan.messages.map((m) => ({ ...m, questions: ["x"] })) })),
  "more slots": changed((bundle) => ({ ...bundle, slots: bundle.slots.map((each) => each + 1) })),
  "wanted below what a release needs": changed((bundle) => ({ ...bundle, wanted: 22 })),
  "a stratum twice": changed((bundle) => ({ ...bundle, strata: ["a", "a"] })),
  "not JSON": "{",
  "a number": "1",
  "a lone surrogate": right[0].text.replace("Größe, habits", "\\ud800"),
}))
  test(`a bundle is refused: ${why}`, async () => {
    await assert.rejects(readBundle(bytes(text), pin(text)), { code: "bundle-refused" })
  })

test("a bundle with another digest is refused", async () => {
  await assert.rejects(readBundle(bytes(right[0].text), right[1].digest), { code: "bundle-refused" })
})
