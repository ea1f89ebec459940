import type { AlertDetail } from '../../api/_generated/schema'
import type { BacktestLine, StateSpan } from '../../charts/backtest/figure'

/** The states of an alert as stretches, from its changes. */
function historySpans(history: AlertDetail['history']): StateSpan[] {
  const ordered = [...history].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  return ordered.map((change, index) => ({
    state: change.to_state,
    from: change.at,
    to: ordered[index + 1]?.at ?? null,
    value: change.value,
  }))
}

/** The value of an alert's condition with its threshold, and the states that it made. `words`: of a series of states. */
export function evidenceLine(detail: AlertDetail, words: string[]): BacktestLine | undefined {
  const value = detail.evidence?.series.find(({ key }) => key === 'value')
  if (value === undefined) return undefined
  return {
    name: value.label,
    unit: value.unit,
    values: value.values,
    threshold: detail.alert.threshold,
    recovery: null,
    spans: historySpans(detail.history),
    words,
  }
}
