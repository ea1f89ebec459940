import type { Data } from 'plotly.js'
import type { DevicePoint, Estimate, SwapDevices } from '../../api/_generated/schema'
import { seriesColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import type { SwapQuantity } from '../../lib/url/simulatorUrl'
import { scaleFor, threeDigits } from '../../lib/units/units'
import { baseLayout, titledAxis } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** What of a swap device can be drawn against its use. */
export const swapQuantities = {
  amplification: { label: 'Write amplification', axis: 'written to flash for each page swapped out', unit: 'times' },
  swapIn: { label: 'Swap-in throughput', axis: 'swapped in', unit: 'bytes_per_s' },
  swapOut: { label: 'Swap-out throughput', axis: 'swapped out', unit: 'bytes_per_s' },
  p99: { label: '99th percentile of swap-in', axis: '99 of 100 swap-ins within', unit: 'ns' },
} as const satisfies Record<SwapQuantity, { label: string; axis: string; unit: string }>

/** How a family of devices is drawn: told apart by line and mark, not by colour alone. */
const families = {
  block: { dash: 'solid', legend: undefined, symbol: 'circle' },
  zns: { dash: 'dash', legend: 'dashed', symbol: 'diamond' },
  zram: { dash: 'dot', legend: 'dotted', symbol: 'square' },
  zswap: { dash: 'dot', legend: 'dotted', symbol: 'square' },
} as const

/** How the family of a device is drawn, in the chart and in its legend. */
export function familyOf(device: string): (typeof families)[keyof typeof families] {
  const name = device.split('_')[0] ?? ''
  return name in families ? families[name as keyof typeof families] : families.block
}

/** A quantity of a point in its base unit; null where the device has none, or was too full. */
export function quantityOf(point: DevicePoint, quantity: SwapQuantity): Estimate | null {
  const tenant = point.tenants[0]
  switch (quantity) {
    case 'amplification':
      return point.write_amplification
    case 'swapIn':
      return tenant?.swap_in_bytes_per_s ?? null
    case 'swapOut':
      return tenant?.swap_out_bytes_per_s ?? null
    case 'p99':
      return scaled(tenant?.swap_in_p99_seconds ?? null, 1e9)
  }
}

function scaled(one: Estimate | null, factor: number): Estimate | null {
  return one === null ? null : { ...one, value: one.value * factor, lo: one.lo * factor, hi: one.hi * factor }
}

/** A device with its points by rising use, and how it is drawn. */
interface DeviceLine {
  device: string
  label: string
  colour: string
  points: { point: DevicePoint; found: Estimate | null }[]
}

/** The devices that have the quantity, in the order of the answer. */
export function deviceLines(answer: SwapDevices, quantity: SwapQuantity): DeviceLine[] {
  return Object.entries(answer.labels)
    .map(([device, label], index) => ({
      device,
      label,
      colour: seriesColour(index),
      points: answer.points
        .filter((point) => point.device === device)
        .sort((a, b) => a.utilisation - b.utilisation)
        .map((point) => ({ point, found: quantityOf(point, quantity) })),
    }))
    .filter((line) => line.points.some(({ found }) => found !== null))
}

/** One quantity of each device against its use, with the intervals over seeds; the paper's figures are level lines. */
export function swapDevicesFigure(answer: SwapDevices, theme: ChartTheme, quantity: SwapQuantity): ChartFigure {
  const lines = deviceLines(answer, quantity)
  const { axis: says, unit } = swapQuantities[quantity]
  const published = quantity === 'swapOut' ? answer.published : []
  const tops = lines.flatMap(({ points }) => points.map(({ found }) => found?.hi ?? 0))
  const up = scaleFor(unit, Math.max(1, ...tops, ...published.map((one) => one.swap_out_bytes_per_s)))
  const data = lines.map(({ device, label, colour, points }): Data => ({
    type: 'scatter',
    mode: 'lines+markers',
    name: plotText(label),
    connectgaps: false,
    x: points.map(({ point }) => point.utilisation * 100),
    y: points.map(({ found }) => (found === null ? null : found.value / up.divisor)),
    error_y: {
      type: 'data',
      symmetric: false,
      array: points.map(({ found }) => (found === null ? 0 : (found.hi - found.value) / up.divisor)),
      arrayminus: points.map(({ found }) => (found === null ? 0 : (found.value - found.lo) / up.divisor)),
      color: colour,
      thickness: 1,
      width: 3,
    },
    line: { color: colour, width: 1.5, dash: familyOf(device).dash },
    marker: { size: 6, color: colour, symbol: familyOf(device).symbol },
    customdata: points.map(({ found }) =>
      found === null ? '' : `${threeDigits(found.lo / up.divisor)} to ${threeDigits(found.hi / up.divisor)}`,
    ),
    hovertemplate: `%{y:,.3~g} ${plotText(up.unit)} (%{customdata}) at %{x:.0f} % use`,
  }))
  return {
    data,
    layout: {
      ...baseLayout(theme),
      hovermode: 'closest',
      dragmode: false,
      margin: { l: 60, r: 16, t: 8, b: 46, pad: 0 },
      xaxis: titledAxis(theme, 'share of the device in use (%)', {
        range: [0, 100],
      }),
      yaxis: titledAxis(theme, `${says} (${plotText(up.unit)})`, {
        rangemode: 'tozero',
        nticks: 6,
      }),
      shapes: published.map((one) => ({
        type: 'line',
        xref: 'paper',
        x0: 0,
        x1: 1,
        y0: one.swap_out_bytes_per_s / up.divisor,
        y1: one.swap_out_bytes_per_s / up.divisor,
        line: { color: theme.mark, width: 1, dash: 'longdashdot' },
      })),
      annotations: published.map((one) => ({
        xref: 'paper',
        x: 0.01,
        xanchor: 'left',
        y: one.swap_out_bytes_per_s / up.divisor,
        yanchor: 'bottom',
        showarrow: false,
        text: plotText(one.label),
        font: { size: 10, color: theme.mark },
      })),
    },
    table: {
      columns: ['device', 'use (ratio)', `${says} (${unit})`, `low (${unit})`, `high (${unit})`, 'why no figure'],
      rows: lines.flatMap(({ label, points }) =>
        points.map(({ point, found }) => [
          label,
          point.utilisation,
          found?.value ?? null,
          found?.lo ?? null,
          found?.hi ?? null,
          point.error ?? '',
        ]),
      ),
    },
  }
}
