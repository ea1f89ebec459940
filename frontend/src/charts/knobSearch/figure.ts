import type { Data } from 'plotly.js'
import type { SweepSearch } from '../../api/_generated/schema'
import { seriesColour, translucent, type ChartTheme } from '../../lib/palette'
import { settingsText } from '../../lib/simulate'
import { plotText } from '../../lib/text/escape'
import { formatRatio, threeDigits } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { lossAxis } from '../lossAxis'

/** What the flatness of an optimum means, in one sentence; null where nothing was found. */
export function flatnessText(search: SweepSearch): string | null {
  const flat = search.flatness
  if (search.best === null || flat === null) return null
  const spans = Object.entries(flat.spans).map(
    ([key, [lo, hi]]) => `${key} ${lo === hi ? threeDigits(lo) : `${threeDigits(lo)} to ${threeDigits(hi)}`}`,
  )
  const span = spans.length === 0 ? '' : `: ${spans.join(', ')}`
  const share = flat.n === 0 ? 0 : flat.n_within / flat.n
  const word = share >= 0.5 ? 'Flat' : share >= 0.2 ? 'Moderately flat' : 'Sharp'
  const more = formatRatio(flat.within_ratio)
  const edge =
    flat.at_edge.length === 0
      ? ''
      : ` The best ${flat.at_edge.join(', ')} is the last that was tried: try values beyond it.`
  return `${word}: ${flat.n_within} of ${flat.n} settings are as good as the best, within ${more} of its loss or a difference too small to tell${span}.${edge}`
}

/** The values of a setting that were tried, in order. */
function triedValues(search: SweepSearch, key: string): number[] {
  const values = new Set(search.points.flatMap((point) => point.settings[key] ?? []))
  return [...values].sort((a, b) => a - b)
}

/** Whether values span so much that a linear axis would crowd them. */
function isWide(values: number[]): boolean {
  const [lowest, highest] = [values[0] ?? 0, values.at(-1) ?? 0]
  return lowest > 0 && highest / lowest >= 20
}

function hoverText(point: SweepSearch['points'][number]): string {
  const moves = point.tier_move_mb_per_s === null ? 'unknown' : `${threeDigits(point.tier_move_mb_per_s)} MB/s`
  return `${plotText(settingsText(point.settings))}<br>loss ${formatRatio(point.loss ?? 0)}<br>tier moves ${moves}`
}

/**
 * Loss over one setting of a knob search: every run as a point, the best over the other settings as a line, and the
 * span within which the loss is nearly the best, shaded.
 */
export function knobSearchFigure(search: SweepSearch, theme: ChartTheme, key: string): ChartFigure {
  const points = search.points.filter((point) => point.loss !== null && point.settings[key] !== undefined)
  const values = triedValues(search, key)
  const colour = seriesColour(0)
  const least = values.map((value) =>
    Math.min(...points.filter((point) => point.settings[key] === value).map((point) => point.loss ?? Infinity)),
  )
  const span = search.flatness?.spans[key]
  const isBest = (point: SweepSearch['points'][number]) => point.run_id === search.best?.run_id
  const data: Data[] = [
    {
      type: 'scatter',
      mode: 'lines',
      name: 'least loss at this value',
      x: values,
      y: least.map((loss) => (Number.isFinite(loss) ? loss * 100 : null)),
      hoverinfo: 'skip',
      line: { color: colour, width: 1.5 },
    },
    {
      type: 'scatter',
      mode: 'markers',
      name: 'runs',
      x: points.map((point) => point.settings[key] ?? null),
      y: points.map((point) => (point.loss ?? 0) * 100),
      customdata: points.map(hoverText),
      hovertemplate: '%{customdata}<extra></extra>',
      marker: {
        color: points.map((point) => (isBest(point) ? theme.accent : colour)),
        symbol: points.map((point) => (isBest(point) ? 'star' : 'circle')),
        size: points.map((point) => (isBest(point) ? 14 : 7)),
      },
    },
  ]
  return {
    data,
    layout: {
      ...baseLayout(theme),
      hovermode: 'closest',
      dragmode: false,
      margin: { l: 56, r: 20, t: 10, b: 46, pad: 0 },
      shapes:
        span === undefined
          ? []
          : [
              {
                type: 'rect',
                xref: 'x',
                yref: 'paper',
                x0: span[0],
                x1: span[1],
                y0: 0,
                y1: 1,
                line: { width: 0 },
                fillcolor: translucent(theme.accent, 0.14),
                layer: 'below',
              },
            ],
      annotations: [],
      xaxis: titledAxis(theme, plotText(key), {
        type: isWide(values) ? 'log' : 'linear',
      }),
      yaxis: lossAxis(theme),
    },
    table: {
      columns: [...search.keys, 'loss (ratio)', 'tier moves (MB/s)'],
      rows: search.points.map((point) => [
        ...search.keys.map((name) => point.settings[name] ?? null),
        point.loss,
        point.tier_move_mb_per_s,
      ]),
    },
  }
}
