import type { Sensitivity, Stability } from '../api/_generated/schema'
import { figure, heatShare, mockNow, mockWindow, nothing, timeAxis, wave } from './figures'

const gib = 1024 ** 3
const count = 120

/** Sensitivity as the API answers it: anon has an elasticity, file is refused; the second service has nothing. */
export function sensitivity(serviceId: string): Sensitivity {
  const silent = serviceId !== 'svc-redis'
  const refusal = nothing('sensitivity.elasticity/1', '1', 'not_enough_data', 'File memory hardly varies.')
  return {
    service_id: serviceId,
    origin: 'simulated',
    window: mockWindow,
    label: 'association',
    residency: silent ? null : 'memory.numa_stat',
    throughput_measure: silent ? null : 'throughput',
    interval_seconds: silent ? null : 60,
    kinds: [
      {
        kind: 'anon',
        elasticity: silent
          ? { ...refusal, status: 'not_collected', reason: 'No host sends throughput.' }
          : figure('sensitivity.elasticity/1', 0.42, '1', {
              interval: { lo: 0.31, hi: 0.53, level: 0.95, kind: 'confidence' },
            }),
        refused: [],
        partial_correlation: silent ? null : 0.71,
      },
      {
        kind: 'file',
        elasticity: refusal,
        refused: silent ? [] : ['file memory varies by 0.2 %, below 3 %', '41 independent changes, fewer than 60'],
        partial_correlation: null,
      },
    ],
    scatter: silent
      ? []
      : Array.from({ length: count }, (_, index) => ({
          host_id: `h-${(index % 3) + 1}`,
          at: new Date((mockNow - index * 60) * 1000).toISOString(),
          anon_bytes: (40 + 10 * Math.sin(index / 9)) * gib,
          file_bytes: (12 + Math.cos(index) * 0.1) * gib,
          throughput: 48_000 + 6_000 * Math.sin(index / 9) + 900 * Math.sin(index * 12.9898),
        })),
    scatter_of: silent ? 0 : 1440,
    fit: silent ? [] : [{ kind: 'anon', slope: 6_000 / (10 * gib), intercept: 24_000 }],
    n_pairs: silent ? 0 : 1380,
    n_hosts: silent ? 0 : 3,
    n_effective: silent ? null : 310,
    correlation: silent ? null : 0.12,
    variance_inflation: silent ? null : 1.01,
    errors: silent ? null : 'hac',
    heat_index: {
      log2_density_anon_file: { ...heatShare('curve.log2_density_anon_file/1', 2.585), unit: '1', interval: null },
      moving: [
        {
          kind: 'anon',
          share_of_accesses: heatShare('curve.accesses_ratio/1', 0.8),
          loss: heatShare('sensitivity.moving_loss/1', 0.15),
        },
        {
          kind: 'file',
          share_of_accesses: heatShare('curve.accesses_ratio/1', 0.2),
          loss: heatShare('sensitivity.moving_loss/1', 0.02),
        },
      ],
    },
    confounders: ['warm-up', 'deploys', 'traffic mix'],
    missing: silent
      ? nothing(
          'sensitivity.elasticity/1',
          '1',
          'not_collected',
          'No host sends throughput of this service. Map it under `[[service_metrics]]`.',
        )
      : null,
    notes: ['Throughput follows demand unless the service is saturated.'],
  }
}

/** Stability as the API answers it. */
export function stability(serviceId: string): Stability {
  const line = (key: string, label: string, level: number, phase: number) => ({
    key,
    label,
    unit: 'ratio',
    values: wave(72, level, 0.03, phase),
  })
  const kind = (name: 'anon' | 'file' | 'tmpfs', slope: number, stable: boolean | null) => ({
    kind: name,
    slope_per_hour: figure('stability.slope_per_hour/1', slope, 'ratio_per_h'),
    iqr:
      stable === null
        ? nothing('stability.iqr/1', 'ratio', 'not_enough_data', 'A day is needed.')
        : figure('stability.iqr/1', 0.02, 'ratio'),
    stable,
  })
  return {
    service_id: serviceId,
    origin: 'simulated',
    window: mockWindow,
    residency: 'memory.stat',
    axis: timeAxis(72, 300),
    series: [
      line('anon_ratio', 'anon', 0.6, 0),
      line('file_ratio', 'file', 0.35, 1),
      line('tmpfs_ratio', 'tmpfs', 0.05, 2),
    ],
    kinds: [kind('anon', 0.0012, true), kind('file', -0.011, false), kind('tmpfs', 0, null)],
    warm_up_end: {
      at: new Date((mockNow - 4 * 3600) * 1000).toISOString(),
      why: 'from there on the one-hour mean stays within 5 points of the last day',
    },
    hot_set: [
      { lag_minutes: 10, jaccard: heatShare('stability.jaccard/1', 0.83), state: 'stable' },
      { lag_minutes: 60, jaccard: heatShare('stability.jaccard/1', 0.36), state: 'volatile' },
      {
        lag_minutes: 1440,
        jaccard: nothing('stability.jaccard/1', 'ratio', 'not_enough_data', 'A day is needed.'),
        state: null,
      },
    ],
    missing: null,
    notes: [],
  }
}
