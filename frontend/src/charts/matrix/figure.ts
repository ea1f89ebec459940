import type { FleetOverview, Series, TimeAxis } from '../../api/_generated/schema'
import { changeColours, cividis, type ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { formatUtc, plotTime } from '../../lib/units/time'
import { axis, baseLayout, colourBar, timeAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, noMarks, type ChartMark } from '../eventMarks'
import { ghostAt, ghostColumns, type Ghost } from '../ghost'
import { percentEnds } from '../percentEnds'

type Matrix = Pick<FleetOverview, 'matrix' | 'matrix_axis'>

/** The cold shares as lines, as a comparison takes them. */
export function matrixLines({ matrix, matrix_axis }: Matrix): { axis: TimeAxis; lines: Series[] } {
  return {
    axis: matrix_axis,
    lines: matrix.map(({ service_id, label, cold_ratio }) => ({
      key: service_id,
      label: `${label}, cold`,
      unit: 'ratio',
      values: cold_ratio,
    })),
  }
}

/** The smallest end of a scale of changes, percentage points, so that noise does not fill it. */
const leastChange = 5

/** What a cell shows: its number, the words above it, and how the scale colours it. */
interface Cells {
  z: (number | null)[][]
  texts: string[][]
  scale: { zmin: number; zmax: number; colorscale: [number, string][] }
  title: string
  hover: string
}

function sharesOf(rows: Matrix['matrix'], texts: string[][]): Cells {
  const ends = percentEnds(
    rows.flatMap((row) => row.cold_ratio),
    10,
  )
  return {
    z: rows.map((row) => row.cold_ratio.map((ratio) => (ratio === null ? null : ratio * 100))),
    texts,
    // The dark end is hot, the bright end cold: bright stretches are memory that could move.
    scale: { zmin: ends.low, zmax: ends.high, colorscale: cividis },
    title: 'cold, %',
    hover: '<b>%{z:.1f} % cold</b>',
  }
}

/** The other side's shares taken from these; a cell that one side lacks stays empty. */
function changesOf(
  rows: Matrix['matrix'],
  texts: string[][],
  past: Map<string, Series>,
  label: string,
  theme: ChartTheme,
): Cells {
  const then = (row: Matrix['matrix'][number], place: number) => past.get(row.service_id)?.values[place] ?? null
  const z = rows.map((row) =>
    row.cold_ratio.map((ratio, place) => {
      const before = then(row, place)
      return ratio === null || before === null ? null : (ratio - before) * 100
    }),
  )
  const most = z.flat().reduce<number>((peak, change) => Math.max(peak, Math.abs(change ?? 0)), leastChange)
  const end = Math.ceil(most / 5) * 5
  const percent = (ratio: number | null) => (ratio === null ? 'not collected' : `${(ratio * 100).toFixed(1)} % cold`)
  return {
    z,
    texts: rows.map((row, index) =>
      row.cold_ratio.map(
        (ratio, place) =>
          `${texts[index]?.[place] ?? ''}<br>${percent(ratio)}; ${plotText(label)}: ${percent(then(row, place))}`,
      ),
    ),
    // More cold memory is colder: blue, as in the heatmap's changes of activity.
    scale: {
      zmin: -end,
      zmax: end,
      colorscale: changeColours[theme.name].map(([place, colour]) => [1 - place, colour] as [number, string]).reverse(),
    },
    title: 'change of cold, percentage points',
    hover: '<b>%{z:+.1f} points</b>',
  }
}

/**
 * Services down, time across, cold share as colour, or beside another side its change in percentage points; what was not
 * measured stays hatched.
 */
export function matrixFigure(
  fleet: Matrix,
  theme: ChartTheme,
  marks: ChartMark[] = noMarks,
  ghost: Ghost | null = null,
): ChartFigure {
  const { times, window, step_seconds: step } = fleet.matrix_axis
  const rows = [...fleet.matrix].reverse()
  const half = (step ?? 0) / 2
  const start = Date.parse(window.start) / 1000
  const end = Date.parse(window.end) / 1000
  const events = markShapes(theme, marks, start, end)
  const texts = rows.map((row) => times.map((time) => `${plotText(row.label)}<br>${formatUtc(new Date(time * 1000))}`))
  const past = ghostAt(ghost, times, step)
  const cells =
    past.length === 0
      ? sharesOf(rows, texts)
      : changesOf(rows, texts, new Map(past.map((line) => [line.key, line])), ghost?.label ?? '', theme)
  const others = ghostColumns(ghost, times, step)
  return {
    data: [
      {
        type: 'heatmap',
        // Cells are centred on their bucket; times name the buckets' ends.
        x: times.map((time) => plotTime(time - half)),
        y: rows.map((row) => row.service_id),
        z: cells.z,
        ...cells.scale,
        hoverongaps: false,
        customdata: cells.texts,
        hovertemplate: `%{customdata}<br>${cells.hover}<extra></extra>`,
        colorbar: { ...colourBar(theme, cells.title), nticks: 5 },
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
      columns: [
        'time (UTC)',
        ...fleet.matrix.map((row) => `${row.label}, cold (ratio)`),
        ...others.map(({ label }) => label),
      ],
      rows: times.map((time, index) => [
        formatUtc(new Date(time * 1000)),
        ...fleet.matrix.map((row) => row.cold_ratio[index] ?? null),
        ...others.map(({ values }) => values[index] ?? null),
      ]),
    },
  }
}
