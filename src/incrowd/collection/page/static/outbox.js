import { keyOf, nowhere, onDevice } from "./storage.js"

// How long sending is repeated automatically, in milliseconds; after that, a person can repeat it.
const PATIENCE = { whole: 20_000, one: 10_000, first: 500, longest: 4_000 }
const CODE_AT = 32 // the place of the invitation, after the digest
const FINAL = ["closed", "code-used", "withdrawn"] // the bytes will never be accepted, or already are

/**
 * Sends one person's answers. An example that is shown is never what is sent: people who could see the noise and draw
 * again until they like it would bias the result.
 */
export class Outbox {
  #sdk
  #survey
  #patience
  #storage
  #key
  #record // what was drawn: `sealed`, and then `upload`

  /** The outbox of a survey, with what an earlier visit drew but did not send to the end. */
  static async opened(sdk, survey, patience = PATIENCE) {
    const outbox = new Outbox()
    const digest = Array.from(survey.digest, (byte) => byte.toString(16).padStart(2, "0")).join("")
    outbox.#sdk = sdk
    outbox.#survey = survey
    outbox.#patience = patience
    outbox.#storage = survey.bundle.inviter ? onDevice : nowhere
    outbox.#key = keyOf(digest, survey.code)
    outbox.#record = await outbox.#storage.find(digest, survey.code)
    return outbox
  }

  /** An example of what could be sent for these answers, drawn anew every time and discarded. */
  example(answers) {
    return this.#sdk.drawExample(this.#survey, answers)
  }

  /** Whether the noise was drawn; from then on, the same bytes are sent again. */
  get drawn() {
    return this.#record !== undefined
  }

  /**
   * Draws the noise, once, and sends. Every step is stored before the next one begins. After a mistyped invitation, the
   * same reports are sent with another one. progress: is called with the name of each step.
   */
  async send(answers, options, progress) {
    const [sdk, survey, patience] = [this.#sdk, this.#survey, this.#patience]
    if (!this.drawn) {
      progress("preparing")
      this.#record = await this.#storage.add({ key: this.#key, sealed: await sdk.sealAnswers(survey, answers, options) })
    } else if (options.code) {
      this.#record.sealed.set(new TextEncoder().encode(sdk.parseCode(options.code)), CODE_AT)
      await this.#storage.put(this.#record)
    }
    try {
      if (!this.#record.upload) {
        progress("admitting")
        this.#record.upload = await sdk.requestTokens(survey, this.#record.sealed, patience)
        await this.#storage.put(this.#record)
      }
      progress("sending")
      await sdk.sendUpload(survey, this.#record.upload, patience)
      await this.#storage.remove(this.#record)
    } catch (error) {
      if (FINAL.includes(error.code)) await this.#storage.remove(this.#record)
      throw error
    }
  }

  async withdraw() {
    await this.#sdk.withdrawUpload(this.#survey, this.#record.upload, this.#patience)
    this.#record = undefined
  }
}
