import type { Data, Layout } from 'plotly.js'
import type { SweepRunSeries, SweepHeat } from '../../api/_generated/schema'
import { inferno, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { axis as axisStyle, baseLayout, colourBar } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { countWord, heatTicks } from './heatTicks'
import { isUsed, joined, kindsOf, replayRows } from './rows'

/** Heights in pixels: the heat, then each row, with gaps between them. */
const heatHeight = 200
const rowHeight = 112
const gap = 20
const margins = { t: 6, b: 44 }

/** Room at the sides: for tick texts, and for the colour bar. */
function sides(narrow: boolean): { l: number; r: number } {
  return narrow ? { l: 58, r: 62 } : { l: 76, r: 84 }
}

/** The height of the whole replay. */
export function replayHeight(rows: number, withHeat: boolean): number {
  return margins.t + margins.b + (withHeat ? heatHeight + gap : 0) + rows * rowHeight + (rows - 1) * gap
}

function heatTrace(heat: SweepHeat, minutes: number[], bottom: number, theme: ChartTheme): Data {
  return {
    type: 'heatmap',
    x: minutes,
    y: heat.rows.map((_, index) => index),
    z: heat.accesses,
    zmin: 0,
    colorscale: inferno,
    hoverongaps: false,
    customdata: heat.rows.map((row, index) =>
      minutes.map(
        (_, column) =>
          `${plotText(row.label)}, ${plotText(row.kind)}, ${row.pages.toLocaleString('en-US')} pages<br>${countWord(2 ** (heat.accesses[index]?.[column] ?? 0) - 1)} accesses`,
      ),
    ),
    hovertemplate: '%{customdata}<extra>trace</extra>',
    colorbar: {
      ...colourBar(theme, 'accesses'),
      len: 1 - bottom,
      y: (1 + bottom) / 2,
      ...heatTicks(heat.accesses),
    },
  }
}

/** Where bands of one kind begin, as ticks of the heat's axis. */
function kindTicks(heat: SweepHeat): { tickvals: number[]; ticktext: string[] } {
  const kinds = [...new Set(heat.rows.map((row) => row.kind))]
  const middles = kinds.map((kind) => {
    const places = heat.rows.flatMap((row, index) => (row.kind === kind ? [index] : []))
    return ((places[0] ?? 0) + (places.at(-1) ?? 0)) / 2
  })
  return { tickvals: middles, ticktext: kinds.map(plotText) }
}

/**
 * One run over the time of its trace: the trace's heat on top, under it what the policy made of it. All rows share one
 * time axis in minutes from the trace's beginning.
 */
export function replayFigure(
  series: SweepRunSeries,
  theme: ChartTheme,
  heat: SweepHeat | null,
  intervalSeconds: number,
  narrow = false,
): ChartFigure {
  const rows = replayRows(series)
  const minutesOf = (intervals: number[]) => intervals.map((interval) => (interval * intervalSeconds) / 60)
  const minutes = minutesOf(series.interval)
  const inner = replayHeight(rows.length, heat !== null) - margins.t - margins.b
  const data: Data[] = []
  const axes: Record<string, Partial<Layout['yaxis']>> = {}
  const heatBottom = heat === null ? 1 : 1 - heatHeight / inner
  if (heat !== null) {
    data.push(heatTrace(heat, minutesOf(heat.interval), heatBottom, theme))
    axes['yaxis'] = {
      ...axisStyle(theme),
      domain: [heatBottom, 1],
      fixedrange: true,
      showgrid: false,
      zeroline: false,
      range: [heat.rows.length - 0.5, -0.5],
      tickmode: 'array',
      ...kindTicks(heat),
      title: { text: 'trace', font: { size: 11 }, standoff: 4 },
    }
  }
  rows.forEach((row, index) => {
    const top = (heat === null ? inner : inner - heatHeight - gap) - index * (rowHeight + gap)
    const name = heat === null && index === 0 ? 'y' : `y${index + 2}`
    axes[name.replace('y', 'yaxis')] = {
      ...axisStyle(theme),
      domain: [Math.max(0, (top - rowHeight) / inner), Math.min(1, top / inner)],
      fixedrange: true,
      rangemode: 'tozero',
      nticks: 4,
      title: { text: row.title, font: { size: 11 }, standoff: 4 },
      ...(row.percent === true ? { range: [0, 102] } : {}),
      ...(row.lines.every((line) => !isUsed(line.values)) ? { range: [0, 1] } : {}),
    }
    for (const line of row.lines) {
      data.push({
        type: 'scatter',
        mode: 'lines',
        name: line.name,
        x: minutes,
        y: line.values,
        yaxis: name as 'y2',
        connectgaps: false,
        hovertemplate: row.format,
        line: { color: line.colour, width: line.name === 'all' ? 2.2 : 1.5, dash: line.dash ?? 'solid' },
      })
    }
  })
  return {
    data,
    layout: {
      ...baseLayout(theme),
      ...axes,
      margin: { ...margins, ...sides(narrow), pad: 0 },
      dragmode: 'zoom',
      // One hover line through all rows.
      hoversubplots: 'axis',
      xaxis: {
        ...axisStyle(theme),
        range: [0, (minutes.at(-1) ?? 0) + (joined(series) * intervalSeconds) / 60],
        showgrid: false,
        anchor: 'free',
        position: 0,
        ticks: 'outside',
        ticklen: 4,
        showspikes: true,
        spikemode: 'across',
        spikethickness: 1,
        spikedash: 'solid',
        spikecolor: theme.line,
        title: { text: 'minutes into the trace', font: { size: 11 }, standoff: 6 },
        hoverformat: '.3~f',
      },
    } as Partial<Layout>,
    get table() {
      return replayTable(series, minutes)
    },
  }
}

function replayTable(series: SweepRunSeries, minutes: number[]) {
  const kinds = kindsOf(series)
  return {
    columns: [
      'minutes into the trace',
      'local share (ratio)',
      ...kinds.map((kind) => `local share, ${kind} (ratio)`),
      'promoted (pages)',
      'demoted (pages)',
      'ping-pong (pages)',
      'failed promotions (pages)',
      'DRAM free (B)',
      'written to swap (B)',
      'tier moves (MB/s)',
    ],
    rows: minutes.map((minute, index) => [
      minute,
      series.local_ratio[index] ?? null,
      ...kinds.map((kind) => series.local_ratio_by_kind[kind][index] ?? null),
      series.promoted_pages[index] ?? null,
      series.demoted_pages[index] ?? null,
      series.ping_pong_pages[index] ?? null,
      series.failed_promotion_pages[index] ?? null,
      series.dram_free_bytes[index] ?? null,
      series.swap_written_bytes[index] ?? null,
      series.tier_move_mb_per_s[index] ?? null,
    ]),
  }
}
