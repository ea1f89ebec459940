import type { Layout, LayoutAxis } from 'plotly.js'
import type { ChartTheme } from '../lib/palette'
import { axis, baseLayout } from './baseLayout'

/** Where horizontal bars stand, the first one at the top. */
export function rowsFromTheTop(bars: readonly unknown[]): number[] {
  return bars.map((_, index) => bars.length - 1 - index)
}

/** A title below an axis. */
export function axisTitle(text: string): LayoutAxis['title'] {
  return { text, font: { size: 11 }, standoff: 6 }
}

/** Horizontal bars, one to a row, with `labels` to their left in `left` pixels. */
export function horizontalBarLayout(
  theme: ChartTheme,
  left: number,
  labels: string[],
  xaxis: Partial<LayoutAxis>,
): Partial<Layout> {
  return {
    ...baseLayout(theme),
    margin: { l: left, r: 16, t: 8, b: 44, pad: 4 },
    hovermode: 'closest',
    dragmode: false,
    bargap: 0.35,
    xaxis: { ...axis(theme), fixedrange: true, ...xaxis },
    yaxis: {
      ...axis(theme),
      fixedrange: true,
      rangemode: 'normal',
      showgrid: false,
      zeroline: false,
      range: [-0.6, Math.max(1, labels.length) - 0.4],
      tickvals: rowsFromTheTop(labels),
      ticktext: labels,
      tickfont: { size: 11, color: theme.text },
    },
  }
}
