import type { Capacity, CapacityForecast, CapacitySubject } from '../api/_generated/schema'
import { figure, mockWindow, nothing } from './figures'

const gib = 2 ** 30
const days = (value: number | null, which: string) =>
  value === null
    ? nothing(`capacity.days_${which}/1`, 'days', 'not_enough_data', 'The level is not reached within 90 days.')
    : figure(`capacity.days_${which}/1`, value, 'days')

const exhaustion = (median: number | null, early: number | null) => ({
  median: days(median, 'median'),
  early: days(early, 'early'),
  none_within_horizon: median === null && early === null,
  threshold_ratio: 0.9,
  threshold_bytes: 460 * gib,
  horizon_days: 90,
})

const bytes = (name: string, value: number) => figure(`capacity.${name}_bytes/1`, value * gib, 'bytes')

const checkout: CapacitySubject = {
  kind: 'service',
  id: 'svc-checkout',
  name: 'prod/checkout',
  origin: 'live',
  hosts: 12,
  days: 60,
  capacity_bytes: bytes('capacity', 512),
  resident_bytes: bytes('resident', 400),
  hot_bytes: bytes('hot', 120),
  dram_need_bytes: bytes('dram_need', 200),
  cold_bytes: bytes('cold', 180),
  untouched_bytes: bytes('untouched', 0),
  stranded_bytes: nothing('capacity.stranded_bytes/1', 'bytes', 'not_collected', 'No host reports how busy it is.'),
  growth_bytes_per_day: figure('capacity.growth_bytes_per_day/1', 1.5 * gib, 'bytes_per_day'),
  days_to_exhaustion: exhaustion(41.3, 33),
  method: 'damped_holt',
  refused: null,
}

/** Services of the mock fleet: one that runs full, one that does not, one that is too young to tell. */
export function capacity(groupBy: string): Capacity {
  const refused = 'It has 6 whole days with data; a forecast needs 14.'
  return {
    window: mockWindow,
    group_by: groupBy,
    groupings: ['service', 'sku', 'label:team'],
    subjects: [
      checkout,
      { ...checkout, id: 'svc-redis', name: 'prod/redis', days_to_exhaustion: exhaustion(null, null) },
      {
        ...checkout,
        id: 'svc-new',
        name: 'prod/new',
        days: 6,
        days_to_exhaustion: { ...exhaustion(null, null), none_within_horizon: false },
        growth_bytes_per_day: nothing('capacity.growth_bytes_per_day/1', 'bytes_per_day', 'not_enough_data', refused),
        method: null,
        refused,
      },
    ],
    notes: ['Daily points are the 95th percentile of a day.'],
  }
}

/** The forecast of one service: a level that changed once, then 60 days of growth. */
export function capacityForecast(id: string): CapacityForecast {
  const subject = capacity('service').subjects.find((known) => known.id === id) ?? checkout
  const day = (index: number) => new Date(Date.UTC(2026, 8, 1 + index)).toISOString().slice(0, 10)
  const told = subject.method !== null
  return {
    subject: { kind: subject.kind, id: subject.id, name: subject.name, origin: subject.origin },
    metric: 'resident',
    unit: 'bytes',
    window: mockWindow,
    history: Array.from({ length: 60 }, (_, index) => ({
      day: day(index),
      value: index === 30 ? null : (index < 20 ? 250 : 310 + index * 1.5) * gib,
      excluded: index < 20 ? 'change_point' : null,
    })),
    forecast: told
      ? Array.from({ length: 30 }, (_, index) => {
          const median = (400 + index * 1.5) * gib
          const spread = (5 + index) * gib
          return {
            day: day(60 + index),
            median,
            lo80: median - spread,
            hi80: median + spread,
            lo95: median - 2 * spread,
            hi95: median + 2 * spread,
            hi95_one_sided: median + 1.7 * spread,
          }
        })
      : [],
    method: subject.method,
    backtest: told
      ? [
          { method: 'damped_holt', mase: 0.62 },
          { method: 'seasonal_naive', mase: 1 },
        ]
      : [],
    widened: null,
    changes: [
      { at: '2026-09-21T00:00:00Z', kind: 'change_point', before: 250 * gib, after: 340 * gib, event: 'deploy v2' },
    ],
    growth_bytes_per_day: subject.growth_bytes_per_day,
    exhaustion: subject.days_to_exhaustion,
    refused: subject.refused,
    notes: [],
  }
}
