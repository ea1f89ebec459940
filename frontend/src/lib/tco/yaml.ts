import type { Json, JsonObject } from './scenarioSpec'

/**
 * A scenario as YAML. Texts are written as JSON strings, which YAML reads as they are, so that no text can turn into a
 * number, a date or anything else; parts that are null are left out.
 */
export function toYaml(document: JsonObject): string {
  return `${block(document, 0)}\n`
}

function block(value: JsonObject | Json[], depth: number): string {
  const pad = '  '.repeat(depth)
  if (Array.isArray(value)) {
    return value
      .map((item) => `${pad}- ${isNested(item) ? block(item, depth + 1).trimStart() : scalar(item)}`)
      .join('\n')
  }
  return Object.entries(value)
    .filter(([, item]) => item !== null)
    .map(([key, item]) => {
      const name = /^[A-Za-z_][A-Za-z0-9_]*$/.test(key) ? key : JSON.stringify(key)
      return isNested(item) ? `${pad}${name}:\n${block(item, depth + 1)}` : `${pad}${name}: ${scalar(item)}`
    })
    .join('\n')
}

function isNested(value: Json): value is JsonObject | Json[] {
  if (Array.isArray(value)) return value.length > 0
  return typeof value === 'object' && value !== null && Object.values(value).some((item) => item !== null)
}

function scalar(value: Json): string {
  if (Array.isArray(value)) return '[]'
  if (typeof value === 'object' && value !== null) return '{}'
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}
