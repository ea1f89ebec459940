import type { Data } from 'plotly.js'
import type { WindowHeat } from '../../api/_generated/schema'
import { heatColours, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatRatio } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { besideOpacity, type Beside } from '../ghost'

/** The other side's shares as open marks, by the number of intervals. */
function besideMarks(beside: Beside<WindowHeat[]> | null, windows: WindowHeat[], theme: ChartTheme): Data[] {
  if (beside === null || beside.answer === null) return []
  const found = windows.map(({ intervals }) => besideShare(beside, intervals))
  return [
    {
      type: 'scatter',
      mode: 'markers',
      name: plotText(beside.label),
      x: windows.map((window) => `last ${window.intervals}`),
      y: found.map((share) => (share === null ? null : share * 100)),
      customdata: found.map(
        (share) => `${share === null ? 'no value' : formatRatio(share)}, ${plotText(beside.label)}`,
      ),
      hovertemplate: '%{customdata}<extra></extra>',
      opacity: besideOpacity,
      marker: { symbol: 'line-ew-open', size: 40, color: theme.text, line: { width: 2 } },
    },
  ]
}

function besideShare(beside: Beside<WindowHeat[]>, intervals: number): number | null {
  return beside.answer?.find((window) => window.intervals === intervals)?.active_ratio.value ?? null
}

/**
 * Share of resident bytes active within 1, 2, 5 and 10 intervals, with its bounds; windows without a value stay empty.
 * The other side's shares are lines across the bars.
 */
export function windowBarsFigure(
  windows: WindowHeat[],
  theme: ChartTheme,
  beside: Beside<WindowHeat[]> | null = null,
): ChartFigure {
  const labels = windows.map((window) => `last ${window.intervals}`)
  const percent = (value: number | null): number | null => (value === null ? null : value * 100)
  const values = windows.map((window) => window.active_ratio.value)
  const bound = (end: 'lo' | 'hi') =>
    windows.map(({ active_ratio: figure }) =>
      figure.interval === null || figure.value === null ? 0 : Math.abs(figure.interval[end] - figure.value) * 100,
    )
  const bars: Data = {
    type: 'bar',
    name: 'accessed',
    x: labels,
    y: values.map(percent),
    marker: { color: heatColours.hot },
    width: 0.6,
    error_y: {
      type: 'data',
      symmetric: false,
      array: bound('hi'),
      arrayminus: bound('lo'),
      color: theme.text,
      thickness: 1.2,
      width: 6,
    },
    customdata: windows.map(({ active_ratio: figure }) => {
      if (figure.value === null) return figure.reason ?? 'no value'
      const interval = figure.interval
      const range = interval === null ? '' : ` (${formatRatio(interval.lo)} – ${formatRatio(interval.hi)})`
      return `${formatRatio(figure.value)}${range}`
    }),
    hovertemplate: '%{customdata}<extra></extra>',
  }
  return {
    data: [bars, ...besideMarks(beside, windows, theme)],
    layout: {
      ...baseLayout(theme),
      hovermode: 'x',
      dragmode: false,
      margin: { l: 56, r: 12, t: 8, b: 42, pad: 0 },
      xaxis: titledAxis(theme, 'accessed in the last N intervals', {
        type: 'category',
        showgrid: false,
      }),
      yaxis: titledAxis(theme, '% of resident', {
        range: [0, 100],
        tickvals: [0, 25, 50, 75, 100],
      }),
    },
    table: {
      columns: [
        'window (intervals)',
        'accessed (ratio)',
        'lower (ratio)',
        'upper (ratio)',
        ...(beside?.answer ? [`accessed, ${beside.label} (ratio)`] : []),
      ],
      rows: windows.map(({ intervals, active_ratio: figure }) => [
        intervals,
        figure.value,
        figure.interval?.lo ?? null,
        figure.interval?.hi ?? null,
        ...(beside?.answer ? [besideShare(beside, intervals)] : []),
      ]),
    },
  }
}
