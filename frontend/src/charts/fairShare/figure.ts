import type { HostFairness, Series } from '../../api/_generated/schema'
import { seriesColour, type ChartTheme } from '../../lib/palette'
import { seriesTable } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import type { ChartMark } from '../eventMarks'
import { linesFigure, type Line } from '../lines/figure'

type Shares = Pick<HostFairness, 'axis' | 'series' | 'tenants'>

/** So many tenants are drawn: more lines cannot be told apart. */
export const mostTenants = 6

/** Held and fair shares of the tenants that hold most, each in a colour of its own. */
export function shareLines(answer: Shares): { held: Series; fair: Series | undefined; name: string; colour: string }[] {
  const find = (key: string) => answer.series.find((line) => line.key === key)
  return answer.tenants.slice(0, mostTenants).flatMap((tenant, index) => {
    const held = find(`held:${tenant.id}`)
    if (held === undefined) return []
    return [{ held, fair: find(`fair:${tenant.id}`), name: tenant.name, colour: seriesColour(index) }]
  })
}

/** What each tenant holds of the top tier over time (solid) against its fair share (dashed), in per cent of the tier. */
export function fairShareFigure(answer: Shares, theme: ChartTheme, marks?: ChartMark[]): ChartFigure {
  const lines = shareLines(answer).flatMap(({ held, fair, colour }): Line[] => [
    { ...held, colour },
    ...(fair === undefined ? [] : [{ ...fair, colour, dashed: true }]),
  ])
  const { layout, ...drawn } = linesFigure(answer.axis, theme, lines, marks)
  const title = { text: 'top tier held, %', font: { size: 11 }, standoff: 6 }
  return {
    ...drawn,
    layout: { ...layout, yaxis: { ...layout.yaxis, title } },
    // All tenants, those that are not drawn too.
    table: seriesTable(
      answer.axis.times,
      answer.series
        .filter((series) => series.unit === 'ratio')
        .map((series) => ({ label: `${series.label} (ratio)`, values: series.values })),
    ),
  }
}
