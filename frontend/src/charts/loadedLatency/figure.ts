import type { Data } from 'plotly.js'
import type { NodeBench } from '../../api/_generated/schema'
import { seriesColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { scaleFor } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'
import { besideOpacity, type Beside } from '../ghost'

/** The way of a bench: from the processors of one node to the memory of another. */
export function benchPath(bench: NodeBench): string {
  return `node ${bench.cpu_node} → node ${bench.memory_node}`
}

/** One curve: the points of one way at one share of writes, by rising bandwidth. */
interface Curve {
  label: string
  colour: string
  points: NodeBench['loaded']
}

/** The curves of all ways, one for each share of writes. */
export function loadedCurves(benches: NodeBench[]): Curve[] {
  const found: Curve[] = []
  for (const bench of benches) {
    const shares = [...new Set(bench.loaded.map((point) => point.write_ratio))].sort((a, b) => a - b)
    for (const share of shares) {
      const writes = shares.length > 1 || share > 0 ? `, ${Math.round(share * 100)} % writes` : ''
      found.push({
        label: `${benchPath(bench)}${writes}`,
        colour: seriesColour(found.length),
        points: bench.loaded
          .filter((point) => point.write_ratio === share)
          .sort((a, b) => a.bandwidth_bytes_per_s - b.bandwidth_bytes_per_s),
      })
    }
  }
  return found
}

/** The other host's curve: dashed, in the colour of the same way here. */
function besideLine(curve: Curve, label: string, across: number, up: number): Data {
  return {
    type: 'scatter',
    mode: 'lines+markers',
    name: plotText(`${curve.label}, ${label}`),
    x: curve.points.map((point) => point.bandwidth_bytes_per_s / across),
    y: curve.points.map((point) => point.latency_ns / up),
    opacity: besideOpacity,
    line: { color: curve.colour, width: 1.5, dash: 'dash' },
    marker: { size: 4, color: curve.colour },
    hovertemplate: '%{y:,.3~g} at %{x:,.3~g}',
  }
}

function rowOf(label: string, point: NodeBench['loaded'][number]) {
  return [
    label,
    point.bandwidth_bytes_per_s,
    point.latency_ns,
    point.latency_p10_ns,
    point.latency_p90_ns,
    point.threads,
    point.write_ratio,
  ]
}

/**
 * Latency against the bandwidth drawn at the same time, with the spread of the repetitions; disturbed points hollow.
 * Another host's curves are dashed.
 */
export function loadedLatencyFigure(
  benches: NodeBench[],
  theme: ChartTheme,
  beside: Beside<NodeBench[]> | null = null,
): ChartFigure {
  const curves = loadedCurves(benches)
  const own = new Map(curves.map(({ label, colour }) => [label, colour]))
  const others = loadedCurves(beside?.answer ?? []).map((curve, index) => ({
    ...curve,
    colour: own.get(curve.label) ?? seriesColour(curves.length + index),
  }))
  const points = [...curves, ...others].flatMap((curve) => curve.points)
  const across = scaleFor('bytes_per_s', Math.max(1, ...points.map((point) => point.bandwidth_bytes_per_s)))
  const up = scaleFor('ns', Math.max(1, ...points.map((point) => point.latency_p90_ns ?? point.latency_ns)))
  const data = curves.map((curve): Data => ({
    type: 'scatter',
    mode: 'lines+markers',
    name: plotText(curve.label),
    x: curve.points.map((point) => point.bandwidth_bytes_per_s / across.divisor),
    y: curve.points.map((point) => point.latency_ns / up.divisor),
    error_y: {
      type: 'data',
      symmetric: false,
      array: curve.points.map((point) => ((point.latency_p90_ns ?? point.latency_ns) - point.latency_ns) / up.divisor),
      arrayminus: curve.points.map(
        (point) => (point.latency_ns - (point.latency_p10_ns ?? point.latency_ns)) / up.divisor,
      ),
      color: curve.colour,
      thickness: 1,
      width: 4,
    },
    line: { color: curve.colour, width: 1.5 },
    marker: {
      size: 6,
      color: curve.points.map((point) => (point.disturbed ? theme.surface : curve.colour)),
      line: { color: curve.colour, width: 1.5 },
    },
    customdata: curve.points.map(
      (point) =>
        `${point.threads} ${point.threads === 1 ? 'thread' : 'threads'}${point.disturbed ? ', disturbed by other load' : ''}`,
    ),
    hovertemplate: `%{y:,.3~g} ${plotText(up.unit)} at %{x:,.3~g} ${plotText(across.unit)}, %{customdata}`,
  }))
  return {
    data: [...data, ...others.map((curve) => besideLine(curve, beside?.label ?? '', across.divisor, up.divisor))],
    layout: {
      ...baseLayout(theme),
      hovermode: 'closest',
      dragmode: false,
      margin: { l: 60, r: 16, t: 8, b: 46, pad: 0 },
      xaxis: titledAxis(theme, `bandwidth (${plotText(across.unit)})`, {
        rangemode: 'tozero',
      }),
      yaxis: titledAxis(theme, `latency (${plotText(up.unit)})`, {
        rangemode: 'tozero',
        nticks: 6,
      }),
    },
    table: {
      columns: ['way', 'bandwidth (bytes/s)', 'latency (ns)', 'p10 (ns)', 'p90 (ns)', 'threads', 'writes (ratio)'],
      rows: [
        ...curves,
        ...others.map((curve) => ({ ...curve, label: `${curve.label}, ${beside?.label ?? ''}` })),
      ].flatMap((curve) => curve.points.map((point) => rowOf(curve.label, point))),
    },
  }
}
