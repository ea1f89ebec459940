import type { Data } from 'plotly.js'
import {
  activityCode,
  cellActivity,
  cellMaximum,
  cellNotCollected,
  cellNotResident,
  cellUnsampled,
  formatActivity,
  largestCode,
  measureLabel,
  type HeatGrid,
} from '../../lib/heat/heatGrid'
import { inferno, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { plotTime } from '../../lib/units/time'

/** The grid's columns on an even raster, so that a missing column is a hole and its neighbours do not grow over it. */
export function evenColumns(grid: HeatGrid): { ends: number[]; source: (number | null)[] } {
  const first = grid.columnEnds[0]
  const last = grid.columnEnds.at(-1)
  if (first === undefined || last === undefined) return { ends: [], source: [] }
  const count = Math.round((last - first) / grid.columnSeconds) + 1
  const ends = Array.from({ length: count }, (_, index) => first + index * grid.columnSeconds)
  const source: (number | null)[] = ends.map(() => null)
  grid.columnEnds.forEach((end, index) => {
    const place = Math.round((end - first) / grid.columnSeconds)
    if (place >= 0 && place < count) source[place] = index
  })
  return { ends, source }
}

function colourTicks(grid: HeatGrid, largest: number): { tickvals: number[]; ticktext: string[] } {
  const top = cellActivity(grid, largest) ?? grid.unit
  const tickvals = [0]
  const ticktext = ['idle']
  for (let power = Math.ceil(Math.log10(grid.unit)); power <= Math.floor(Math.log10(top) + 1e-9); power += 1) {
    const code = activityCode(grid, 10 ** power)
    if (code < largest * 0.08) continue
    tickvals.push(code)
    ticktext.push(formatActivity(grid.measure, 10 ** power))
  }
  return { tickvals, ticktext }
}

/**
 * The cells as Plotly traces. They depend on the grid alone, not on the view: kept by the caller, they let Plotly see
 * that a pan or zoom changed no data.
 */
export function heatmapLayers(grid: HeatGrid, theme: ChartTheme): Data[] {
  const { ends, source } = evenColumns(grid)
  const width = grid.columnEnds.length
  const x = ends.map((end) => plotTime(end - grid.columnSeconds / 2))
  const y = grid.rows.map((_, row) => (row + 0.5) * grid.rowsPerCell)
  const activity: (number | null)[][] = []
  const special: (number | null)[][] = []
  let anySpecial = false
  grid.rows.forEach((_, row) => {
    const codes = source.map((column) =>
      column === null ? cellNotCollected : (grid.cells[row * width + column] ?? cellNotCollected),
    )
    activity.push(codes.map((code) => (code <= cellMaximum ? code : null)))
    const marks = codes.map((code) => (code === cellNotResident ? 0 : code === cellUnsampled ? 1 : null))
    anySpecial ||= marks.some((mark) => mark !== null)
    special.push(marks)
  })
  const largest = largestCode(grid)
  const common = { type: 'heatmap' as const, x, y, hoverongaps: true, zsmooth: false as const }
  const drawn: Data[] = [
    {
      ...common,
      z: activity,
      zmin: 0,
      zmax: largest,
      colorscale: inferno,
      hoverinfo: 'none',
      colorbar: {
        title: { text: plotText(measureLabel(grid.measure)), side: 'right', font: { size: 11 } },
        thickness: 8,
        outlinewidth: 0,
        len: 0.94,
        y: 0.47,
        xpad: 8,
        tickfont: { size: 11, color: theme.dimmed },
        ...colourTicks(grid, largest),
      },
    },
  ]
  if (anySpecial) {
    drawn.push({
      ...common,
      z: special,
      zmin: 0,
      zmax: 1,
      colorscale: [
        [0, theme.notResident],
        [1, theme.unsampled],
      ],
      showscale: false,
      hoverinfo: 'skip',
    })
  }
  drawn.push({
    type: 'heatmap',
    x,
    y: [0],
    z: [source.map((column) => (column === null ? null : (grid.knownShare[column] ?? null)))],
    yaxis: 'y2',
    zmin: 0,
    zmax: 1,
    colorscale: [
      [0, theme.absent],
      [1, theme.dimmed],
    ],
    showscale: false,
    hoverinfo: 'skip',
  })
  return drawn
}
