import type { ChartFigure } from '../chartFigure'

/** A tier of a planned host: its size and what lies in it. In bytes. */
export interface PackedTier {
  tier: 'dram' | 'cxl'
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
  placed: { service: string; dram_bytes: number; cxl_bytes: number }[]
}

/** Planned hosts with what fills each tier, the largest first; a tier that a host does not have is left out. */
export function packedHosts(hosts: PlannedHosts[]): PackedHosts[] {
  return hosts.map(({ sku, count, placed, ...host }) => ({
    sku,
    count,
    tiers: (['dram', 'cxl'] as const)
      .map((tier): PackedTier => ({
        tier,
        bytes: tier === 'dram' ? host.dram_bytes : host.cxl_bytes,
        filled: placed
          .map((one) => ({ service: one.service, bytes: tier === 'dram' ? one.dram_bytes : one.cxl_bytes }))
          .filter(({ bytes }) => bytes > 0)
          .sort((a, b) => b.bytes - a.bytes),
      }))
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

/** The packing as a table; what is drawn is drawn as HTML. */
export function packingFigure(hosts: PackedHosts[]): ChartFigure {
  return {
    data: [],
    layout: {},
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
