import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { test } from "node:test"

import { readBundle, uploadBytes, sealedBytes } from "../lib/bundle.js"
import { toHex } from "../lib/bytes.js"
import { vectors } from "./vectors.js"

const { right, wrong } = vectors("bundles")
const bytes = (text) => new TextEncoder().encode(text)
const pin = (text) => createHash("sha256").update(text).digest("hex")

for (const expected of right)
  test(`bundle ${expected.short} of the vectors`, async () => {
    const { bundle, digest } = await readBundle(bytes(expected.text), expected.digest)
    assert.equal(toHex(digest), expected.digest)
    assert.equal(uploadBytes(bundle), expected.upload_bytes)
    assert.equal(sealedBytes(bundle.plan), expected.sealed_bytes)
  })

for (const [why, text] of Object.entries(wrong))
  test(`a bundle is refused: ${why}`, async () => {
    await assert.rejects(readBundle(bytes(text), pin(text)), { code: "bundle-refused" })
  })

test("a bundle with another digest is refused", async () => {
  await assert.rejects(readBundle(bytes(right[0].text), right[1].digest), { code: "bundle-refused" })
})
