import type { Data } from 'plotly.js'
import type { Ratio, RatioCandidate } from '../../api/_generated/schema'
import { seriesColour, translucent, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatRatio } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

type Shown = Pick<Ratio, 'sweep' | 'candidates' | 'chosen' | 'loss_target'>

const percent = (values: number[]) => values.map((value) => value * 100)

/** The greatest loss that the chart has room for: enough to see the target, not so much that it vanishes. */
export function lossRange(target: number, uppers: number[]): number {
  const most = Math.max(target * 1.5, ...uppers)
  return Math.min(most * 1.05, Math.max(target * 6, 0.06))
}

function candidateMarks(candidates: RatioCandidate[], chosen: RatioCandidate | null, theme: ChartTheme): Data {
  const shown = candidates.filter(({ loss_upper: loss }) => loss.value !== null)
  return {
    type: 'scatter',
    mode: 'text+markers',
    name: 'ratios',
    x: shown.map(({ dram_ratio: share }) => share * 100),
    y: shown.map(({ loss_upper: loss }) => (loss.value ?? 0) * 100),
    text: shown.map(({ name }) => `  ${plotText(name)}`),
    textposition: 'middle right',
    textfont: { size: 11, color: theme.text },
    cliponaxis: true,
    customdata: shown.map(
      ({ name, loss_median: median, loss_upper: upper, why_not: why }) =>
        `${plotText(name)}: loss ${median.value === null ? 'unknown' : formatRatio(median.value)}, at most ${formatRatio(upper.value ?? 0)}${why.length === 0 ? '' : `<br>${plotText(why.join('; '))}`}`,
    ),
    hovertemplate: '%{customdata}<extra></extra>',
    marker: {
      size: shown.map(({ name }) => (name === chosen?.name ? 11 : 7)),
      symbol: shown.map(({ kept }) => (kept ? 'circle' : 'x-thin')),
      color: shown.map(({ kept }) => (kept ? theme.accent : theme.dimmed)),
      line: { width: 2, color: shown.map(({ kept }) => (kept ? theme.accent : theme.dimmed)) },
    },
  }
}

/** Expected loss of throughput over all DRAM shares: median and upper bound, the target as a line, ratios as points. */
export function sweepFigure(ratio: Shown, theme: ChartTheme): ChartFigure {
  const sweep = ratio.sweep ?? { dram_ratio: [], share_on_slow: [], loss_median: [], loss_upper: [] }
  const colour = seriesColour(0)
  const x = percent(sweep.dram_ratio)
  const texts = sweep.dram_ratio.map(
    (_, index) =>
      `${formatRatio(sweep.loss_median[index] ?? 0)}, at most ${formatRatio(sweep.loss_upper[index] ?? 0)}<br>${formatRatio(sweep.share_on_slow[index] ?? 0)} of accesses on slow memory`,
  )
  const line = { type: 'scatter' as const, mode: 'lines' as const, x }
  return {
    data: [
      {
        ...line,
        name: 'upper 95 %',
        y: percent(sweep.loss_upper),
        hoverinfo: 'skip',
        line: { color: colour, width: 1 },
      },
      {
        ...line,
        name: 'median',
        y: percent(sweep.loss_median),
        fill: 'tonexty',
        fillcolor: translucent(colour, 0.15),
        customdata: texts,
        hovertemplate: '%{customdata}',
        line: { color: colour, width: 2.2 },
      },
      candidateMarks(ratio.candidates, ratio.chosen, theme),
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 56, r: 20, t: 10, b: 46, pad: 0 },
      dragmode: false,
      shapes: [
        {
          type: 'line',
          xref: 'paper',
          yref: 'y',
          x0: 0,
          x1: 1,
          y0: ratio.loss_target * 100,
          y1: ratio.loss_target * 100,
          line: { color: theme.beyond, width: 1.5, dash: 'dash' },
        },
      ],
      annotations: [
        {
          xref: 'paper',
          yref: 'y',
          x: 1,
          y: ratio.loss_target * 100,
          xanchor: 'right',
          yanchor: 'bottom',
          text: `target ${formatRatio(ratio.loss_target)}`,
          showarrow: false,
          font: { size: 11, color: theme.beyond },
        },
      ],
      xaxis: titledAxis(theme, 'DRAM, % of memory', {
        range: [10, 100],
        hoverformat: '.3~g',
        showgrid: false,
      }),
      yaxis: titledAxis(theme, '% of throughput lost', {
        range: [0, lossRange(ratio.loss_target, sweep.loss_upper) * 100],
        nticks: 6,
      }),
    },
    table: {
      columns: [
        'DRAM (ratio of memory)',
        'accesses on slow memory (ratio)',
        'loss, median (ratio)',
        'loss, upper 95 % (ratio)',
      ],
      rows: sweep.dram_ratio.map((share, index) => [
        share,
        sweep.share_on_slow[index] ?? null,
        sweep.loss_median[index] ?? null,
        sweep.loss_upper[index] ?? null,
      ]),
    },
  }
}
