import type { Data, Layout } from 'plotly.js'
import { translucent, type ChartTheme } from '../lib/palette'
import { formatUtc, plotTime, zoneName } from '../lib/units/time'

const font = "'Inter Variable', system-ui, sans-serif"

/** The layout that all charts start from: quiet grid, no legend (pages draw their own), fixed margins. */
export function baseLayout(theme: ChartTheme): Partial<Layout> {
  return {
    autosize: false,
    margin: { l: 56, r: 16, t: 8, b: 40, pad: 0 },
    paper_bgcolor: theme.surface,
    plot_bgcolor: theme.surface,
    font: { family: font, size: 11, color: theme.dimmed },
    showlegend: false,
    hovermode: 'x unified',
    hoverlabel: {
      bgcolor: theme.surface,
      bordercolor: theme.line,
      font: { family: font, size: 12, color: theme.text },
      align: 'left',
      namelength: 40,
    },
    dragmode: 'zoom',
    xaxis: axis(theme),
    yaxis: { ...axis(theme), fixedrange: true, rangemode: 'tozero' },
  }
}

/** An axis in the theme's colours. */
export function axis(theme: ChartTheme): Partial<Layout['xaxis']> {
  return {
    gridcolor: theme.grid,
    linecolor: theme.line,
    zerolinecolor: theme.line,
    tickcolor: theme.line,
    tickfont: { size: 11, color: theme.dimmed },
    automargin: false,
    separatethousands: true,
  }
}

/** An axis that does not zoom, with what it shows and its unit as title. */
export function titledAxis(theme: ChartTheme, text: string, more: Partial<Layout['yaxis']> = {}) {
  return { ...axis(theme), fixedrange: true, title: { text, font: { size: 11 }, standoff: 6 }, ...more }
}

/** The area between two lines, in y; nothing where there are no points. */
export function bandBetween(points: { x: number; lo: number; hi: number }[], colour: string): Data[] {
  if (points.length === 0) return []
  const back = [...points].reverse()
  return [
    {
      type: 'scatter',
      mode: 'lines',
      x: [...points, ...back].map(({ x }) => x),
      y: [...points.map(({ hi }) => hi), ...back.map(({ lo }) => lo)],
      fill: 'toself',
      fillcolor: translucent(colour, 0.18),
      line: { width: 0 },
      hoverinfo: 'skip',
    },
  ]
}

/** The colour bar beside a chart, with the title that says what colours mean. */
export function colourBar(theme: ChartTheme, title: string) {
  return {
    title: { text: title, side: 'right' as const, font: { size: 11 } },
    thickness: 8,
    outlinewidth: 0,
    tickfont: { size: 11, color: theme.dimmed },
    xpad: 8,
  }
}

/** A time axis over [start, end] in the viewer's zone; the range is fixed, so that streaming data does not move it. */
export function timeAxis(theme: ChartTheme, startSeconds: number, endSeconds: number): Partial<Layout['xaxis']> {
  return {
    ...axis(theme),
    type: 'date',
    range: [plotTime(startSeconds), plotTime(endSeconds)],
    showgrid: false,
    ticks: 'outside',
    ticklen: 4,
    tickangle: 0,
    tickformatstops: [
      { dtickrange: [null, 60_000], value: '%H:%M:%S\n%d %b' },
      { dtickrange: [60_000, 86_400_000 - 1], value: '%H:%M\n%d %b' },
      { dtickrange: [86_400_000 - 1, null], value: '%d %b\n%Y' },
    ],
    hoverformat: `%a %d %b %H:%M ${zoneName(new Date(endSeconds * 1000))}`,
    showspikes: true,
    spikemode: 'across',
    spikethickness: 1,
    spikedash: 'solid',
    spikecolor: theme.line,
  }
}

/** A trace that draws nothing and adds the UTC time to the hover box. It lives on an axis of its own. */
export function utcHover(times: number[]): { trace: Data; axis: Partial<Layout['yaxis']> } {
  return {
    trace: {
      type: 'scatter',
      mode: 'lines',
      x: times.map(plotTime),
      y: times.map(() => 0),
      yaxis: 'y9',
      customdata: times.map((time) => formatUtc(new Date(time * 1000))),
      hovertemplate: '%{customdata}<extra></extra>',
      line: { width: 0, color: 'rgba(0,0,0,0)' },
      showlegend: false,
    },
    axis: { overlaying: 'y', visible: false, fixedrange: true, range: [0, 1] },
  }
}

/** How bars look that stand for nothing measured. */
export function hatched(theme: ChartTheme) {
  return {
    color: theme.absent,
    line: { width: 0 },
    pattern: {
      shape: '/' as const,
      fgcolor: theme.hatch,
      bgcolor: theme.absent,
      size: 7,
      solidity: 0.18,
      fillmode: 'replace' as const,
    },
  }
}

/**
 * Hatched columns where no line has a value, so that a gap is seen as such and not as a quiet stretch. They stand on
 * the axis of utcHover. `stepSeconds` is the width of a bucket; times are the buckets' ends.
 */
export function gapColumns(times: number[], lines: (number | null)[][], stepSeconds: number, theme: ChartTheme): Data {
  const gaps = times.filter((_, index) => lines.every((values) => (values[index] ?? null) === null))
  return {
    type: 'bar',
    x: gaps.map(plotTime),
    y: gaps.map(() => 1),
    width: stepSeconds * 1000,
    offset: -stepSeconds * 1000,
    yaxis: 'y9',
    hoverinfo: 'skip',
    marker: hatched(theme),
  }
}

/** The width of a bucket: as stated, or at raw resolution the usual distance of two times. */
export function stepOf(times: number[], stepSeconds: number | null): number {
  return stepSeconds ?? (medianStep(times) || 60)
}

/**
 * Times and values with a null where two neighbours lie further apart than 2.5 steps, so that a stretch without rows
 * is drawn as a gap and never bridged. Times are Unix seconds.
 */
export function breakGaps(
  times: number[],
  values: (number | null)[],
  stepSeconds: number | null,
): { times: number[]; values: (number | null)[] } {
  const step = stepSeconds ?? medianStep(times)
  const out = { times: [] as number[], values: [] as (number | null)[] }
  times.forEach((time, index) => {
    const before = times[index - 1]
    if (before !== undefined && step > 0 && time - before > 2.5 * step) {
      out.times.push(before + step)
      out.values.push(null)
    }
    out.times.push(time)
    out.values.push(values[index] ?? null)
  })
  return out
}

function medianStep(times: number[]): number {
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? time))
  steps.sort((a, b) => a - b)
  return steps[Math.floor(steps.length / 2)] ?? 0
}

/** A table of series over time: UTC first, one column per series. */
export function seriesTable(times: number[], series: { label: string; values: (number | null)[] }[]) {
  return {
    columns: ['time (UTC)', ...series.map((line) => line.label)],
    rows: times.map((time, index) => [
      formatUtc(new Date(time * 1000)),
      ...series.map((line) => line.values[index] ?? null),
    ]),
  }
}
