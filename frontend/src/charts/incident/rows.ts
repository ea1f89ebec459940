import type { Data } from 'plotly.js'
import type { Incident, IncidentRow, Series } from '../../api/_generated/schema'
import { kindColour, moveColours, seriesColour, tierColour, toneColours, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { verdictText } from '../../lib/text/verdicts'
import { formatDuration, plotTime } from '../../lib/units/time'
import { formatQuantity, scaleFor } from '../../lib/units/units'
import { axis as axisStyle, breakGaps, gapColumns } from '../baseLayout'

type Axis = Incident['axis']

/** How a series is drawn; `direction` -1 draws it below the line. */
interface SeriesStyle {
  colour: (theme: ChartTheme) => string
  dash?: 'dash' | 'dot' | 'dashdot'
  direction?: -1
}

const styles: Record<string, SeriesStyle> = {
  promoted_pages: { colour: () => moveColours.promotion },
  demoted_pages: { colour: () => moveColours.demotion, direction: -1 },
  top_free_bytes: { colour: () => tierColour('dram') },
  top_min_watermark_bytes: { colour: (theme) => theme.beyond, dash: 'dot' },
  top_low_watermark_bytes: { colour: () => seriesColour(1), dash: 'dash' },
  top_high_watermark_bytes: { colour: (theme) => theme.dimmed, dash: 'dashdot' },
  psi_some_ratio: { colour: () => seriesColour(6) },
  refault_anon_pages: { colour: () => kindColour('anon') },
  refault_file_pages: { colour: () => kindColour('file') },
  throughput: { colour: () => seriesColour(0) },
  latency_p99: { colour: () => seriesColour(2) },
  hot_outside_dram_bytes: { colour: () => tierColour('cxl') },
}

/** How a series of an incident is drawn. */
export function styleOf(key: string): SeriesStyle {
  return styles[key] ?? { colour: () => seriesColour(7) }
}

/** What stands in a row that has no lines. The reason is given below the chart. */
export const absentWords = {
  not_collected: 'not collected: see below',
  not_supported: 'not supported: see below',
  not_enough_data: 'not enough data: see below',
} as const

/** The place of a row: the numbers of its axis and of the one of its gaps, and its part of the plot. */
export interface Place {
  axis: number
  domain: [number, number]
}

/** Axes by their names in the layout. */
export type AxisLayouts = Record<string, object>

/** The name of an axis in traces, and in the layout. */
export function axisIds(place: Place): { trace: string; layout: string; gapTrace: string; gapLayout: string } {
  const n = place.axis === 1 ? '' : String(place.axis)
  const gap = place.axis + 10
  return { trace: `y${n}`, layout: `yaxis${n}`, gapTrace: `y${gap}`, gapLayout: `yaxis${gap}` }
}

function peakOf(series: Series[]): number {
  let peak = 0
  for (const { values } of series) for (const value of values) peak = Math.max(peak, Math.abs(value ?? 0))
  return peak
}

/** A row with its lines: traces, axes, and its title with the unit. */
export function lineRow(row: IncidentRow, time: Axis, step: number, place: Place, theme: ChartTheme) {
  const ids = axisIds(place)
  const peak = peakOf(row.series)
  const scale = scaleFor(row.series[0]?.unit ?? '', peak)
  const twoWay = row.series.some(({ key }) => styleOf(key).direction === -1)
  const lines = row.series.map((series): Data => {
    const style = styleOf(series.key)
    const sign = style.direction ?? 1
    const drawn = breakGaps(time.times, series.values, time.step_seconds)
    const scaled = drawn.values.map((value) => (value === null ? null : value / scale.divisor))
    return {
      type: 'scatter',
      mode: 'lines',
      name: plotText(series.label),
      x: drawn.times.map(plotTime),
      y: scaled.map((value) => (value === null ? null : sign * value)),
      yaxis: ids.trace,
      connectgaps: false,
      ...(twoWay ? { fill: 'tozeroy' as const } : {}),
      line: { color: style.colour(theme), width: 1.4, ...(style.dash === undefined ? {} : { dash: style.dash }) },
      customdata: drawn.values.map((value) => (value === null ? '' : plotText(formatQuantity(value, series.unit)))),
      hovertemplate: '%{customdata}',
    } as Data
  })
  const gaps = gapColumns(
    time.times,
    row.series.map(({ values }) => values),
    step,
    theme,
  )
  const unit = scale.unit === '' ? '' : `, ${scale.unit}`
  return {
    data: [{ ...gaps, yaxis: ids.gapTrace } as Data, ...lines],
    layout: {
      [ids.layout]: {
        ...axisStyle(theme),
        domain: place.domain,
        fixedrange: true,
        nticks: 4,
        rangemode: 'tozero',
        zeroline: twoWay,
        zerolinecolor: theme.dimmed,
        tickfont: { size: 10, color: theme.dimmed },
        ...(peak === 0 ? { range: twoWay ? [-1, 1] : [0, 1] } : {}),
      },
      [ids.gapLayout]: { overlaying: ids.trace, visible: false, fixedrange: true, range: [0, 1] },
    } as AxisLayouts,
    title: `${row.label}${unit}${twoWay ? ' (promoted up, demoted down)' : ''}`,
  }
}

/** A row without lines: its place is marked, and says which kind of nothing it is. */
export function absentRow(row: IncidentRow, place: Place, theme: ChartTheme) {
  const [bottom, top] = place.domain
  const words = row.status === 'ok' ? absentWords.not_enough_data : absentWords[row.status]
  const across = { xref: 'paper' as const, yref: 'paper' as const }
  const box = { ...across, type: 'rect' as const, x0: 0, x1: 1, y0: bottom, y1: top }
  return {
    shapes: [{ ...box, line: { width: 0 }, fillcolor: theme.absent, layer: 'below' as const }],
    annotations: [
      {
        ...across,
        x: 0.5,
        y: (bottom + top) / 2,
        yanchor: 'middle' as const,
        text: words,
        hovertext: plotText(row.reason ?? words),
        captureevents: true,
        showarrow: false,
        font: { size: 11, color: theme.dimmed },
      },
    ],
    title: row.label,
  }
}

/** Tones on which white text is read best; on the others dark text is. */
const darkTones: ReadonlySet<string> = new Set(['critical', 'info'])

/** The verdict over time: a bar a stretch, with its word where it fits. What was not judged stays empty. */
export function ribbonRow(ribbon: Incident['ribbon'], start: number, end: number, place: Place, theme: ChartTheme) {
  const ids = axisIds(place)
  const data = ribbon.map((stretch): Data => {
    const { label, tone } = verdictText(stretch.state)
    const from = Math.max(start, Date.parse(stretch.from) / 1000)
    const to = Math.min(end, Date.parse(stretch.to) / 1000)
    return {
      type: 'bar',
      orientation: 'h',
      name: plotText(label),
      y: [0],
      base: [plotTime(from)],
      x: [Math.max(0, to - from) * 1000],
      width: 1,
      yaxis: ids.trace,
      text: plotText(label),
      textposition: 'inside',
      insidetextanchor: 'middle',
      textangle: 0,
      textfont: { size: 10, color: darkTones.has(tone) ? '#ffffff' : '#10161a' },
      cliponaxis: true,
      hovertemplate: `${plotText(label)} for ${formatDuration(to - from)}<extra></extra>`,
      marker: { color: toneColours[theme.name][tone], line: { width: 1, color: theme.surface } },
    } as Data
  })
  return {
    data,
    layout: {
      [ids.layout]: { domain: place.domain, range: [-0.5, 0.5], fixedrange: true, visible: false },
    } as AxisLayouts,
    title: 'Verdict',
  }
}
