import type { Layout } from 'plotly.js'
import { cellActivity, cellNotCollected, cellState, type HeatGrid } from '../../lib/heat/heatGrid'
import type { ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { formatUtc, plotTime } from '../../lib/units/time'
import type { Box } from '../../lib/url/urlState'
import { axis, baseLayout, timeAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { markMargin, markShapes, type ChartMark } from '../eventMarks'
import { labelsInView, lanes, mappings } from './lanes'
import { heatmapLayers } from './layers'

/** What the viewer looks at, has selected, and does with the pointer. */
export interface HeatmapView {
  box: Box
  selection: Box | null
  brush: boolean
  height: number
  width: number
  marks: ChartMark[]
}

/** Margins in pixels for a chart of this width; fixed, so that a pointer's place can be told without asking Plotly. */
export function heatmapMargins(width: number): { l: number; r: number; t: number; b: number } {
  return width < 640 ? { l: 92, r: 64, t: markMargin, b: 40 } : { l: 168, r: 84, t: markMargin, b: 40 }
}

/** The share of the plot's height that the regions take; the coverage strip has the rest. */
export const regionShare = 0.94

function decorations(grid: HeatGrid, view: HeatmapView, theme: ChartTheme): Partial<Layout> {
  const { box, selection } = view
  const margins = heatmapMargins(view.width)
  const inner = view.height - margins.t - margins.b
  const events = markShapes(theme, view.marks, box.t0, box.t1)
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
    shapes: [...borders, ...rectangle, ...events.shapes],
    annotations: [
      ...events.annotations,
      ...labelsInView(lanes(grid), box.r0, box.r1, inner * regionShare, 30).map(({ label, at }) => ({
        xref: 'paper' as const,
        yref: 'y' as const,
        x: 0,
        y: at,
        xshift: -margins.l + 8,
        text: `<b>${plotText(label)}</b>`,
        textangle: -90,
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
export function heatmapFigure(
  grid: HeatGrid,
  view: HeatmapView,
  theme: ChartTheme,
  layers = heatmapLayers(grid, theme),
): ChartFigure {
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
        const code = grid.cells[index * width + column] ?? cellNotCollected
        return cellActivity(grid, code) ?? cellState(code)
      }),
    ]),
  }
}
