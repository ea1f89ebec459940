import type { QueryAnswer, RangeSeries, TimeAxis } from '../../api/_generated/schema'
import type { Line } from '../../charts/lines/figure'
import { toRfc3339 } from '../../lib/units/time'
import { formatCount } from '../../lib/units/units'

/** Lines that one chart draws: more colours than that are not told apart. */
const mostLines = 20

interface Steps {
  start: number
  end: number
  step: number
}

interface ExpressionLines {
  axis: TimeAxis
  lines: Line[]
  /** How many series are not drawn, those with smaller values, in words. */
  leftOut: string | undefined
}

type Labels = RangeSeries['metric']

const nameKey = '__name__'

/** The labels in which series differ, all of them where there is one; an id only where no name tells it. */
function tellingLabels(series: readonly { metric: Labels }[]): string[] {
  const keys = [...new Set(series.flatMap(({ metric }) => Object.keys(metric)))].sort()
  if (series.length === 1) return keys
  const differing = keys.filter((key) => new Set(series.map(({ metric }) => metric[key])).size > 1)
  const names = differing.filter((key) => !key.endsWith('_id'))
  const told = new Set(series.map(({ metric }) => JSON.stringify(names.map((key) => metric[key]))))
  return told.size === series.length ? names : differing
}

function labelOf(metric: Labels, keys: readonly string[]): string {
  const labels = keys
    .filter((key) => key !== nameKey && metric[key] !== undefined)
    .map((key) => `${key}="${metric[key]}"`)
  const name = keys.includes(nameKey) ? (metric[nameKey] ?? '') : ''
  const braces = labels.length === 0 ? '' : name === '' ? labels.join(', ') : `{${labels.join(', ')}}`
  return `${name}${braces}` || 'value'
}

const unitEndings = [
  [/_bytes$/, 'bytes'],
  [/_ratio$/, 'ratio'],
  [/_pages$/, 'pages'],
  [/_seconds$/, 'seconds'],
  [/_ns$/, 'ns'],
] as const

/** The unit that a metric's name ends with. PromQL drops the name of what it computes, and with it the unit. */
function unitOf(series: readonly { metric: Labels }[]): string {
  const units = new Set(
    series.map(({ metric }) => unitEndings.find(([ending]) => ending.test(metric[nameKey] ?? ''))?.[1] ?? ''),
  )
  return units.size === 1 ? ([...units][0] ?? '') : ''
}

/** Infinite values and NaN have no place on a scale. */
function finite(text: string): number | null {
  const value = Number(text)
  return Number.isFinite(value) ? value : null
}

/** The series of an answer as lines over the steps that were asked for; steps without a value are gaps. */
export function expressionLines({ data }: QueryAnswer, { start, end, step }: Steps): ExpressionLines {
  const times: number[] = []
  for (let time = start; time <= end; time += step) times.push(time)
  const found = data.resultType === 'matrix' ? data.result : []
  const read = found.map(({ metric, values }) => ({
    metric,
    values: new Map(values.map(([time, text]) => [time, finite(text)])),
  }))
  const peak = new Map(
    read.map((one) => [one, Math.max(...[...one.values.values()].map((value) => Math.abs(value ?? 0)))]),
  )
  const drawn = read.toSorted((one, other) => (peak.get(other) ?? 0) - (peak.get(one) ?? 0)).slice(0, mostLines)
  const keys = tellingLabels(drawn)
  const unit = unitOf(drawn)
  return {
    axis: {
      window: { start: toRfc3339(start), end: toRfc3339(end) },
      resolution: 'raw',
      step_seconds: step,
      times,
    },
    lines: drawn.map(({ metric, values }) => ({
      key: JSON.stringify(metric),
      label: labelOf(metric, keys),
      unit,
      values: times.map((time) => values.get(time) ?? null),
    })),
    leftOut:
      read.length === drawn.length
        ? undefined
        : `the ${mostLines} largest of ${formatCount(read.length)} series: narrow the labels, or use topk()`,
  }
}
