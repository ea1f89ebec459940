import type { Alert, VocabularyItem } from '../../api/_generated/schema'
import { formatQuantity } from '../../lib/units/units'

/** The names of the values of the first series of states in a condition, the lightest first; empty without one. */
export function wordsOf(expression: string, series: Pick<VocabularyItem, 'name' | 'words'>[]): string[] {
  for (const [name] of expression.matchAll(/[A-Za-z_][\w.]*/g)) {
    const found = series.find((item) => item.name === name)
    if (found !== undefined && found.words.length > 0) return found.words
  }
  return []
}

/**
 * The value of an alert beside what it is compared with; a dash where it is not known. `words` name the values of a
 * state. A state that has gone back below the threshold while the alert goes on is named as such.
 */
export function valueText(alert: Pick<Alert, 'value' | 'unit' | 'threshold' | 'state'>, words: string[]): string {
  const text = (value: number) => words[value] ?? formatQuantity(value, alert.unit)
  const { value, threshold } = alert
  if (value !== null && threshold !== null && words.length > 0 && value < threshold) {
    const over = alert.state === 'firing' ? 'recovering' : 'over'
    return `was ${text(threshold)}, now ${text(value)} (${over})`
  }
  const shown = value === null ? '–' : text(value)
  return threshold === null ? shown : `${shown} (${text(threshold)})`
}
