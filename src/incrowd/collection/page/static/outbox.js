// How long sending goes on by itself, in milliseconds; a person can go on after that.
const PATIENCE = { whole: 20_000, one: 10_000, first: 500, longest: 4_000 }
// After these nothing was stored, and the same bytes will never be taken.
const NEVER = ["code-unknown", "code", "answer", "stratum", "length", "bundle", "sealed"]

/**
 * The way of one person's answers out of the page. What is drawn to be looked at is never what is sent: who can look,
 * and draw again until she likes it, would bias the result.
 */
export class Outbox {
  #sdk
  #survey
  #patience
  #upload = null

  constructor(sdk, survey, patience = PATIENCE) {
    this.#sdk = sdk
    this.#survey = survey
    this.#patience = patience
  }

  /** What could be sent for these answers: drawn anew every time, and thrown away. */
  example(answers) {
    return this.#sdk.drawExample(this.#survey, answers)
  }

  /** Whether the noise was drawn: from then on these answers, and the same bytes, are sent again. */
  get drawn() {
    return this.#upload !== null
  }

  async send(answers, options) {
    this.#upload ??= await this.#sdk.sealAnswers(this.#survey, answers, options)
    try {
      await this.#sdk.sendUpload(this.#survey, this.#upload, this.#patience)
    } catch (error) {
      if (NEVER.includes(error.code)) this.#upload = null
      throw error
    }
  }

  async withdraw() {
    await this.#sdk.withdrawUpload(this.#survey, this.#upload, this.#patience)
    this.#upload = null
  }
}
