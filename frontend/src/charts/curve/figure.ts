import type { Data, Layout } from 'plotly.js'
import type { Ratio, ServedCurve, Curve } from '../../api/_generated/schema'
import { seriesColour, translucent, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatRatio } from '../../lib/units/units'
import { bandBetween, axis, baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { besideOpacity, valuesAt, type Beside } from '../ghost'

type Shown = Pick<Curve, 'curves' | 'at_ratios'>

/** What the advice adds to the curve; absent while it loads or where it is refused. */
export type CurveAdvice = Pick<Ratio, 'chosen' | 'range' | 'sweep' | 'loss_target'>

/** The ratio to mark: the advised one, else the likeliest of the range; null where that is all DRAM or none is given. */
function markOf({ chosen, range }: CurveAdvice): { share: number; text: string } | null {
  if (chosen !== null) return { share: chosen.dram_ratio, text: `advised ${chosen.name}` }
  if (range === null || range.likely === null) return null
  return { share: range.likely_dram_ratio, text: `most likely ${range.likely}` }
}

/** The colour of a curve; the same in legend and plot, whichever curves there are. */
export function curveColour(name: ServedCurve['name']): string {
  return seriesColour(name === 'top_density' ? 0 : 1)
}

/** Loss at a DRAM share, median and upper, linear between the points of the sweep; null outside of it. */
export function lossAt(sweep: Ratio['sweep'], share: number): { median: number; upper: number } | null {
  if (sweep === null) return null
  const { dram_ratio: shares, loss_median: medians, loss_upper: uppers } = sweep
  const above = shares.findIndex((candidate) => candidate >= share)
  const [x1, m1, u1] = [shares[above], medians[above], uppers[above]]
  if (x1 === undefined || m1 === undefined || u1 === undefined) return null
  const [x0, m0, u0] = [shares[above - 1], medians[above - 1], uppers[above - 1]]
  if (x0 === undefined || m0 === undefined || u0 === undefined) return x1 === share ? { median: m1, upper: u1 } : null
  const part = (share - x0) / (x1 - x0)
  return { median: m0 + part * (m1 - m0), upper: u0 + part * (u1 - u0) }
}

/** The smallest DRAM share from which on the upper loss keeps the target; null where none does, 0 where all do. */
export function limitShare(sweep: Ratio['sweep'], target: number): number | null {
  if (sweep === null) return null
  const last = sweep.loss_upper.findLastIndex((loss) => loss > target)
  if (last < 0) return 0
  return sweep.dram_ratio[last + 1] ?? null
}

function hoverTexts(curve: ServedCurve, advice: CurveAdvice | null): string[] {
  const level = formatRatio(curve.level ?? 0.95)
  return curve.dram_ratios.map((share, index) => {
    const served = curve.served[index] ?? null
    if (served === null) return 'no value'
    const [lo, hi] = [curve.lo[index] ?? null, curve.hi[index] ?? null]
    const band = lo === null || hi === null ? '' : ` (${level}: ${formatRatio(lo)} – ${formatRatio(hi)})`
    const loss = advice === null || curve.name !== 'top_density' ? null : lossAt(advice.sweep, share)
    const cost =
      loss === null ? '' : `<br>loss ${formatRatio(loss.median)}, at most ${formatRatio(loss.upper)} (one-sided 95 %)`
    return `${formatRatio(served)}${band}${cost}`
  })
}

function bandOf(curve: ServedCurve, colour: string): Data[] {
  const known = curve.dram_ratios.flatMap((share, index) => {
    const [lo, hi] = [curve.lo[index] ?? null, curve.hi[index] ?? null]
    return lo === null || hi === null ? [] : [{ x: share * 100, lo: lo * 100, hi: hi * 100 }]
  })
  return bandBetween(known, colour)
}

function lineOf(curve: ServedCurve, advice: CurveAdvice | null): Data {
  const isBest = curve.name === 'top_density'
  const colour = curveColour(curve.name)
  return {
    type: 'scatter',
    mode: 'lines+markers',
    name: plotText(curve.label),
    x: curve.dram_ratios.map((share) => share * 100),
    y: curve.served.map((served) => (served === null ? null : served * 100)),
    customdata: hoverTexts(curve, advice),
    hovertemplate: '%{customdata}',
    connectgaps: false,
    line: { color: colour, width: isBest ? 2.2 : 1.5, dash: isBest ? 'solid' : 'dash' },
    marker: { size: isBest ? 4.5 : 3, color: colour },
  }
}

/** The other side's curve of a name, dimmed: dashed, and dotted where this side's own is dashed. */
function besideLine(curve: ServedCurve, label: string): Data {
  return {
    type: 'scatter',
    mode: 'lines',
    name: plotText(`${curve.label}, ${label}`),
    x: curve.dram_ratios.map((share) => share * 100),
    y: curve.served.map((served) => (served === null ? null : served * 100)),
    customdata: hoverTexts(curve, null),
    hovertemplate: '%{customdata}',
    connectgaps: false,
    opacity: besideOpacity,
    line: { color: curveColour(curve.name), width: 1.8, dash: curve.name === 'top_density' ? 'dash' : 'dot' },
  }
}

/** What each of the other side's curves serves at this side's shares of DRAM; null where it was not computed there. */
function besideColumns(beside: Beside<Shown> | null, shares: number[]): { label: string; values: (number | null)[] }[] {
  return (beside?.answer?.curves ?? []).map((curve) => ({
    label: `${curve.label}, ${beside?.label ?? ''} (ratio of ${curve.measure.replaceAll('_', ' ')})`,
    values: valuesAt(shares, { places: curve.dram_ratios, values: curve.served }),
  }))
}

/** The area that breaks the loss target, and the line of the advised ratio. */
function adviceShapes(advice: CurveAdvice | null, theme: ChartTheme): Pick<Layout, 'shapes' | 'annotations'> {
  if (advice === null) return { shapes: [], annotations: [] }
  const limit = limitShare(advice.sweep, advice.loss_target)
  const from = advice.sweep?.dram_ratio[0] ?? 0
  const to = limit ?? 1
  const across = { xref: 'x' as const, yref: 'paper' as const, y0: 0, y1: 1 }
  const note = { xref: 'x' as const, yref: 'paper' as const, showarrow: false, yanchor: 'bottom' as const }
  const breaks = advice.sweep !== null && to > from
  const mark = markOf(advice)
  return {
    shapes: [
      ...(breaks
        ? [
            {
              ...across,
              type: 'rect' as const,
              x0: 0,
              x1: to * 100,
              line: { width: 0 },
              fillcolor: translucent(theme.beyond, 0.09),
              layer: 'below' as const,
            },
            { ...across, type: 'line' as const, x0: to * 100, x1: to * 100, line: { color: theme.beyond, width: 1 } },
          ]
        : []),
      ...(mark === null
        ? []
        : [
            {
              ...across,
              type: 'line' as const,
              x0: mark.share * 100,
              x1: mark.share * 100,
              line: { color: theme.accent, width: 2 },
            },
          ]),
    ],
    annotations: [
      ...(breaks
        ? [
            {
              ...note,
              x: 0,
              y: 0,
              xanchor: 'left' as const,
              xshift: 6,
              text: `may lose more than ${formatRatio(advice.loss_target)}`,
              font: { size: 11, color: theme.beyond },
            },
          ]
        : []),
      ...(mark === null
        ? []
        : [
            {
              ...note,
              x: mark.share * 100,
              y: 0,
              xanchor: 'left' as const,
              xshift: 6,
              text: `<b>${plotText(mark.text)}</b>`,
              font: { size: 12, color: theme.accent },
            },
          ]),
    ],
  }
}

/**
 * Accesses that DRAM serves against its share of memory: the best static placement with its band, LRU as a second
 * line, ratios of machines as ticks above, the advised or likeliest one as a line, and where the loss target may break as an area.
 * The other side's curves are dimmed.
 */
export function curveFigure(
  answer: Shown,
  theme: ChartTheme,
  advice: CurveAdvice | null,
  beside: Beside<Shown> | null = null,
): ChartFigure {
  const ratios = answer.at_ratios
  const shares = answer.curves[0]?.dram_ratios ?? []
  const others = besideColumns(beside, shares)
  return {
    data: [
      ...answer.curves.flatMap((curve) => bandOf(curve, curveColour(curve.name))),
      ...answer.curves.map((curve) => lineOf(curve, advice)),
      ...(beside?.answer?.curves ?? []).map((curve) => besideLine(curve, beside?.label ?? '')),
      // An axis is drawn only where a trace stands on it.
      { type: 'scatter', mode: 'lines', x: [0], y: [null], xaxis: 'x2', hoverinfo: 'skip' },
    ],
    layout: {
      ...baseLayout(theme),
      ...adviceShapes(advice, theme),
      margin: { l: 56, r: 20, t: 34, b: 46, pad: 0 },
      dragmode: false,
      xaxis: titledAxis(theme, 'DRAM, % of memory', {
        range: [0, 102],
        tickvals: [0, 20, 40, 60, 80, 100],
        hoverformat: '.3~g',
      }),
      xaxis2: {
        ...axis(theme),
        overlaying: 'x',
        side: 'top',
        fixedrange: true,
        range: [0, 102],
        tickmode: 'array',
        tickvals: ratios.map((at) => at.dram_ratio * 100),
        ticktext: ratios.map((at) => plotText(at.ratio)),
        ticks: 'outside',
        ticklen: 4,
        tickangle: 0,
        showgrid: true,
        griddash: 'dot',
        zeroline: false,
      },
      yaxis: titledAxis(theme, '% served from DRAM', {
        range: [0, 101],
        tickvals: [0, 25, 50, 75, 100],
      }),
    },
    table: {
      columns: [
        'DRAM (ratio of memory)',
        ...answer.curves.flatMap((curve) => [
          `${curve.label}, served (ratio of ${curve.measure.replaceAll('_', ' ')})`,
          `${curve.label}, lower (ratio)`,
          `${curve.label}, upper (ratio)`,
        ]),
        ...others.map(({ label }) => label),
      ],
      rows: shares.map((share, index) => [
        share,
        ...answer.curves.flatMap((curve) => [
          curve.served[index] ?? null,
          curve.lo[index] ?? null,
          curve.hi[index] ?? null,
        ]),
        ...others.map(({ values }) => values[index] ?? null),
      ]),
    },
  }
}
