import type { Data, Layout } from 'plotly.js'
import { middleCut, plotText } from '../../lib/escape'
import {
  activityCode,
  cellActivity,
  cellMaximum,
  cellNotResident,
  cellState,
  cellUnsampled,
  formatActivity,
  largestCode,
  measureLabel,
  type HeatGrid,
} from '../../lib/heatGrid'
import { inferno, type ChartTheme } from '../../lib/palette'
import { formatUtc, plotTime } from '../../lib/time'
import type { Box } from '../../lib/urlState'
import { axis, baseLayout, timeAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { labelsInView, lanes, mappings } from './lanes'

/** What the viewer looks at, has selected, and does with the pointer. */
export interface HeatmapView {
  box: Box
  selection: Box | null
  brush: boolean
  height: number
  width: number
}

/** Margins in pixels for a chart of this width; fixed, so that a pointer's place can be told without asking Plotly. */
export function heatmapMargins(width: number): { l: number; r: number; t: number; b: number } {
  return width < 640 ? { l: 92, r: 64, t: 8, b: 40 } : { l: 168, r: 84, t: 8, b: 40 }
}

/** The share of the plot's height that the regions take; the coverage strip has the rest. */
export const regionShare = 0.94

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
    const codes = source.map((column) => (column === null ? 255 : (grid.cells[row * width + column] ?? 255)))
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

function decorations(grid: HeatGrid, view: HeatmapView, theme: ChartTheme): Partial<Layout> {
  const { box, selection } = view
  const margins = heatmapMargins(view.width)
  const inner = view.height - margins.t - margins.b
  const borders = lanes(grid)
    .slice(1)
    .filter((lane) => lane.r0 > box.r0 && lane.r0 < box.r1)
    .map((lane) => ({
      type: 'line' as const,
      xref: 'paper' as const,
      yref: 'y' as const,
      x0: 0,
      x1: 1,
      y0: lane.r0,
      y1: lane.r0,
      line: { color: theme.text, width: 1.5 },
    }))
  const rectangle =
    selection === null
      ? []
      : [
          {
            type: 'rect' as const,
            xref: 'x' as const,
            yref: 'y' as const,
            x0: plotTime(selection.t0),
            x1: plotTime(selection.t1),
            y0: selection.r0,
            y1: selection.r1,
            line: { color: '#ffffff', width: 2 },
            fillcolor: 'rgba(255,255,255,0.12)',
          },
        ]
  return {
    shapes: [...borders, ...rectangle],
    annotations: [
      ...labelsInView(lanes(grid), box.r0, box.r1, inner * regionShare, 30).map(({ label, at }) => ({
        xref: 'paper' as const,
        yref: 'y' as const,
        x: 0,
        y: at,
        xshift: -margins.l + 8,
        text: `<b>${plotText(label)}</b>`,
        textangle: -90 as unknown as 'auto',
        showarrow: false,
        font: { size: 11, color: theme.text },
      })),
      {
        xref: 'paper' as const,
        yref: 'paper' as const,
        x: 0,
        y: 1,
        xanchor: 'right' as const,
        yanchor: 'top' as const,
        xshift: -6,
        text: 'coverage',
        showarrow: false,
        font: { size: 10, color: theme.dimmed },
      },
    ],
  }
}

/** The heatmap: time across, address regions down in lanes of one page kind, activity as log colour. */
export function heatmapFigure(grid: HeatGrid, view: HeatmapView, theme: ChartTheme, layers = heatmapLayers(grid, theme)): ChartFigure {
  const { box } = view
  const margins = heatmapMargins(view.width)
  const inner = view.height - margins.t - margins.b
  const longest = view.width < 640 ? 8 : 20
  const labels = labelsInView(mappings(grid), box.r0, box.r1, inner * regionShare)
  return {
    data: layers,
    layout: {
      ...baseLayout(theme),
      margin: { ...margins, pad: 0 },
      plot_bgcolor: theme.absent,
      hovermode: 'closest',
      dragmode: view.brush ? 'drawrect' : 'pan',
      newshape: { line: { color: '#ffffff', width: 2 }, fillcolor: 'rgba(255,255,255,0.12)', fillrule: 'evenodd' },
      xaxis: { ...timeAxis(theme, box.t0, box.t1), anchor: 'y', showspikes: false },
      yaxis: {
        ...axis(theme),
        domain: [0, regionShare],
        range: [box.r1, box.r0],
        showgrid: false,
        zeroline: false,
        tickmode: 'array',
        tickvals: labels.map(({ at }) => at),
        ticktext: labels.map(({ label }) => plotText(middleCut(label, longest))),
        tickfont: { size: 11, color: theme.text },
      },
      yaxis2: { domain: [0.965, 1], fixedrange: true, visible: false, range: [-0.5, 0.5] },
      ...decorations(grid, view, theme),
    },
    // Half a million cells are spelled out only when someone asks for them.
    get table() {
      return heatmapTable(grid)
    },
  }
}

function heatmapTable(grid: HeatGrid) {
  const width = grid.columnEnds.length
  return {
    columns: [
      'kind',
      'mapping',
      'offset (B)',
      'size (B)',
      ...grid.columnEnds.map((end) => formatUtc(new Date(end * 1000))),
    ],
    rows: grid.rows.map((row, index) => [
      row.kind,
      row.mapping,
      row.offsetBytes,
      row.sizeBytes,
      ...grid.columnEnds.map((_, column) => {
        const code = grid.cells[index * width + column] ?? 255
        return cellActivity(grid, code) ?? cellState(code)
      }),
    ]),
  }
}
