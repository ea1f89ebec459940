import type { Data } from 'plotly.js'
import type { ScatterPoint, Sensitivity } from '../../api/_generated/schema'
import { kindColour, translucent, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { formatUtc } from '../../lib/units/time'
import { formatBytes, formatQuantity, scaleFor } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { besideOpacity, type Beside } from '../ghost'

type Shown = Pick<Sensitivity, 'scatter' | 'fit'>
type Kind = 'anon' | 'file'

const bytesOf = (point: ScatterPoint, kind: Kind): number => (kind === 'anon' ? point.anon_bytes : point.file_bytes)

/** The two ends of the fitted line over the bytes that were seen; none where there is no fit. */
export function fitEnds(answer: Shown, kind: Kind): { bytes: number; throughput: number }[] {
  const fit = answer.fit.find((line) => line.kind === kind)
  const seen = answer.scatter.map((point) => bytesOf(point, kind))
  if (fit === undefined || seen.length === 0) return []
  return [Math.min(...seen), Math.max(...seen)].map((bytes) => ({
    bytes,
    throughput: fit.intercept + fit.slope * bytes,
  }))
}

interface FitLine {
  name: string
  colour: string
  dash: 'solid' | 'dash'
  opacity: number
}

function fitOf(answer: Shown, kind: Kind, divisor: number, { name, colour, dash, opacity }: FitLine): Data[] {
  const ends = fitEnds(answer, kind)
  if (ends.length === 0) return []
  return [
    {
      type: 'scatter',
      mode: 'lines',
      name,
      opacity,
      x: ends.map(({ bytes }) => bytes / divisor),
      y: ends.map(({ throughput }) => throughput),
      hoverinfo: 'skip',
      line: { color: colour, width: 1.5, dash },
    },
  ]
}

/**
 * Throughput against the memory of one kind that DRAM serves: one point per host and interval, with the fitted line.
 * The other side's points are rings, its line is dashed.
 */
export function sensitivityFigure(
  answer: Shown,
  theme: ChartTheme,
  kind: Kind,
  hosts: Map<string, string>,
  beside: Beside<Shown> | null = null,
): ChartFigure {
  const colour = kindColour(kind)
  const points = answer.scatter
  const others = beside?.answer?.scatter ?? []
  const scale = scaleFor('bytes', Math.max(1, ...[...points, ...others].map((point) => bytesOf(point, kind))))
  const name = (point: ScatterPoint): string => hosts.get(point.host_id) ?? point.host_id
  const texts = (shown: ScatterPoint[]) =>
    shown.map(
      (point) =>
        `${plotText(name(point))}, ${formatUtc(new Date(point.at))}<br>${formatBytes(bytesOf(point, kind))} ${kind}, ${formatQuantity(point.throughput, 'count_per_s')}`,
    )
  const otherName = plotText(beside?.label ?? '')
  const rings: Data[] =
    others.length === 0
      ? []
      : [
          {
            type: 'scatter',
            mode: 'markers',
            name: otherName,
            x: others.map((point) => bytesOf(point, kind) / scale.divisor),
            y: others.map((point) => point.throughput),
            customdata: texts(others).map((text) => `${otherName}: ${text}`),
            hovertemplate: '%{customdata}<extra></extra>',
            opacity: besideOpacity,
            marker: { size: 5, color: theme.text, symbol: 'circle-open' },
          },
        ]
  return {
    data: [
      // Below this side's points, which would else be covered.
      ...rings,
      {
        type: 'scatter',
        mode: 'markers',
        name: kind,
        x: points.map((point) => bytesOf(point, kind) / scale.divisor),
        y: points.map((point) => point.throughput),
        customdata: texts(points),
        hovertemplate: '%{customdata}<extra></extra>',
        marker: { size: 5, color: translucent(colour, points.length > 300 ? 0.4 : 0.7) },
      },
      ...fitOf(answer, kind, scale.divisor, { name: 'fit', colour: theme.text, dash: 'solid', opacity: 1 }),
      ...(beside === null || beside.answer === null
        ? []
        : fitOf(beside.answer, kind, scale.divisor, {
            name: `fit, ${otherName}`,
            colour: theme.text,
            dash: 'dash',
            opacity: besideOpacity,
          })),
    ],
    layout: {
      ...baseLayout(theme),
      margin: { l: 64, r: 20, t: 10, b: 46, pad: 0 },
      hovermode: 'closest',
      dragmode: false,
      xaxis: titledAxis(theme, `${kind} memory served from DRAM, ${scale.unit}`, {
        zeroline: false,
      }),
      yaxis: titledAxis(theme, 'throughput, /s', {
        zeroline: false,
      }),
    },
    table: {
      columns: ['side', 'host', 'time (UTC)', 'anon in DRAM (B)', 'file in DRAM (B)', 'throughput (/s)'],
      rows: [
        ...points.map((point) => ({ side: 'here', point })),
        ...others.map((point) => ({ side: beside?.label ?? '', point })),
      ].map(({ side, point }) => [
        side,
        name(point),
        formatUtc(new Date(point.at)),
        point.anon_bytes,
        point.file_bytes,
        point.throughput,
      ]),
    },
  }
}
