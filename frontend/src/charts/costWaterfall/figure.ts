import type { Data } from 'plotly.js'
import { plotText } from '../../lib/escape'
import { formatMoney, formatMoneyChange } from '../../lib/money'
import { costColours, type ChartTheme } from '../../lib/palette'
import { axis, baseLayout } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** What lies between the yearly costs of two machines, part by part. Amounts per host and year. */
export interface CostSteps {
  currency: string
  from: { name: string; annual: number }
  to: { name: string; annual: number }
  steps: { part: string; delta: number }[]
}

/** From the baseline's yearly cost to an option's: one bar per part that differs, hanging where the last one ended. */
export function costWaterfallFigure({ currency, from, to, steps }: CostSteps, theme: ChartTheme): ChartFigure {
  const shown = steps.filter(({ delta }) => delta !== 0)
  const ends = shown.map((_, index) => shown.slice(0, index + 1).reduce((sum, step) => sum + step.delta, from.annual))
  const names = [from.name, ...shown.map(({ part }) => part), to.name]
  const bottoms = shown.map((step, index) => Math.min(ends[index] ?? 0, (ends[index] ?? 0) - step.delta))
  const texts = [
    formatMoney(from.annual, currency),
    ...shown.map(({ delta }) => formatMoneyChange(delta, currency)),
    formatMoney(to.annual, currency),
  ]
  const lowest = Math.min(from.annual, to.annual, ...bottoms)
  const highest = Math.max(
    from.annual,
    to.annual,
    ...ends,
    ...bottoms.map((at, index) => at + Math.abs(shown[index]?.delta ?? 0)),
  )
  // Bars that differ by a few per cent are seen only where the axis does not begin at zero; then it says so.
  const floor = Math.max(0, lowest - (highest - lowest) * 1.5)
  const bar: Data = {
    type: 'bar',
    x: names.map((_, index) => index),
    base: [floor, ...bottoms, floor],
    y: [from.annual - floor, ...shown.map(({ delta }) => Math.abs(delta)), to.annual - floor],
    text: texts,
    textposition: 'outside',
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
    layout: {
      ...baseLayout(theme),
      margin: { l: 64, r: 16, t: 24, b: 62, pad: 0 },
      hovermode: 'closest',
      dragmode: false,
      bargap: 0.35,
      xaxis: {
        ...axis(theme),
        fixedrange: true,
        showgrid: false,
        tickvals: names.map((_, index) => index),
        ticktext: names.map((name) => wrapped(name)),
        tickangle: 0,
      },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        range: [floor, highest + (highest - floor) * 0.08],
        nticks: 5,
        title: {
          text: `${plotText(currency)} per host and year${floor > 0 ? ', not from 0' : ''}`,
          font: { size: 11 },
          standoff: 6,
        },
      },
    },
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

/** A label on several short lines, so that neighbours do not run into each other. */
function wrapped(name: string): string {
  return name
    .replaceAll('_', ' ')
    .split(' ')
    .reduce<string[]>((lines, word) => {
      const last = lines.at(-1)
      if (last === undefined || last.length + word.length > 11) return [...lines, word]
      return [...lines.slice(0, -1), `${last} ${word}`]
    }, [])
    .map(plotText)
    .join('<br>')
}
