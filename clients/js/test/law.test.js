import assert from "node:assert/strict"
import { test } from "node:test"

import { bernoulli, lanesOf } from "../lib/flip.js"
import { browserStore, hmacKey, storedKey } from "../lib/permanent.js"
import { randomOrder, systemWords, uniformBelow } from "../lib/random.js"
import { reportsOf } from "../lib/reports.js"
import { fewestSlots } from "../lib/slots.js"

/** Words whose lanes take every pattern of `digits` digits, each as often: lane i draws the digits of i. */
const everyPattern = (digits) => {
  let digit = 0
  return (words) => {
    assert.equal(words * 64, 2 ** digits)
    const halves = new Uint32Array(2 * words)
    for (let lane = 0; lane < 2 ** digits; lane++) if ((lane >> digit) & 1) halves[lane >> 5] |= 1 << (lane & 31)
    digit++
    return halves
  }
}

test("of all patterns of seven digits exactly those below the probability are 1", () => {
  for (let number = 0; number <= 128; number++) {
    const found = lanesOf(bernoulli(128, number * 2 ** 25, everyPattern(7)))
    assert.equal(found.length, number)
  }
})

test("no lane is 1 that nobody asked for", () => {
  for (const numerator of [1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32])
    for (const lanes of [0, 1, 4, 31, 32, 33, 63, 64, 65, 100])
      for (let i = 0; i < 20; i++) assert.ok(lanesOf(bernoulli(lanes, numerator, systemWords)).every((lane) => lane < lanes))
})

test("numbers below a limit are uniform: what lies in the incomplete last round is drawn again", () => {
  const words = [[0xffffffff, 0xffffffff], [7, 0], [0xfffffffe, 0xffffffff], [0xffffffff, 0xffffffff], [5, 1]]
  const draw = (count) => Uint32Array.from(words.splice(0, count).flat())
  // 2^64 = 1 modulo 3: the largest word is drawn again, and again.
  assert.deepEqual(uniformBelow(3, 3, draw), [Number((2n ** 32n + 5n) % 3n), 7 % 3, 2])
  assert.equal(words.length, 0)
})

test("orders are uniform: all 24 of four things, 24,000 times (false alarms: 1e-6)", () => {
  const seen = new Map()
  for (let i = 0; i < 24000; i++) {
    const order = randomOrder(4, systemWords).join("")
    seen.set(order, (seen.get(order) ?? 0) + 1)
  }
  const square = [...seen.values()].reduce((sum, count) => sum + (count - 1000) ** 2 / 1000, 0)
  assert.equal(seen.size, 24)
  assert.ok(square < 73.1) // chi-square with 23 degrees of freedom
})

/** P[more than `slots` reports] from exact integers, bit after bit; messages: [most, cells, noise in eighths]. */
function exactTail(messages, slots) {
  const bits = messages.flatMap(([most, cells, q]) => Array.from({ length: cells }, (_, i) => (i < most ? 8 - q : q)))
  let weights = [1n]
  for (const eighths of bits) {
    const next = [...weights.map((w) => w * BigInt(8 - eighths)), 0n]
    weights.forEach((w, k) => (next[k + 1] += w * BigInt(eighths)))
    weights = next
  }
  const above = weights.slice(slots + 1).reduce((sum, w) => sum + w, 0n)
  return Number((above * 10n ** 40n) / 8n ** BigInt(bits.length)) / 1e40
}

test("the fewest slots are those of the exact tail", () => {
  const cases = [
    [1e-9, [1, 24, 2]],
    [1e-12, [3, 21, 3]],
    [1e-3, [1, 1, 1]],
    [1e-3, [1, 2, 1]],
    [1e-20, [1, 30, 1]],
    [1e-12, [1, 24, 2], [3, 21, 3], [1, 1, 1]],
    [1e-20, [1, 30, 1], [1, 30, 1]],
  ]
  for (const [chance, ...messages] of cases) {
    const sets = messages.map(([most, cells, eighths]) => ({ most, cells, q: eighths / 8 }))
    let slots = 0
    while (exactTail(messages, slots) > chance) slots++
    for (const other of [slots - 1, slots, slots + 1]) assert.equal(fewestSlots(other, sets, chance), other === slots)
  }
})

test("50,000 cells take no second", async () => {
  const options = Array.from({ length: 50000 }, (_, i) => `o${i}`)
  const question = { id: "q", type: "choice", options, optional: false, randomizer: null }
  const message = { questions: ["q"], cells: true, copies: 1, noise_numerator: 2 ** 25 }
  const plan = { survey: { question: [question] }, messages: [message] }
  const begun = performance.now()
  const reports = await reportsOf(plan, message, new Map([["q", [49999]]]), systemWords, null)
  assert.ok(performance.now() - begun < 1000)
  assert.ok(Math.abs(reports.length - 50000 / 128) < 120) // six standard errors
  assert.ok(reports.every((report) => report.length === 2))
})

test("a store keeps the first key that it is given", async () => {
  let kept
  const store = async (fresh) => (kept ??= fresh)
  const sign = async (key) => Buffer.from(await crypto.subtle.sign("HMAC", key, new Uint8Array(1))).toString("hex")
  const first = await sign(await storedKey(store))
  assert.equal(await sign(await storedKey(store)), first)
  assert.equal(await sign(await hmacKey(kept)), first)
  assert.equal(kept.length, 32)
  assert.equal((await hmacKey(kept)).extractable, false)
})

/** As much of IndexedDB as the client uses: requests that are answered later, in their order. */
function database(tables = new Map()) {
  const answered = (result, before = () => {}) => {
    const request = {}
    setTimeout(() => (before(request), (request.result = result()), request.onsuccess()))
    return request
  }
  const table = (name) => ({
    get: (key) => answered(() => tables.get(name).get(key)),
    add: (value, key) => answered(() => (assert.ok(!tables.get(name).has(key)), tables.get(name).set(key, value), key)),
  })
  const opened = {
    createObjectStore: (name) => tables.set(name, new Map()),
    transaction: (_, mode) => (assert.equal(mode, "readwrite"), { objectStore: table }),
    close() {},
  }
  const upgrade = (request) => tables.size || ((request.result = opened), request.onupgradeneeded())
  return { open: () => answered(() => opened, upgrade) }
}

test("a browser keeps one key, which cannot be read out", async () => {
  globalThis.indexedDB = database()
  const first = await storedKey(browserStore)
  assert.equal(await storedKey(browserStore), first)
  assert.equal(first.extractable, false)
  assert.deepEqual(first.usages, ["sign"])
  delete globalThis.indexedDB
})
