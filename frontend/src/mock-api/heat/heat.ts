import type { ClassFigures, Figure, ServiceHeat } from '../../api/_generated/schema'
import { figure, heatShare, mockWindow, nothing, timeAxis, wave } from '../figures'
import { hosts } from '../fleet/hosts'

const gib = 1024 ** 3

function heatClass(name: ClassFigures['heat_class'], share: number, total: number): ClassFigures {
  return {
    heat_class: name,
    bytes: figure(`heat.${name}_bytes/1`, share * total, 'bytes', { method: 'abit', n_hosts: 6 }),
    ratio: heatShare(`heat.${name}_ratio/1`, share),
    weighted_ratio: heatShare(`heat.${name}_weighted_ratio/1`, share * 0.98),
  }
}

function bounds(value: number): Figure {
  return heatShare('heat.active_ratio/1', value, {
    interval: { lo: value * 0.8, hi: Math.min(1, value * 1.2), level: null, kind: 'bounds' },
  })
}

const ages: [number, number | null, number, number][] = [
  [0, 1, 310, 0],
  [1, 2, 120, 0],
  [2, 3, 60, 0],
  [3, 5, 80, 0],
  [5, 10, 110, 30],
  [10, 20, 90, 60],
  [20, 40, 70, 120],
  [40, 64, 20, 150],
  [64, null, 10, 240],
]

/** Heat of a service as the API answers it. */
export function serviceHeat(serviceId: string, scheme: ServiceHeat['scheme']['name']): ServiceHeat {
  const total = 1480 * gib
  const count = 72
  const classes = [heatClass('hot', 0.31, total), heatClass('warm', 0.22, total), heatClass('cold', 0.47, total)]
  const line = (key: string, share: number, phase: number) => ({
    key,
    label: key,
    unit: 'bytes',
    values: wave(count, share * total, share * total * 0.2, phase),
  })
  return {
    service_id: serviceId,
    origin: 'simulated',
    scheme: {
      name: scheme,
      hot: 'active within 2 intervals',
      warm: 'idle for 2 to 9 intervals',
      cold: 'idle for 10 intervals or more',
      threshold_intervals: 2,
      snapped: null,
    },
    method: 'abit',
    backend: 'abit_walk',
    granularity: 'page',
    interval_seconds: 60,
    window: mockWindow,
    coverage: 0.93,
    classes,
    by_kind: (['anon', 'file', 'tmpfs'] as const).map((kind, index) => ({
      kind,
      resident_bytes: figure('heat.resident_bytes/1', total / (index + 2), 'bytes'),
      classes: [
        heatClass('hot', 0.4 - index * 0.1, total / 2),
        heatClass('warm', 0.2, total / 2),
        heatClass('cold', 0.4 + index * 0.1, total / 2),
      ],
    })),
    by_size: [4096, 2 * 1024 ** 2].map((bytes) => ({
      page_size_bytes: bytes,
      resident_bytes: figure('heat.resident_bytes/1', total / 2, 'bytes'),
      classes: [heatClass('hot', 0.3, total / 2), heatClass('warm', 0.2, total / 2), heatClass('cold', 0.5, total / 2)],
      huge_pages:
        bytes === 4096
          ? null
          : {
              hot_bytes_upper: figure('heat.huge_hot_bytes_upper/1', 40 * gib, 'bytes'),
              hot_bytes_lower: figure('heat.huge_hot_bytes_lower/1', 2 * gib, 'bytes'),
              skewed: true,
            },
    })),
    by_window: [1, 2, 5, 10].map((intervals, index) => ({ intervals, active_ratio: bounds(0.21 + index * 0.12) })),
    age_histogram: ages.map(([from, to, active, never]) => ({
      from_intervals: from,
      to_intervals: to,
      active_bytes: active * gib,
      never_bytes: never * gib,
    })),
    hot_outside_dram_bytes: figure('heat.hot_outside_dram_bytes/1', 41.2 * gib, 'bytes'),
    cold_in_dram_bytes: figure('heat.cold_in_dram_bytes/1', 388 * gib, 'bytes'),
    sampling: null,
    beside: {
      sampled_pages: nothing('heat.sampled_pages/1', 'pages', 'not_supported', 'All resident pages were looked at.'),
      written: [1, 2, 5, 10].map((intervals) => ({
        intervals,
        bytes: figure('writes.written_bytes/1', intervals * gib, 'bytes', { method: 'writes' }),
        ratio: figure('writes.written_ratio/1', intervals / 100, 'ratio', { method: 'writes' }),
      })),
      written_classes: (['hot', 'warm', 'cold', 'unknown'] as const).map((heat_class, index) => ({
        heat_class,
        bytes_lower: figure(`writes.written_${heat_class}_bytes_lower/1`, (3 - index) * gib, 'bytes', {
          method: 'writes',
        }),
        bytes_upper: figure(`writes.written_${heat_class}_bytes_upper/1`, (4 - index) * gib, 'bytes', {
          method: 'writes',
        }),
      })),
      dirty: {
        bytes: figure('dirty.bytes/1', 60 * gib, 'bytes'),
        ratio: figure('dirty.ratio/1', 0.12, 'ratio'),
        classes: (['hot', 'warm', 'cold', 'unknown'] as const).map((heat_class, index) => ({
          heat_class,
          bytes_lower: figure(`dirty.${heat_class}_bytes_lower/1`, (30 - 10 * index) * gib, 'bytes'),
          bytes_upper: figure(`dirty.${heat_class}_bytes_upper/1`, (36 - 10 * index) * gib, 'bytes'),
        })),
      },
      huge_pages: {
        hot_bytes_upper: figure('heat.huge_hot_bytes_upper/1', 40 * gib, 'bytes'),
        hot_bytes_lower: figure('heat.huge_hot_bytes_lower/1', 2 * gib, 'bytes'),
        skewed: true,
      },
    },
    hosts: hosts.slice(0, 6).map((host, index) => ({
      host_id: host.id,
      host_name: host.name,
      resident_bytes: (40 + index * 3) * gib,
      hot_ratio: heatShare('heat.hot_ratio/1', 0.2 + index * 0.05, { n_hosts: 1, grade: 'early' }),
    })),
    axis: timeAxis(count, 300),
    series: [line('hot', 0.31, 0), line('warm', 0.22, 1), line('cold', 0.47, 2)],
    other_methods: [],
    grounding_notes: ['Ages follow accessed bits read once per minute; shorter idle times cannot be told apart.'],
  }
}
