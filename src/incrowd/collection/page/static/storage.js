import { fault } from "./arriving.js"

const NAME = "incrowd-sending"
const TABLE = "answers"

/**
 * Sealed answers that were drawn but are not accepted yet, in this origin's IndexedDB. With two mixers, nothing may be
 * drawn twice: a page that was closed between two steps goes on with the same bytes. A record has the digest of the
 * survey and the invitation of the link, if there is one, as its key.
 */
export const onDevice = {
  /** The record of an invitation; without one, any record of the survey. */
  find: (digest, code) =>
    within("readonly", (table) => table.get(code ? keyOf(digest, code) : IDBKeyRange.bound(`${digest}.`, `${digest}/`, false, true))),

  /** Stores a record unless there already is one with its key, and gives the one that is stored. */
  add: async (record) => {
    const stored = await within("readwrite", (table) => {
      const request = table.get(record.key)
      request.onsuccess = () => request.result ?? table.add(record)
      return request
    })
    return stored ?? record
  },

  put: (record) => within("readwrite", (table) => table.put(record)),
  remove: ({ key }) => within("readwrite", (table) => table.delete(key)),
}

/** With one shuffler, nothing is stored on the device: an upload that is lost can be drawn again. */
export const nowhere = {
  find: async () => undefined,
  add: async (record) => record,
  put: async () => undefined,
  remove: async () => undefined,
}

export const keyOf = (digest, code) => `${digest}.${code}`

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
