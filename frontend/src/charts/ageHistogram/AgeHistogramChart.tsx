import { useMemo } from 'react'
import type { AgeBucket, Figure, SchemeInfo } from '../../api/_generated/schema'
import { heatColours } from '../../lib/palette'
import type { LegendItem } from '../../ui/layout/Legend'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import type { Beside } from '../ghost'
import { ageHistogramFigure, ageWords, bytesIn, type AgeWords } from './figure'

interface AgeHistogramChartProps extends Pick<ChartPanelProps, 'load' | 'hint' | 'height'> {
  buckets: AgeBucket[] | undefined
  evidence: Figure | undefined
  /** How memory is classed: its classes colour the bars. */
  scheme: SchemeInfo | undefined
  /** Whose ages they are. */
  title?: string
  /** Stable name, where a page has several. */
  name?: string
  words?: AgeWords
  beside?: Beside<AgeBucket[]> | null
}

/** The classes that bars may have, and how those stand out whose age is a bound. */
function legendOf(scheme: SchemeInfo | undefined, words: AgeWords): LegendItem[] {
  const classes = scheme?.name === 'recency' ? (['hot', 'warm', 'cold'] as const) : (['hot', 'cold'] as const)
  const coloured =
    scheme?.name === 'frequency'
      ? [{ label: 'any class: classes go by frequency', colour: heatColours.unknown }]
      : classes.map((name) => ({ label: name, colour: heatColours[name] }))
  return [...coloured, { label: `${words.bound}: ${words.atLeast}`, hatched: true }]
}

export function hasBytes(buckets: AgeBucket[]): boolean {
  return buckets.some((bucket) => bytesIn(bucket) > 0)
}

/** How long memory has been idle. */
export function AgeHistogramChart({
  buckets,
  evidence,
  scheme,
  title = 'Age of memory',
  name = 'age-histogram',
  words = ageWords,
  beside = null,
  load,
  hint,
  height,
}: AgeHistogramChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(
    () =>
      buckets === undefined || scheme === undefined ? null : ageHistogramFigure(buckets, scheme, theme, words, beside),
    [buckets, scheme, theme, words, beside],
  )
  const drawable = buckets !== undefined && hasBytes(buckets)
  return (
    <ChartPanel
      chart="ageHistogram"
      name={name}
      title={title}
      label={title}
      hint={hint}
      load={load}
      figure={figure}
      ghost={beside}
      height={height}
      evidence={evidence}
      empty={
        buckets !== undefined && !drawable
          ? {
              title: words.none,
              next: words.next,
            }
          : null
      }
      legend={legendOf(scheme, words)}
    />
  )
}
