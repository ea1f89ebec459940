import type { SlowdownPointRequest } from '../../api/_generated/schema'

/** What stands in the form: percentages, empty texts where nothing was entered. */
export interface PointEntry {
  share: number | string
  loss: number | string
  error: number | string
  source: SlowdownPointRequest['source']
  note: string
}

/** An empty form. */
export const blank: PointEntry = { share: '', loss: '', error: '', source: 'ab_test', note: '' }

/** What was entered as a request; null while something is missing. Percentages become ratios. */
export function requestOf(entry: PointEntry): SlowdownPointRequest | null {
  const { share, loss, error } = entry
  const isPrediction = entry.source === 'prediction'
  if (typeof loss !== 'number' || (!isPrediction && (typeof share !== 'number' || typeof error !== 'number')))
    return null
  return {
    share_on_slow: typeof share === 'number' ? share / 100 : 1,
    loss: loss / 100,
    loss_standard_error: typeof error === 'number' ? error / 100 : null,
    source: entry.source,
    note: entry.note,
  }
}
