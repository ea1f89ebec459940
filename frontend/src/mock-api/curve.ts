import type { Curve, ServedCurve } from '../api/_generated/schema'
import { heatShare, mockWindow, nothing } from './figures'

const shares = Array.from({ length: 20 }, (_, index) => (index + 1) / 20)

function served(name: ServedCurve['name'], label: string, bend: number): ServedCurve {
  const values = shares.map((share) => 1 - (1 - share) ** bend)
  const isTop = name === 'top_density'
  return {
    name,
    label,
    estimator: isTop ? 'cross_fitted' : 'aet',
    measure: isTop ? 'accesses' : 'page_intervals',
    dram_ratios: shares,
    served: values,
    lo: values.map((value) => (isTop ? value * 0.97 : null)),
    hi: values.map((value) => (isTop ? Math.min(1, value * 1.02) : null)),
    level: isTop ? 0.95 : null,
  }
}

const ratios: [string, number][] = [
  ['8:1', 8 / 9],
  ['4:1', 4 / 5],
  ['2:1', 2 / 3],
  ['1:1', 1 / 2],
  ['1:2', 1 / 3],
  ['1:4', 1 / 5],
]

/** Served accesses as the API answers them; the second service has none. */
export function curve(serviceId: string): Curve {
  const silent = serviceId !== 'svc-redis'
  const missing = nothing(
    'curve.served_ratio/1',
    'ratio',
    'not_supported',
    'Whole mappings have no densities. Start the agent with `--heat idle_page`.',
  )
  const share = (name: string, value: number) => heatShare(`curve.${name}/1`, value)
  return {
    service_id: serviceId,
    origin: 'simulated',
    method: silent ? 'none' : 'abit',
    backend: silent ? 'none' : 'abit_walk',
    window: mockWindow,
    interval_seconds: silent ? null : 60,
    sampled_ratio: silent ? null : 1 / 64,
    n_hosts: silent ? 0 : 6,
    n_pages: silent ? 0 : 480_000,
    n_accesses: silent ? null : 9_300_000,
    traffic_coverage: null,
    curves: silent ? [] : [served('top_density', 'Best placement', 5), served('lru_interval', 'LRU', 2.6)],
    at_ratios: silent
      ? []
      : ratios.map(([ratio, dram_ratio]) => ({
          ratio,
          dram_ratio,
          served: share('served_ratio', 1 - (1 - dram_ratio) ** 5),
        })),
    density: silent
      ? []
      : [
          {
            kind: 'anon',
            bytes_ratio: share('bytes', 0.4),
            accesses_ratio: share('accesses', 0.8),
            density: ratioOf(2),
          },
          {
            kind: 'file',
            bytes_ratio: share('bytes', 0.6),
            accesses_ratio: share('accesses', 0.2),
            density: ratioOf(0.33),
          },
        ],
    log2_density_anon_file: silent ? missing : { ...ratioOf(2.585), definition: 'curve.log2_density_anon_file/1' },
    missing: silent ? missing : null,
    other_methods: [],
    notes: ['An LRU would need more DRAM for the same share.'],
  }
}

const ratioOf = (value: number) => ({ ...heatShare('curve.density/1', value), unit: '1', interval: null })
