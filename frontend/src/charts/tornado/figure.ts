import type { Data } from 'plotly.js'
import { swingColours, type ChartTheme } from '../../lib/palette'
import { formatMoneyChange } from '../../lib/tco/money'
import { plotText } from '../../lib/text/escape'
import type { ChartFigure } from '../chartFigure'
import { axisTitle, horizontalBarLayout, rowsFromTheTop } from '../horizontalBars'
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
  const end = (side: 'low' | 'high'): Data => {
    const at = (swing: Swing) => (side === 'low' ? swing.saving_low : swing.saving_high)
    return {
      type: 'bar',
      orientation: 'h',
      name: side,
      y: rowsFromTheTop(shown),
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
      ...horizontalBarLayout(
        theme,
        158,
        shown.map(({ label }) => plotText(label)),
        { nticks: 5, zeroline: false, title: axisTitle(`saving, ${plotText(currency)} per host and year`) },
      ),
      barmode: 'overlay',
      shapes: [
        verticalLine(saving, { color: theme.text, width: 1.2, dash: 'solid' }),
        verticalLine(0, { color: theme.dimmed, width: 1.2, dash: 'dot' }),
      ],
    },
    table: {
      columns: ['input', 'low', `saving at low (${currency})`, 'high', `saving at high (${currency})`],
      rows: shown.map((swing) => [swing.label, swing.low, swing.saving_low, swing.high, swing.saving_high]),
    },
  }
}
