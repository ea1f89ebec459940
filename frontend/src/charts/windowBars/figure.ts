import type { Data } from 'plotly.js'
import type { WindowHeat } from '../../api/_generated/schema'
import { heatColours, type ChartTheme } from '../../lib/palette'
import { formatRatio } from '../../lib/units/units'
import { axis, baseLayout } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** Share of resident bytes active within 1, 2, 5 and 10 intervals, with its bounds; windows without a value stay empty. */
export function windowBarsFigure(windows: WindowHeat[], theme: ChartTheme): ChartFigure {
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
    data: [bars],
    layout: {
      ...baseLayout(theme),
      hovermode: 'x',
      dragmode: false,
      margin: { l: 56, r: 12, t: 8, b: 42, pad: 0 },
      xaxis: {
        ...axis(theme),
        type: 'category',
        fixedrange: true,
        showgrid: false,
        title: { text: 'accessed in the last N intervals', font: { size: 11 }, standoff: 6 },
      },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        range: [0, 100],
        tickvals: [0, 25, 50, 75, 100],
        title: { text: '% of resident', font: { size: 11 }, standoff: 6 },
      },
    },
    table: {
      columns: ['window (intervals)', 'accessed (ratio)', 'lower (ratio)', 'upper (ratio)'],
      rows: windows.map(({ intervals, active_ratio: figure }) => [
        intervals,
        figure.value,
        figure.interval?.lo ?? null,
        figure.interval?.hi ?? null,
      ]),
    },
  }
}
