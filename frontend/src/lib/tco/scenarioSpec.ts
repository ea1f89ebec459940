/** A scenario of cost as plain JSON, addressed by paths such as `options.0.cxl.gb`, and its changes as the URL keeps them. */

export type Json = number | string | boolean | null | Json[] | { [key: string]: Json }
/** A scenario, or a part of one. */
export interface JsonObject {
  [key: string]: Json
}
/** Values by path: what differs from the scenario that a view started from. */
type Changes = Record<string, Json>

/** Changes as the router sees them: their values are not typed, because its types do not bear recursive ones. */
export type UrlChanges = Record<string, unknown>

const mostChanges = 200
const longestPath = 120
const unsafeKeys = new Set(['__proto__', 'prototype', 'constructor'])

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function valueAt(spec: Json | undefined, path: string): Json | undefined {
  return path.split('.').reduce<Json | undefined>((at, key) => {
    if (Array.isArray(at)) return at[Number(key)]
    return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, spec)
}

export function numberAt(spec: Json | undefined, path: string): number | null {
  const value = valueAt(spec, path)
  return typeof value === 'number' ? value : null
}

/** A copy with another value at a path. A path that leads through nothing leaves the scenario as it is. */
export function withValue<T extends Json>(spec: T, path: string, value: Json): T {
  return replaced(spec, path.split('.'), value) as T
}

function replaced(at: Json, keys: string[], value: Json): Json {
  const [key, ...rest] = keys
  if (key === undefined) return value
  if (Array.isArray(at)) {
    const index = Number(key)
    return at.map((item, position) => (position === index ? replaced(item, rest, value) : item))
  }
  if (!isObject(at) || unsafeKeys.has(key)) return at
  return { ...at, [key]: replaced(at[key] ?? null, rest, value) }
}

/** A scenario with changes applied, those of whole parts before those within them. */
export function withChanges(spec: JsonObject, changes: UrlChanges): JsonObject {
  const depth = (path: string) => path.split('.').length
  return Object.entries(changes as Changes)
    .sort(([a], [b]) => depth(a) - depth(b))
    .reduce<JsonObject>((changed, [path, value]) => withValue(changed, path, value), spec)
}

/** What leads from one scenario to the other: single values where both have the part, else the whole part. */
export function changesBetween(before: Json, after: Json, path = ''): Changes {
  const below = (key: string | number) => (path === '' ? String(key) : `${path}.${key}`)
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return Object.assign(
      {},
      ...[...keys].map((key) => changesBetween(before[key] ?? null, after[key] ?? null, below(key))),
    ) as Changes
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return Object.assign(
      {},
      ...before.map((item, index) => changesBetween(item, after[index] ?? null, below(index))),
    ) as Changes
  }
  return JSON.stringify(before) === JSON.stringify(after) ? {} : { [path]: after }
}

/** The changes in a link; undefined where it holds none, or something else. */
export function readChanges(raw: unknown): Changes | undefined {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return undefined
  const entries = Object.entries(raw as Record<string, Json>).filter(
    ([path]) => path.length > 0 && path.length <= longestPath && !path.split('.').some((key) => unsafeKeys.has(key)),
  )
  return entries.length === 0 || entries.length > mostChanges ? undefined : Object.fromEntries(entries)
}
