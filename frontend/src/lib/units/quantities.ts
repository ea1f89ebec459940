import { quantities } from './_generated/quantities'

export interface Quantity {
  says: string
  /** Below the documentation: the page with formula, inputs and assumptions. */
  page: string
}

/** What a definition such as `heat.hot_ratio/1` is; undefined where it is none. Of several names the narrowest. */
export function findQuantity(definition: string): Quantity | undefined {
  if (definition in quantities) return quantities[definition]
  const ids = Object.keys(quantities).filter((id) => isOneOf(id, definition))
  const narrowest = ids.sort((one, other) => other.length - one.length)[0]
  return narrowest === undefined ? undefined : quantities[narrowest]
}

/** Whether an id with a name that is one of many, such as `tier_moves.{column}/1`, is that of the definition. */
function isOneOf(id: string, definition: string): boolean {
  if (!id.includes('{')) return false
  const parts = id.split(/\{[a-z]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[A-Za-z0-9_]+')}$`).test(definition)
}
