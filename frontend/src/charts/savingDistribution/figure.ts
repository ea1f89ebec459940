import type { Data, Layout } from 'plotly.js'
import { costColours, type ChartTheme } from '../../lib/palette'
import { formatMoneyChange } from '../../lib/tco/money'
import { plotText } from '../../lib/text/escape'
import { formatCount } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { verticalLine } from '../verticalLine'

/** The saving over all draws of the inputs, per host and year. */
export interface SavingDraws {
  currency: string
  p10: number
  p50: number
  p90: number
  p_positive: number
  bins: { lo: number; hi: number; n: number }[]
  draws: number
  seed: number
}

/** Draws per bin, those that save apart from those that lose, with the percentiles as lines. */
export function savingDistributionFigure(found: SavingDraws, theme: ChartTheme): ChartFigure {
  const { bins, currency } = found
  const range = (bin: SavingDraws['bins'][number]) =>
    `${formatMoneyChange(bin.lo, currency)} to ${formatMoneyChange(bin.hi, currency)}`
  const bars: Data = {
    type: 'bar',
    x: bins.map(({ lo, hi }) => (lo + hi) / 2),
    width: bins.map(({ lo, hi }) => hi - lo),
    y: bins.map(({ n }) => (n / found.draws) * 100),
    customdata: bins.map((bin) => `${range(bin)}: ${formatCount(bin.n)} of ${formatCount(found.draws)} draws`),
    hovertemplate: '%{customdata}<extra></extra>',
    marker: {
      color: bins.map(({ lo, hi }) => (lo + hi >= 0 ? costColours.less : costColours.more)),
      line: { width: 1, color: theme.surface },
    },
  }
  const marks: [string, number][] = [
    ['p10', found.p10],
    ['p50', found.p50],
    ['p90', found.p90],
  ]
  return {
    data: [bars],
    layout: {
      ...baseLayout(theme),
      ...percentileLines(marks, currency, theme),
      margin: { l: 56, r: 20, t: 46, b: 46, pad: 0 },
      hovermode: 'closest',
      dragmode: false,
      bargap: 0,
      xaxis: titledAxis(theme, `saving, ${plotText(currency)} per host and year`, {
        showgrid: false,
        nticks: 6,
      }),
      yaxis: titledAxis(theme, '% of draws', {
        rangemode: 'tozero',
        nticks: 5,
      }),
    },
    table: {
      columns: [`saving from (${currency})`, `to (${currency})`, 'draws', 'share of draws (ratio)'],
      rows: bins.map(({ lo, hi, n }) => [lo, hi, n, n / found.draws]),
    },
  }
}

/** Dashed lines of the percentiles, their labels on steps so that near ones do not lie upon each other; zero dotted. */
function percentileLines(
  marks: [string, number][],
  currency: string,
  theme: ChartTheme,
): Pick<Layout, 'shapes' | 'annotations'> {
  return {
    shapes: [
      verticalLine(0, { color: theme.dimmed, width: 1.2, dash: 'dot' }),
      ...marks.map(([, value]) => verticalLine(value, { color: theme.text, width: 1.2, dash: 'dash' })),
    ],
    annotations: marks.map(([name, value], index) => ({
      xref: 'x' as const,
      yref: 'paper' as const,
      x: value,
      y: 1,
      yshift: 4 + index * 13,
      yanchor: 'bottom' as const,
      showarrow: false,
      text: `${name} ${formatMoneyChange(value, currency)}`,
      font: { size: 11, color: theme.text },
    })),
  }
}
