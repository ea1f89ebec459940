import type { Estimate, SimulatorPolicies, SimulatorSources, SwapDevices } from '../../api/_generated/schema'
import { mockNow } from '../figures'

const iso = (hours: number) => new Date((mockNow + hours * 3600) * 1000).toISOString()

/** Policies of the mock simulator: one without settings, one with, one without a slower tier. */
export const simulatorPolicies: SimulatorPolicies = {
  policies: [
    { name: 'all_dram', label: 'All DRAM', has_slow_tier: false, settings: [] },
    { name: 'first_touch', label: 'Default Linux (first touch)', has_slow_tier: true, settings: [] },
    {
      name: 'tpp',
      label: 'TPP',
      has_slow_tier: true,
      settings: [
        {
          name: 'demote_scale_factor',
          default: 200,
          lowest: 1,
          highest: 10_000,
          unit: 'ten-thousandths of DRAM',
          source: 'S 2 %',
        },
        { name: 'decoupled', default: 1, lowest: 0, highest: 1, unit: 'switch', source: 'S section 5' },
      ],
    },
  ],
  machine_settings: [],
  cost_settings: [{ name: 'slow_latency_ns', default: 190, lowest: 1, highest: 100_000, unit: 'ns', source: 'A' }],
}

/** One sampled service on two hosts, one workload, one uploaded trace with a hostile name. */
export const simulatorSources: SimulatorSources = {
  services: [
    {
      service_id: 'svc-redis',
      name: 'prod/redis',
      origin: 'simulated',
      hosts: ['h-1', 'h-2'].map((host_id) => ({
        host_id,
        name: `host-${host_id}`,
        n_pages: 4096,
        n_intervals: 360,
        sampled_ratio: 0.0625,
        from: iso(-6),
        to: iso(0),
      })),
    },
  ],
  workloads: [
    {
      name: 'web1',
      label: 'Web1',
      source: 'TPP, section 2: text points only',
      simulated: true,
      parameters: [{ name: 'pages', value: 'mix of kinds [S]' }],
      measured: ['TPP, 2:1: 90 % of accesses local under TPP'],
    },
  ],
  uploads: [
    {
      id: 'up-1',
      name: '<b>trace</b>.parquet',
      bytes: 2 << 20,
      pages: 10_000,
      intervals: 60,
      accesses: 5_000_000,
      created_by: 'ana',
      created_at: iso(-2),
    },
  ],
}

const estimate = (value: number): Estimate => ({ value, lo: value * 0.9, hi: value * 1.1, seeds: 3 })

/** Three devices at four uses under a load; the block device is too full at the last of them. */
export function swapDevices(load: string): SwapDevices {
  const labels = { block: 'Block SSD, no TRIM', zns: 'Zoned SSD, shared zones', zram: 'zram' }
  const none = { host_amplification: null, device_amplification: null, trims_per_swap_out: null }
  const points = Object.keys(labels).flatMap((device, index) =>
    [0.3, 0.5, 0.7, 0.9].map((utilisation) => {
      const isFull = device === 'block' && utilisation === 0.9
      const flash = device === 'zram' || isFull ? null : estimate((2 - 0.5 * index) * (1 + utilisation ** 2))
      return {
        ...none,
        device: device as 'block' | 'zns' | 'zram',
        utilisation,
        write_amplification: flash,
        used_ratio: isFull ? null : estimate(utilisation),
        busy_ratio: null,
        flash_bytes_per_s: flash === null ? null : estimate(2e8),
        compression_ratio: null,
        tenants: isFull
          ? []
          : [
              {
                swap_in_bytes_per_s: estimate(3e8 + 1e8 * index),
                swap_out_bytes_per_s: estimate(2e8 + 1e8 * index),
                swap_in_p50_seconds: estimate(1e-4),
                swap_in_p99_seconds: estimate(1e-3 / (1 + index)),
                swap_in_p999_seconds: estimate(2e-3),
                written_ratio: estimate(0.5),
              },
            ],
        error: isFull ? 'the swap area is full' : null,
      }
    }),
  )
  const published =
    load === 'write_heavy'
      ? [{ label: 'ZNSwap: block SSD, TRIM of 512 slots, skewed', load, swap_out_bytes_per_s: 195e6 }]
      : []
  return { origin: 'simulated', loads: [load], seeds: [1, 2, 3], settings: {}, labels, points, published }
}
