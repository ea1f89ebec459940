import type { Data } from 'plotly.js'
import { tierColour, type ChartTheme } from '../../lib/palette'
import { plotText } from '../../lib/text/escape'
import { scaleFor } from '../../lib/units/units'
import { axis, baseLayout } from '../baseLayout'
import type { ChartFigure } from '../chartFigure'

/** A tier of a planned host, or the swap that its services use: its size and what lies in it. In bytes. */
export interface PackedTier {
  tier: 'dram' | 'cxl' | 'swap'
  bytes: number
  filled: { service: string; bytes: number }[]
}

/** Hosts of one content. */
export interface PackedHosts {
  sku: string
  count: number
  tiers: PackedTier[]
}

/** Planned hosts as the plan answers them. */
export interface PlannedHosts {
  sku: string
  count: number
  dram_bytes: number
  cxl_bytes: number
  placed: { service: string; dram_bytes: number; cxl_bytes: number; swap_bytes: number }[]
}

/** Planned hosts with what fills each tier, the largest first; a tier that a host does not have is left out. */
export function packedHosts(hosts: PlannedHosts[]): PackedHosts[] {
  return hosts.map(({ sku, count, placed, ...host }) => ({
    sku,
    count,
    tiers: (['dram', 'cxl', 'swap'] as const)
      .map((tier): PackedTier => {
        const filled = placed
          .map((one) => ({ service: one.service, bytes: one[`${tier}_bytes`] }))
          .filter(({ bytes }) => bytes > 0)
          .sort((a, b) => b.bytes - a.bytes)
        // A plan has swap of the size that is used: what holds it is not part of a host type.
        const bytes = tier === 'swap' ? filled.reduce((sum, part) => sum + part.bytes, 0) : host[`${tier}_bytes`]
        return { tier, bytes, filled }
      })
      .filter(({ bytes }) => bytes > 0),
  }))
}

/** Hosts in total. */
export function countHosts(hosts: { count: number }[]): number {
  return hosts.reduce((sum, { count }) => sum + count, 0)
}

/** Bytes of a tier that nothing fills. */
export function freeBytes({ bytes, filled }: PackedTier): number {
  return Math.max(0, bytes - filled.reduce((sum, part) => sum + part.bytes, 0))
}

/** How high the picture of a packing is, in pixels. */
export function packingHeight(hosts: PackedHosts[]): number {
  return 70 + 26 * hosts.reduce((sum, { tiers }) => sum + tiers.length, 0)
}

/** The packing as a table and as a picture to hand out: a bar per tier of each kind of host. On screen it is HTML. */
export function packingFigure(hosts: PackedHosts[], theme: ChartTheme): ChartFigure {
  const rows = hosts.flatMap(({ sku, count, tiers }) => tiers.map((tier) => ({ sku, count, tier })))
  const scale = scaleFor('bytes', Math.max(0, ...rows.map(({ tier }) => tier.bytes)))
  const parts = rows.flatMap(({ tier }, row) => [
    ...tier.filled.map(({ service, bytes }) => ({ row, service, bytes, colour: tierColour(tier.tier) })),
    { row, service: 'free', bytes: freeBytes(tier), colour: theme.absent },
  ])
  return {
    data: parts.map(({ row, service, bytes, colour }): Data => ({
      type: 'bar',
      orientation: 'h',
      name: plotText(service),
      x: [bytes / scale.divisor],
      y: [row],
      text: [plotText(service)],
      textposition: 'inside',
      insidetextanchor: 'start',
      marker: { color: colour, line: { width: 1, color: theme.line } },
    })),
    layout: {
      ...baseLayout(theme),
      margin: { l: 150, r: 20, t: 8, b: 44, pad: 4 },
      barmode: 'stack',
      xaxis: { ...axis(theme), title: { text: `memory of one host, ${scale.unit}`, font: { size: 11 }, standoff: 6 } },
      yaxis: {
        ...axis(theme),
        autorange: 'reversed',
        rangemode: 'normal',
        showgrid: false,
        tickvals: rows.map((_, row) => row),
        ticktext: rows.map(({ sku, count, tier }) => `${plotText(sku)} × ${count}, ${tier.tier.toUpperCase()}`),
      },
    },
    table: {
      columns: ['SKU', 'hosts', 'tier', 'size (bytes)', 'service', 'placed (bytes per host)'],
      rows: hosts.flatMap(({ sku, count, tiers }) =>
        tiers.flatMap((tier) => [
          ...tier.filled.map(({ service, bytes }) => [sku, count, tier.tier, tier.bytes, service, bytes]),
          [sku, count, tier.tier, tier.bytes, 'free', freeBytes(tier)],
        ]),
      ),
    },
  }
}
