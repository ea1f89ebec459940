import type { Data } from 'plotly.js'
import { swingColours, type ChartTheme } from '../../lib/palette'
import { formatMoneyChange } from '../../lib/tco/money'
import { plotText } from '../../lib/text/escape'
import { axis, baseLayout } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { verticalLine } from '../verticalLine'

/** The saving with one input at its lowest and at its highest, all others as they are. Per host and year. */
export interface Swing {
  label: string
  /** The input at both ends, in words with its unit. */
  low: string
  high: string
  saving_low: number
  saving_high: number
}

/** How far each input alone moves the saving, the strongest on top. */
export interface Swings {
  currency: string
  saving: number
  swings: Swing[]
}

const mostSwings = 12

/** Swings from the strongest to the weakest; those without any effect are left out. */
export function strongest(swings: Swing[]): Swing[] {
  const size = (swing: Swing) => Math.abs(swing.saving_high - swing.saving_low)
  return swings
    .filter((swing) => size(swing) > 0)
    .sort((a, b) => size(b) - size(a))
    .slice(0, mostSwings)
}

/** Horizontal bars from the saving as it is to the saving at either end of each input, the strongest input on top. */
export function tornadoFigure({ currency, saving, swings }: Swings, theme: ChartTheme): ChartFigure {
  const shown = strongest(swings)
  const rows = shown.map((_, index) => shown.length - 1 - index)
  const end = (side: 'low' | 'high'): Data => {
    const at = (swing: Swing) => (side === 'low' ? swing.saving_low : swing.saving_high)
    return {
      type: 'bar',
      orientation: 'h',
      name: side,
      y: rows,
      base: shown.map(() => saving),
      x: shown.map((swing) => at(swing) - saving),
      customdata: shown.map(
        (swing) =>
          `${plotText(swing.label)} at ${plotText(swing[side])}: saving ${formatMoneyChange(at(swing), currency)} a year`,
      ),
      hovertemplate: '%{customdata}<extra></extra>',
      marker: { color: swingColours[side], line: { width: 0 } },
    }
  }
  return {
    data: [end('low'), end('high')],
    layout: {
      ...baseLayout(theme),
      margin: { l: 158, r: 20, t: 8, b: 44, pad: 4 },
      hovermode: 'closest',
      dragmode: false,
      barmode: 'overlay',
      bargap: 0.35,
      shapes: [
        verticalLine(saving, { color: theme.text, width: 1.2, dash: 'solid' }),
        verticalLine(0, { color: theme.dimmed, width: 1.2, dash: 'dot' }),
      ],
      xaxis: {
        ...axis(theme),
        fixedrange: true,
        nticks: 5,
        zeroline: false,
        title: { text: `saving, ${plotText(currency)} per host and year`, font: { size: 11 }, standoff: 6 },
      },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        rangemode: 'normal',
        showgrid: false,
        zeroline: false,
        range: [-0.6, Math.max(1, shown.length) - 0.4],
        tickvals: rows,
        ticktext: shown.map(({ label }) => plotText(label)),
        tickfont: { size: 11, color: theme.text },
      },
    },
    table: {
      columns: ['input', 'low', `saving at low (${currency})`, 'high', `saving at high (${currency})`],
      rows: shown.map((swing) => [swing.label, swing.low, swing.saving_low, swing.high, swing.saving_high]),
    },
  }
}
