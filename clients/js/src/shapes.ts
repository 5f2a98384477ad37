import type { Json } from "./canonical.js"

/** Whether a value is an object with exactly these keys, which are in sorted order with spaces between them. */
export const hasKeys = (value: unknown, keys: string): value is { [key: string]: Json } =>
  value instanceof Object && Object.keys(value).sort().join(" ") === keys

export const isName = (text: unknown): boolean => typeof text === "string" && text !== "" && [...text].length <= 200

export const isCount = (value: unknown, least: number, most = Infinity): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most

export const areDifferent = (values: readonly unknown[]): boolean => new Set(values).size === values.length
