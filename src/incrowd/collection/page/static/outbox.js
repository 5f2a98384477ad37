// How long sending is repeated automatically, in milliseconds; after that, a person can repeat it.
const PATIENCE = { whole: 20_000, one: 10_000, first: 500, longest: 4_000 }
const CODE_AT = 32 // the place in an upload, after the digest

/**
 * Sends one person's answers. An example that is shown is never what is sent: people who could see the noise and draw
 * again until they like it would bias the result.
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

  /** An example of what could be sent for these answers, drawn anew every time and discarded. */
  example(answers) {
    return this.#sdk.drawExample(this.#survey, answers)
  }

  /** Whether the noise was drawn; from then on, the same bytes are sent again. */
  get drawn() {
    return this.#upload !== null
  }

  /** Draws the noise, once, and sends. After a mistyped invitation, the same reports are sent with another one. */
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
