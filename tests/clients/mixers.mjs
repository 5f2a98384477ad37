// People who answer a survey with two mixers. "draw" writes what each stores before the request; "send" reads it with
// the inviter's answers, and writes the uploads; everything behind each other.
import { readFileSync, writeSync } from "node:fs"

const { readBundle, readDrawn, sealAnswers, sealedBytes, SHARED, uploadOf } = await import(process.argv[2])
const { text, digest, people, drawn, answers } = JSON.parse(readFileSync(0))
const survey = await readBundle(new TextEncoder().encode(text), digest)
const bytes = (hex) => Uint8Array.from(Buffer.from(hex, "hex"))

const made = []
for (const person of people ?? []) made.push(await sealAnswers(survey, person, { code: "0".repeat(16) }))
for (const [i, each] of (drawn ?? []).entries()) {
  const stored = readDrawn(SHARED, survey, sealedBytes(survey.bundle), bytes(each))
  made.push(await uploadOf(SHARED, survey, stored, bytes(answers[i])))
}
const all = Buffer.concat(made)
for (let at = 0; at < all.length; ) at += writeSync(1, all, at)
