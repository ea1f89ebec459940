import type { Data } from 'plotly.js'
import type { RatioParts } from '../../api/_generated/schema'
import { costColours, tierColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatBytes } from '../../lib/units/units'
import type { ChartFigure } from '../chartFigure'
import { axisTitle, rowsFromTheTop, horizontalBarLayout } from '../horizontalBars'

type Part = RatioParts['parts'][number]

const gib = 1024 ** 3

const partLabels: Record<Part['name'], string> = {
  hot: 'Hot memory',
  moving: 'Moving set',
  loss_target: 'Loss target',
  sold_ratio: 'Up to a sold ratio',
  headroom: 'Demotion headroom',
  growth: 'Growth',
}

/** The name of a part of the DRAM that is advised. */
export function ratioPartLabel(name: Part['name']): string {
  return partLabels[name]
}

/** Bytes with their sign: `+12 GiB`, `−3 GiB`. */
export function signedBytes(bytes: number): string {
  if (bytes === 0) return '0 B'
  return `${bytes < 0 ? '−' : '+'}${formatBytes(Math.abs(bytes))}`
}

/** Parts that are measured and not zero, from where the last one ended. */
export function stepsOf(parts: RatioParts): { part: Part; start: number; end: number }[] {
  let end = 0
  return parts.parts.flatMap((part) => {
    if (part.bytes === null || Math.abs(part.bytes) < 1) return []
    const start = end
    end += part.bytes
    return [{ part, start, end }]
  })
}

/** From hot memory to the DRAM of the ratio: one bar per part, whiskers for its interval, the total with its ends. */
export function ratioWaterfallFigure(parts: RatioParts, theme: ChartTheme): ChartFigure {
  const steps = stepsOf(parts)
  const total = { lo: parts.lo_bytes / gib, value: parts.dram_bytes / gib, hi: parts.hi_bytes / gib }
  const names = [...steps.map(({ part }) => partLabels[part.name]), `DRAM at ${parts.name}`]
  const texts = [...steps.map(({ part }) => signedBytes(part.bytes ?? 0)), formatBytes(parts.dram_bytes)]
  // Plotly draws no whisker where its length is no number; one of zero length would look like an interval.
  const off = (from: number | null, to: number | null) =>
    from === null || to === null ? Number.NaN : (to - from) / gib
  const ends = [
    ...steps.map(({ part }) => rangeText(part.lo_bytes, part.hi_bytes)),
    `, between ${formatBytes(parts.lo_bytes)} (${plotText(parts.lo_name)}) and ${formatBytes(parts.hi_bytes)} (${plotText(parts.hi_name)})`,
  ]
  const bar: Data = {
    type: 'bar',
    orientation: 'h',
    y: rowsFromTheTop(names),
    base: [...steps.map(({ start }) => start / gib), 0],
    x: [...steps.map(({ part }) => (part.bytes ?? 0) / gib), total.value],
    error_x: {
      type: 'data',
      symmetric: false,
      array: [...steps.map(({ part }) => off(part.bytes, part.hi_bytes)), total.hi - total.value],
      arrayminus: [...steps.map(({ part }) => off(part.lo_bytes, part.bytes)), total.value - total.lo],
      color: theme.text,
      thickness: 1.2,
      width: 4,
    },
    customdata: names.map((name, index) => `${plotText(name)}: ${texts[index] ?? ''}${ends[index] ?? ''}`),
    hovertemplate: '%{customdata}<extra></extra>',
    marker: {
      color: [
        ...steps.map(({ part }) => ((part.bytes ?? 0) < 0 ? costColours.less : tierColour('dram'))),
        costColours.total,
      ],
      line: { width: 0 },
    },
  }
  return {
    data: [bar],
    layout: horizontalBarLayout(
      theme,
      142,
      names.map((name, index) => `${plotText(name)}<br><b>${texts[index] ?? ''}</b>`),
      { rangemode: 'tozero', nticks: 6, title: axisTitle('GiB of one host') },
    ),
    table: {
      columns: ['part', 'bytes', 'lower (bytes)', 'upper (bytes)', 'source'],
      rows: [
        ...parts.parts.map((part) => [partLabels[part.name], part.bytes, part.lo_bytes, part.hi_bytes, part.why]),
        [`DRAM at ${parts.name}`, parts.dram_bytes, parts.lo_bytes, parts.hi_bytes, 'the sum'],
      ],
    },
  }
}

function rangeText(lo: number | null, hi: number | null): string {
  return lo === null || hi === null ? '' : ` (${formatBytes(lo)} – ${formatBytes(hi)})`
}
