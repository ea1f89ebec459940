import type { Data } from 'plotly.js'
import { seriesColour, tierColour, type ChartTheme } from '../../lib/palette'
import { formatMoney } from '../../lib/tco/money'
import { plotText } from '../../lib/text/escape'
import { axis, baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** One machine of one scenario: its yearly cost by part. */
export interface CostBar {
  scenario: string
  name: string
  parts: { name: string; annual: number }[]
}

/** Parts in the order in which they first appear, over all bars. */
export function partsOf(bars: CostBar[]): string[] {
  return [...new Set(bars.flatMap(({ parts }) => parts.map(({ name }) => name)))]
}

/** The colour of a part: that of its tier where it is one, else a neutral one. */
export function partColour(part: string, index: number): string {
  const tier = ['dram', 'cxl', 'zswap', 'swap', 'ssd'].find((name) => part.toLowerCase().includes(name))
  return tier === undefined ? seriesColour(index) : tierColour(tier === 'ssd' ? 'swap' : tier)
}

/** Yearly cost per host as stacked bars, one bar per machine, grouped by scenario. */
export function costBarsFigure(bars: CostBar[], theme: ChartTheme, currency: string): ChartFigure {
  const parts = partsOf(bars)
  const amount = (bar: CostBar, part: string) => bar.parts.find(({ name }) => name === part)?.annual ?? null
  const labels = bars.map(({ name, scenario }) => `${plotText(name)}<br>${plotText(scenario)}`)
  const data = parts.map((part, index): Data => ({
    type: 'bar',
    name: plotText(part),
    x: bars.map((_, position) => position),
    y: bars.map((bar) => amount(bar, part)),
    customdata: bars.map((bar) => `${plotText(part)}: ${formatMoney(amount(bar, part) ?? 0, currency)} a year`),
    hovertemplate: '%{customdata}<extra></extra>',
    marker: { color: partColour(part, index), line: { width: 1, color: theme.surface } },
  }))
  return {
    data,
    layout: {
      ...baseLayout(theme),
      margin: { l: 64, r: 16, t: 10, b: 56, pad: 0 },
      barmode: 'stack',
      bargap: 0.4,
      dragmode: false,
      hovermode: 'closest',
      xaxis: {
        ...axis(theme),
        fixedrange: true,
        showgrid: false,
        tickvals: bars.map((_, position) => position),
        ticktext: labels,
        tickangle: 0,
      },
      yaxis: titledAxis(theme, `${plotText(currency)} per host and year`, {
        rangemode: 'tozero',
        nticks: 6,
      }),
    },
    table: {
      columns: ['scenario', 'machine', ...parts.map((part) => `${part} (${currency} a year)`)],
      rows: bars.map((bar) => [bar.scenario, bar.name, ...parts.map((part) => amount(bar, part))]),
    },
  }
}
