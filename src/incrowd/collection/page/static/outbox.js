import { fault } from "./arriving.js"
import { keyOf, markOf, onDevice } from "./storage.js"

// How long sending is repeated automatically, in milliseconds; after that, a person can repeat it.
const PATIENCE = { whole: 20_000, one: 10_000, first: 500, longest: 4_000 }
const OVER = ["closed", "withdrawn"] // the bytes will never be accepted, or already are
const OF_CODE = ["code-unknown", "code-used"] // they may be accepted with another invitation

/**
 * Sends one person's answers, which are drawn once: whatever the services answer, nothing else is ever sent for her. An
 * example that is shown is never what is sent: people who could see the noise and draw again until they like it would
 * bias the result.
 */
export class Outbox {
  #sdk
  #survey
  #patience
  #storage
  #digest
  #key // of this person
  #record // what was drawn: `sealed`, and then `upload`; neither if it is over
  #sent // the accepted upload, while the page is open

  /** The outbox of a survey, with what was drawn in this browser before: of this invitation, or else of somebody. */
  static async opened(sdk, survey, { patience = PATIENCE, storage = onDevice } = {}) {
    const outbox = new Outbox()
    outbox.#digest = Array.from(survey.digest, (byte) => byte.toString(16).padStart(2, "0")).join("")
    outbox.#sdk = sdk
    outbox.#survey = survey
    outbox.#patience = patience
    outbox.#storage = storage
    outbox.#key = await keyOf(outbox.#digest, survey.code)
    await storage.tidy(Date.now())
    const records = await storage.all(outbox.#digest)
    const own = records.find(({ key }) => key === outbox.#key)
    outbox.#record = own ?? records.find(({ sealed }) => sealed) ?? records[0]
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

  /** Whether nothing more can be sent: the answers were accepted, or can never be. */
  get isOver() {
    return this.drawn && !this.#record.sealed
  }

  /** Whether what was drawn before may be somebody else's, who used the same browser. */
  get isAnybodys() {
    return this.drawn && !(this.#survey.code && this.#record.key === this.#key)
  }

  /** Begins for a person who has not answered yet. What others drew stays. */
  async beginForAnother() {
    const person = this.#record.key === this.#key ? crypto.randomUUID() : ""
    this.#key = await keyOf(this.#digest, this.#survey.code, person)
    this.#record = undefined
  }

  /**
   * Draws the noise, once, and sends. Every step is stored before the next one begins. If the invitation is refused, the
   * same reports are sent with the one that was typed, or that of the link. progress: is called with the name of each step.
   */
  async send(answers, options, progress) {
    if (!this.drawn) {
      progress("preparing")
      const drawn = { key: this.#key, closes: this.#survey.bundle.closes, sealed: await this.#sdk.sealAnswers(this.#survey, answers, options) }
      this.#record = await this.#storage.update(this.#key, (stored) => stored ?? drawn)
    }
    try {
      await this.#sendStored(progress)
    } catch (error) {
      if (!OF_CODE.includes(error.code) || !(await this.#corrected(options.code || this.#survey.code))) throw error
      await this.#sendStored(progress)
    }
  }

  /** Sends the stored bytes as they are: they may already have been accepted. */
  async #sendStored(progress) {
    const [sdk, survey, patience] = [this.#sdk, this.#survey, this.#patience]
    if (this.isOver) throw fault("answered")
    try {
      if (!this.#record.upload) {
        progress("admitting")
        const upload = await sdk.requestTokens(survey, this.#record.sealed, patience)
        await this.#store((stored) => ({ ...stored, upload: stored.upload ?? upload }))
      }
      progress("sending")
      await sdk.sendUpload(survey, this.#record.upload, patience)
      this.#sent = this.#record.upload
      await this.#store(markOf)
    } catch (error) {
      if (OVER.includes(error.code)) await this.#store(markOf)
      throw error
    }
  }

  /** Puts another invitation into what was drawn; gives whether there is one, and a place for it. */
  async #corrected(code) {
    const { sealed, upload } = this.#record
    if (!code || (upload && this.#survey.bundle.inviter)) return false
    const corrected = this.#sdk.withInvitation(this.#survey, sealed, code)
    if (corrected.every((byte, at) => byte === sealed[at])) return false
    await this.#store(({ key, closes }) => ({ key, closes, sealed: corrected }))
    return true
  }

  /** Changes the stored record, unless another window has finished with it. */
  async #store(change) {
    this.#record = await this.#storage.update(this.#record.key, (stored) => (stored?.sealed ? change(stored) : stored ?? markOf(this.#record)))
    if (this.isOver && change !== markOf) throw fault("answered")
  }

  /** Takes the answers back, for good. */
  async withdraw() {
    await this.#sdk.withdrawUpload(this.#survey, this.#sent, this.#patience)
    this.#sent = undefined
  }
}
