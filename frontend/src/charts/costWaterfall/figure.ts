import type { Data } from 'plotly.js'
import { costColours, type ChartTheme } from '../../lib/palette'
import { formatMoney, formatMoneyChange } from '../../lib/tco/money'
import { middleCut, plotText } from '../../lib/text/escape'
import type { ChartFigure } from '../chartFigure'
import { axisTitle, rowsFromTheTop, horizontalBarLayout } from '../horizontalBars'

/** What lies between the yearly costs of two machines, part by part. Amounts per host and year. */
export interface CostSteps {
  currency: string
  from: { name: string; annual: number }
  to: { name: string; annual: number }
  steps: { part: string; delta: number }[]
}

/** From the baseline's yearly cost down to an option's: one bar per part that differs, from where the last one ended. */
export function costWaterfallFigure({ currency, from, to, steps }: CostSteps, theme: ChartTheme): ChartFigure {
  const shown = steps.filter(({ delta }) => delta !== 0)
  const ends = shown.map((_, index) => shown.slice(0, index + 1).reduce((sum, step) => sum + step.delta, from.annual))
  const starts = shown.map((step, index) => (ends[index] ?? 0) - step.delta)
  const names = [from.name, ...shown.map(({ part }) => part), to.name]
  const texts = [
    formatMoney(from.annual, currency),
    ...shown.map(({ delta }) => formatMoneyChange(delta, currency)),
    formatMoney(to.annual, currency),
  ]
  const [lowest, highest] = [Math.min(from.annual, ...starts, ...ends), Math.max(from.annual, ...starts, ...ends)]
  // Parts of a few per cent are seen only where the axis does not begin at zero; then it says so.
  const floor = Math.max(0, lowest - (highest - lowest) * 0.6)
  const bar: Data = {
    type: 'bar',
    orientation: 'h',
    y: rowsFromTheTop(names),
    base: [floor, ...shown.map((_, index) => Math.min(starts[index] ?? 0, ends[index] ?? 0)), floor],
    x: [from.annual - floor, ...shown.map(({ delta }) => Math.abs(delta)), to.annual - floor],
    text: texts,
    textposition: 'outside',
    textangle: 0,
    constraintext: 'none',
    textfont: { size: 11, color: theme.text },
    cliponaxis: false,
    customdata: names.map((name, index) => `${plotText(name)}: ${texts[index] ?? ''} a year`),
    hovertemplate: '%{customdata}<extra></extra>',
    marker: {
      color: [
        costColours.total,
        ...shown.map(({ delta }) => (delta < 0 ? costColours.less : costColours.more)),
        costColours.total,
      ],
      line: { width: 0 },
    },
  }
  return {
    data: [bar],
    layout: horizontalBarLayout(
      theme,
      158,
      names.map((name) => plotText(middleCut(name, 24))),
      {
        // The right end keeps room for the text of the longest bar.
        range: [floor, highest + (highest - floor) * 0.22],
        nticks: 5,
        title: axisTitle(`${plotText(currency)} per host and year${floor > 0 ? ', not from 0' : ''}`),
      },
    ),
    table: {
      columns: ['part', `difference (${currency} per host and year)`, `cost so far (${currency} per host and year)`],
      rows: [
        [from.name, null, from.annual],
        ...shown.map(({ part, delta }, index) => [part, delta, ends[index] ?? null]),
        [to.name, null, to.annual],
      ],
    },
  }
}
