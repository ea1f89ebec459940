import { Stack, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { groundingNames, methodName, type FigureValue } from '../../lib/units/figure'
import { formatLocal, formatUtc, formatWindow, zoneName } from '../../lib/units/time'
import { formatCount, formatQuantity, formatRatio } from '../../lib/units/units'
import { Prose } from '../text/Prose'
import classes from './ProvenanceDetails.module.css'

/** Loaded when somebody asks: the meanings of all figures are longer than most pages. */
const QuantityMeaning = lazy(() => import('./QuantityMeaning').then((module) => ({ default: module.QuantityMeaning })))

function intervalText(figure: FigureValue): string {
  const { interval, unit } = figure
  if (interval === null) return 'none stated'
  const range = `${formatQuantity(interval.lo, unit)} – ${formatQuantity(interval.hi, unit)}`
  if (interval.kind === 'confidence' && interval.level !== null)
    return `${range} at ${formatRatio(interval.level)} confidence`
  return interval.kind === 'bounds' ? `${range}, hard bounds` : `${range}, range over hosts`
}

function lines(figure: FigureValue): [string, string, string?][] {
  const window = figure.window
  const start = window === null ? null : new Date(window.start)
  const end = window === null ? null : new Date(window.end)
  const counted = (n: number | null) => (n === null ? 'not stated' : formatCount(n))
  return [
    ['Method', methodName(figure.method)],
    start === null || end === null
      ? ['Window', 'now']
      : [
          'Window',
          formatWindow(start, end),
          `${formatUtc(start)} – ${formatUtc(end)} (shown in ${zoneName(end)}, ${formatLocal(end)})`,
        ],
    ['Hosts', counted(figure.n_hosts)],
    ['Intervals', counted(figure.n_intervals)],
    ['Samples', counted(figure.n_samples)],
    ['Coverage', figure.coverage === null ? 'not stated' : formatRatio(figure.coverage)],
    ['Interval', intervalText(figure)],
    ['Grade', figure.grade ?? 'none'],
    ['Grounding', groundingNames[figure.grounding] ?? figure.grounding],
  ]
}

/** The evidence of a figure: definition, method, window, hosts, coverage, interval, grade, warnings. */
export function ProvenanceDetails({ figure, label }: { figure: FigureValue; label: string }) {
  return (
    <Stack gap={6} className={classes.details}>
      <div>
        <Text fw={600} size="sm">
          {label}
        </Text>
        <Text size="xs" c="dimmed" className="ts-mono">
          {figure.definition}
        </Text>
        <Suspense>
          <QuantityMeaning definition={figure.definition} />
        </Suspense>
      </div>
      <dl className={classes.list}>
        {lines(figure).map(([name, value, title]) => (
          <div key={name} className={classes.line} title={title}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {figure.reason !== null && (
        <Text size="xs">
          <Prose text={figure.reason} />
        </Text>
      )}
      {figure.warnings.map((warning) => (
        <Text key={warning} size="xs" className={classes.warning}>
          <Prose text={warning} />
        </Text>
      ))}
    </Stack>
  )
}
