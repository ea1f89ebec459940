import type { FleetOverview } from '../../api/_generated/schema'
import { cividis, type ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { formatUtc, plotTime } from '../../lib/units/time'
import { axis, baseLayout, colourBar, timeAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, noMarks, type ChartMark } from '../eventMarks'
import { percentEnds } from '../percentEnds'

type Matrix = Pick<FleetOverview, 'matrix' | 'matrix_axis'>

/** Services down, time across, cold share as colour; what was not measured stays hatched. */
export function matrixFigure(fleet: Matrix, theme: ChartTheme, marks: ChartMark[] = noMarks): ChartFigure {
  const { times, window, step_seconds: step } = fleet.matrix_axis
  const rows = [...fleet.matrix].reverse()
  const half = (step ?? 0) / 2
  const start = Date.parse(window.start) / 1000
  const end = Date.parse(window.end) / 1000
  const events = markShapes(theme, marks, start, end)
  const ends = percentEnds(
    rows.flatMap((row) => row.cold_ratio),
    10,
  )
  return {
    data: [
      {
        type: 'heatmap',
        // Cells are centred on their bucket; times name the buckets' ends.
        x: times.map((time) => plotTime(time - half)),
        y: rows.map((row) => row.service_id),
        z: rows.map((row) => row.cold_ratio.map((ratio) => (ratio === null ? null : ratio * 100))),
        zmin: ends.low,
        zmax: ends.high,
        // The dark end is hot, the bright end cold: bright stretches are memory that could move.
        colorscale: cividis,
        hoverongaps: false,
        customdata: rows.map((row) =>
          times.map((time) => `${plotText(row.label)}<br>${formatUtc(new Date(time * 1000))}`),
        ),
        hovertemplate: '%{customdata}<br><b>%{z:.1f} % cold</b><extra></extra>',
        colorbar: { ...colourBar(theme, 'cold, %'), nticks: 5 },
      },
    ],
    layout: {
      ...baseLayout(theme),
      plot_bgcolor: theme.absent,
      hovermode: 'closest',
      margin: { l: 140, r: 8, t: markMargin, b: 40, pad: 0 },
      // Rows are told apart by lines over the hatching rather than by gaps that would show it.
      shapes: [
        ...rows.slice(1).map((_, index) => ({
          type: 'line' as const,
          xref: 'paper' as const,
          yref: 'y' as const,
          x0: 0,
          x1: 1,
          y0: index + 0.5,
          y1: index + 0.5,
          line: { color: theme.surface, width: 2 },
        })),
        ...events.shapes,
      ],
      annotations: events.annotations,
      xaxis: timeAxis(theme, start, end),
      yaxis: {
        ...axis(theme),
        fixedrange: true,
        type: 'category',
        showgrid: false,
        tickmode: 'array',
        tickvals: rows.map((row) => row.service_id),
        ticktext: rows.map((row) => plotText(middleCut(row.label, 18))),
        tickfont: { size: 12, color: theme.text },
      },
    },
    table: {
      columns: ['time (UTC)', ...fleet.matrix.map((row) => `${row.label}, cold (ratio)`)],
      rows: times.map((time, index) => [
        formatUtc(new Date(time * 1000)),
        ...fleet.matrix.map((row) => row.cold_ratio[index] ?? null),
      ]),
    },
  }
}
