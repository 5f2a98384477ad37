// The storage of an outbox, in memory: Node has no IndexedDB. Like there, one change of a record ends before the next.
const markOf = ({ key, closes }) => ({ key, closes })

export const inMemory = (records = new Map()) => ({
  records,
  all: async (digest) => structuredClone([...records.values()].filter(({ key }) => key.startsWith(`${digest}.`))),
  update: async (key, change) => {
    const changed = change(structuredClone(records.get(key)))
    records.set(key, structuredClone(changed))
    return changed
  },
  tidy: async (now) => records.forEach((each, key) => Date.parse(each.closes) <= now && records.set(key, markOf(each))),
})
