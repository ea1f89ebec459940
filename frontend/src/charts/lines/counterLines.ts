import type { CounterAnswer } from '../../api/_generated/schema'
import { rateUnit } from '../../lib/units/units'
import type { Line } from './figure'

/** Time spent waiting per second is a share: microseconds per second over a million. */
function asShare(values: (number | null)[]): (number | null)[] {
  return values.map((value) => (value === null ? null : value / 1e6))
}

/**
 * The series of a counter as lines: rates where the counter is monotonic and rates are asked for, else raw values.
 * Rates of stall times come out as shares, which is how pressure is read.
 */
export function counterLines(answer: CounterAnswer | undefined, view: 'rate' | 'value'): Line[] {
  if (answer === undefined || answer.status !== 'ok') return []
  return answer.series.map((series): Line => {
    const pressure = series.source.includes('pressure')
    const name = pressure ? series.name.replace('_total_us', '') : series.name
    const label = answer.series.length === 1 ? name : series.scope
    const key = `${series.scope}|${series.source}|${series.name}`
    if (view === 'value' || series.per_s === null) return { key, label, unit: series.unit, values: series.values }
    const stall = series.unit === 'us' && pressure
    return stall
      ? { key, label, unit: 'ratio', values: asShare(series.per_s) }
      : { key, label, unit: rateUnit(series.unit), values: series.per_s }
  })
}
