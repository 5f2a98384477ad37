import { fault } from "./arriving.js"

const NAME = "incrowd-sending"
const TABLE = "answers"

/**
 * What was drawn for a survey, in this origin's IndexedDB. Nothing may be drawn twice: whoever receives and can open two
 * draws learns more than the promise says. So the sealed answers are stored until they are accepted or the survey
 * closes. Then a mark remains: a record without them. Nobody can read sealed answers without the collector's key.
 *
 * The key of a record is that of its survey and person, see `keyOf`; `closes` is when its survey closes.
 */
export const onDevice = {
  /** All records of a survey. */
  all: (digest) => within("readonly", (table) => table.getAll(IDBKeyRange.bound(`${digest}.`, `${digest}/`, false, true))),

  /** Stores what `change` makes of a record, or of undefined, and gives it. Other windows wait meanwhile. */
  update: async (key, change) => {
    let changed
    await within("readwrite", (table) => {
      const request = table.get(key)
      request.onsuccess = () => table.put((changed = change(request.result)))
      return request
    })
    return changed
  },

  /** Removes the sealed answers to all surveys that are closed. */
  tidy: (now) =>
    within("readwrite", (table) => {
      const request = table.openCursor()
      request.onsuccess = () => {
        const cursor = request.result
        if (cursor?.value.sealed && Date.parse(cursor.value.closes) <= now) cursor.update(markOf(cursor.value))
        cursor?.continue()
      }
      return request
    }),
}

/** What remains of a record: that a person answered a survey. */
export const markOf = ({ key, closes }) => ({ key, closes })

/** The key of a person: the hash of her invitation, which stays a secret; without one, anything that tells people apart. */
export async function keyOf(digest, code, person = "") {
  if (!code) return `${digest}.${person}`
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${digest}.${code}`)))
  return `${digest}.${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`
}

/** The result of a request, once everything that was asked for in the same transaction is on the disk. */
async function within(mode, ask) {
  try {
    const database = await opened()
    const transaction = database.transaction(TABLE, mode, { durability: "strict" })
    const request = ask(transaction.objectStore(TABLE))
    await new Promise((resolve, reject) => {
      transaction.oncomplete = resolve
      transaction.onabort = transaction.onerror = reject
    })
    database.close()
    return request.result
  } catch {
    throw fault("storage")
  }
}

const opened = () =>
  new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(TABLE, { keyPath: "key" })
    request.onsuccess = () => resolve(request.result)
    request.onerror = reject
  })
