import type { Annotation, Data, Layout, Shape } from 'plotly.js'
import type { HeatRaster } from '../../lib/heat/heatGrid'
import type { ChartTheme } from '../../lib/palette'
import { middleCut, plotText } from '../../lib/text/escape'
import { plotTime, zoneName } from '../../lib/units/time'
import type { Box } from '../../lib/url/urlState'
import { axis, baseLayout, timeAxis } from '../baseLayout'
import { markMargin, markShapes, type ChartMark } from '../eventMarks'
import { labelsInView, lanes, rowLabels, type RowLabels } from './lanes'

/** What the viewer looks at, has selected, and does with the pointer. */
export interface HeatmapView {
  box: Box
  selection: Box | null
  brush: boolean
  height: number
  width: number
  marks: ChartMark[]
  /** Whether the colour bar stands beside the plot. */
  bar: boolean
  /** Whether all rows stay in view, so that only time moves. */
  rowsFixed: boolean
  /** The colour of a selection's outline, apart from those of the cells. */
  outline: string
}

/** Widths below this have narrow margins, in pixels. */
const narrow = 640

/** Margins in pixels for a chart of this width; fixed, so that a pointer's place can be told without asking Plotly. */
export function heatmapMargins(width: number, bar = true): { l: number; r: number; t: number; b: number } {
  const sides = width < narrow ? { l: 92, r: bar ? 76 : 12 } : { l: 132, r: bar ? 96 : 12 }
  return { ...sides, t: markMargin, b: 40 }
}

/** The share of the plot's height that the regions take; the coverage strip has the rest. */
export const regionShare = 0.94

/** Texts beside the plot: kinds and mappings along their rows, and what the axes show. */
function captions(raster: HeatRaster, view: HeatmapView, labels: RowLabels, theme: ChartTheme): Partial<Annotation>[] {
  const { box } = view
  const margins = heatmapMargins(view.width, view.bar)
  const inner = view.height - margins.t - margins.b
  const upright = (at: number, left: number, text: string, colour: string) => ({
    xref: 'paper' as const,
    yref: 'y' as const,
    x: 0,
    y: at,
    xshift: left - margins.l,
    text,
    textangle: -90,
    showarrow: false,
    font: { size: 11, color: colour },
  })
  const corner = (x: number, y: number, text: string, place: object) => ({
    xref: 'paper' as const,
    yref: 'paper' as const,
    x,
    y,
    text,
    showarrow: false,
    font: { size: 10, color: theme.dimmed },
    ...place,
  })
  return [
    ...labelsInView(lanes(raster), box.r0, box.r1, inner * regionShare, 30).map(({ label, at }) =>
      upright(at, 10, `<b>${plotText(label)}</b>`, theme.text),
    ),
    ...labels.upright.map(({ label, at, pixels }) =>
      upright(at, 28, plotText(middleCut(label, Math.max(6, Math.floor(pixels / 7)))), theme.dimmed),
    ),
    corner(0, 1, 'coverage', { xanchor: 'right', yanchor: 'top', xshift: -6 }),
    corner(0, 0, view.width < narrow ? 'offset' : 'offset in mapping', {
      xanchor: 'right',
      yanchor: 'top',
      xshift: -18,
      yshift: -4,
    }),
    ...(view.bar
      ? [
          corner(1, 0, `time, ${zoneName(new Date(box.t1 * 1000))}`, {
            xanchor: 'left',
            yanchor: 'top',
            xshift: 12,
            yshift: -4,
          }),
        ]
      : []),
  ]
}

function shapesOver(raster: HeatRaster, view: HeatmapView, theme: ChartTheme): Partial<Shape>[] {
  const { box, selection } = view
  const borders = lanes(raster)
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
  if (selection === null) return borders
  return [
    ...borders,
    {
      type: 'rect' as const,
      xref: 'x' as const,
      yref: 'y' as const,
      x0: plotTime(selection.t0),
      x1: plotTime(selection.t1),
      y0: selection.r0,
      y1: selection.r1,
      line: { color: view.outline, width: 2 },
      fillcolor: 'rgba(255,255,255,0.12)',
    },
  ]
}

/** A heatmap: time across, address regions down in lanes of one page kind; `layers` are its cells. */
export function heatmapFigure(
  raster: HeatRaster,
  view: HeatmapView,
  theme: ChartTheme,
  layers: Data[],
): { data: Data[]; layout: Partial<Layout> } {
  const { box } = view
  const margins = heatmapMargins(view.width, view.bar)
  const inner = view.height - margins.t - margins.b
  const labels = rowLabels(raster, box.r0, box.r1, inner * regionShare)
  const events = markShapes(theme, view.marks, box.t0, box.t1)
  return {
    data: layers,
    layout: {
      ...baseLayout(theme),
      margin: { ...margins, pad: 0 },
      plot_bgcolor: theme.absent,
      hovermode: 'closest',
      dragmode: view.brush ? 'drawrect' : 'pan',
      newshape: { line: { color: view.outline, width: 2 }, fillcolor: 'rgba(255,255,255,0.12)', fillrule: 'evenodd' },
      xaxis: { ...timeAxis(theme, box.t0, box.t1), anchor: 'y', showspikes: false },
      yaxis: {
        ...axis(theme),
        domain: [0, regionShare],
        range: [box.r1, box.r0],
        fixedrange: view.rowsFixed,
        showgrid: false,
        zeroline: false,
        ticks: 'outside',
        ticklen: 3,
        tickmode: 'array',
        tickvals: labels.ticks.map(({ at }) => at),
        ticktext: labels.ticks.map(({ label }) => plotText(middleCut(label, view.width < narrow ? 8 : 13))),
        tickfont: { size: 11, color: theme.text },
      },
      yaxis2: { domain: [0.965, 1], fixedrange: true, visible: false, range: [-0.5, 0.5] },
      shapes: [...shapesOver(raster, view, theme), ...events.shapes],
      annotations: [...events.annotations, ...captions(raster, view, labels, theme)],
    },
  }
}
