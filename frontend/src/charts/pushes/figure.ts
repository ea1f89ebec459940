import type { HostFairness, Push } from '../../api/_generated/schema'
import { cividis, type ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { threeDigits } from '../../lib/units/units'
import { axis, baseLayout, colourBar } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

type Pushes = Pick<HostFairness, 'tenants' | 'pushes'>

/** Who is in no one's share: free memory that was restored, the kernel, and processes of no service. */
export const restName = 'rest of the host'

/** How sure it is that one pushed another out, in words. */
export const surenessText: Record<Push['sureness'], string> = {
  counted: 'at least some, by counting',
  correlated: 'goes along over time',
  possible: 'possible',
}

/** Demoted pages by victim (down) and by who took memory meanwhile (across); a pair that cannot be is left empty. */
export function pushesFigure(answer: Pushes, theme: ChartTheme): ChartFigure {
  const names = new Map(answer.tenants.map(({ id, name }) => [id, name]))
  const nameOf = (id: string | null): string => (id === null ? restName : (names.get(id) ?? id))
  const has = (id: string | null, side: 'victim' | 'taker') => answer.pushes.some((push) => push[side] === id)
  const victims = answer.tenants.map(({ id }) => id).filter((id) => has(id, 'victim'))
  const takers = [...answer.tenants.map(({ id }) => id), null].filter((id) => has(id, 'taker'))
  const of = (victim: string, taker: string | null) =>
    answer.pushes.find((push) => push.victim === victim && push.taker === taker)
  const rows = [...victims].reverse()
  const cells = rows.map((victim) => takers.map((taker) => of(victim, taker)))
  const ticks = (ids: (string | null)[]) => ids.map((id) => plotText(middleCut(nameOf(id), 18)))
  return {
    data: [
      {
        type: 'heatmap',
        x: takers.map((_, index) => index),
        y: rows.map((_, index) => index),
        z: cells.map((row) => row.map((push) => push?.pages.value ?? null)),
        zmin: 0,
        colorscale: cividis,
        hoverongaps: false,
        xgap: 2,
        ygap: 2,
        customdata: cells.map((row, place) =>
          row.map((push, at) =>
            push === undefined ? '' : hover(push, nameOf(rows[place] ?? null), nameOf(takers[at] ?? null)),
          ),
        ),
        hovertemplate: '%{customdata}<extra></extra>',
        colorbar: { ...colourBar(theme, 'demoted, pages'), nticks: 5 },
      },
    ],
    layout: {
      ...baseLayout(theme),
      plot_bgcolor: theme.absent,
      hovermode: 'closest',
      margin: { l: 140, r: 8, t: 8, b: 72, pad: 0 },
      xaxis: {
        ...axis(theme),
        fixedrange: true,
        showgrid: false,
        tickmode: 'array',
        tickvals: takers.map((_, index) => index),
        ticktext: ticks(takers),
        title: { text: 'took memory of the top tier', font: { size: 11 }, standoff: 8 },
      },
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        showgrid: false,
        tickmode: 'array',
        tickvals: rows.map((_, index) => index),
        ticktext: ticks(rows),
        title: { text: 'was demoted', font: { size: 11 } },
      },
    },
    table: {
      columns: [
        'was demoted',
        'took memory',
        'pages',
        'at least (pages)',
        'at most (pages)',
        'how sure',
        'correlation',
      ],
      rows: answer.pushes.map((push) => [
        nameOf(push.victim),
        nameOf(push.taker),
        push.pages.value,
        push.pages.interval?.lo ?? null,
        push.pages.interval?.hi ?? null,
        surenessText[push.sureness],
        push.correlation?.value ?? null,
      ]),
    },
  }
}

function hover(push: Push, victim: string, taker: string): string {
  const { value, interval } = push.pages
  const bounds = interval === null ? '' : ` (${threeDigits(interval.lo)} to ${threeDigits(interval.hi)})`
  const told = push.correlation
  const along =
    told === null ? '' : `<br>correlation ${told.value.toFixed(2)} (${told.lo.toFixed(2)} to ${told.hi.toFixed(2)})`
  return `${plotText(victim)} while ${plotText(taker)} took<br><b>${threeDigits(value ?? 0)} pages</b>${bounds}<br>${surenessText[push.sureness]}${along}`
}
