import { normalize } from "../characters.js"
import { isCount } from "../shapes.js"
import { placesOfWord } from "../words.js"
import { wrong, type Common, type QuestionType } from "./type.js"

export type Text = Common & {
  readonly type: "text"
  readonly block: number
  readonly hashes: number
  readonly cohorts: number
}

const cohortBits = ({ cohorts }: Text): number => 31 - Math.clz32(cohorts)

/** A word that is not from a list: the bits that it sets depend on the cohort, which the device draws. */
export const text: QuestionType<Text> = {
  answers: () => [],
  fits: ({ block, cohorts, hashes, randomizer }) =>
    isCount(hashes, 1, 8) && isPower(block, 2, 1024) && isPower(cohorts, 1, 4096) && (randomizer === null || randomizer.kind === "bit flip"),
  encode: (question, answer) => {
    const word = typeof answer === "string" ? normalize(answer) : ""
    return word && !/\p{Surrogate}/u.test(word) ? word : wrong(question, "use a word")
  },
  hashed: {
    cohortBits,
    bits: (question) => cohortBits(question) + question.hashes * question.block,
    /** The digits of the cohort, the lowest first, then one bit per block. */
    places: async (question, word, cohort) => {
      const digits = cohortBits(question)
      const places = await placesOfWord(question, cohort, word)
      const set = Array.from({ length: digits }, (_, i) => i).filter((i) => (cohort >> i) & 1)
      return [...set, ...places.map((place, block) => digits + block * question.block + place)]
    },
  },
}

const isPower = (value: number, least: number, most: number): boolean => isCount(value, least, most) && Number.isInteger(Math.log2(value))
