// How long sending goes on by itself, in milliseconds; a person can go on after that.
const PATIENCE = { whole: 20_000, one: 10_000, first: 500, longest: 4_000 }
const CODE_AT = 32 // in an upload, behind the digest

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

  /** Draws the noise, once, and sends; whoever mistyped her invitation sends the same reports with another one. */
  async send(answers, options) {
    if (this.#upload === null) this.#upload = await this.#sdk.sealAnswers(this.#survey, answers, options)
    else if (options.code) this.#upload.set(new TextEncoder().encode(this.#sdk.parseCode(options.code)), CODE_AT)
    await this.#sdk.sendUpload(this.#survey, this.#upload, this.#patience)
  }

  async withdraw() {
    await this.#sdk.withdrawUpload(this.#survey, this.#upload, this.#patience)
    this.#upload = null
  }
}
