import type {
  Capacity,
  CapacityForecast,
  CapacityPlan,
  CapacitySubject,
  PlanSwap,
  Report,
} from '../api/_generated/schema'
import { figure, mockWindow, nothing } from './figures'
import { noneAway } from './fleet/hosts'

const gib = 2 ** 30
const days = (value: number | null, which: string) =>
  value === null
    ? nothing(`capacity.days_${which}/1`, 'days', 'not_enough_data', 'The level is not reached within 90 days.')
    : figure(`capacity.days_${which}/1`, value, 'days')

const dayAhead = (days: number | null) =>
  days === null ? null : new Date(Date.parse('2026-01-01T12:00:00Z') + days * 86_400_000).toISOString()

const exhaustion = (median: number | null, early: number | null) => ({
  median: days(median, 'median'),
  early: days(early, 'early'),
  none_within_horizon: median === null && early === null,
  threshold_ratio: 0.9,
  threshold_bytes: 460 * gib,
  horizon_days: 90,
  median_at: dayAhead(median),
  early_at: dayAhead(early),
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
    away: noneAway,
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

/** What a plan holds on swap: memory of one service, of two. */
function planSwap(device: PlanSwap['device']): PlanSwap {
  const range = (value: number) => ({
    value,
    interval: { lo: value * 0.5, hi: value * 2, level: null, kind: 'range' as const },
    currency: 'USD',
  })
  const figures = {
    swap_bytes: figure('capacity.swap_bytes/1', 90 * gib, 'bytes'),
    pool_bytes: figure('swap_tier.pool_bytes/1', 0, 'bytes'),
    wait_ratio: figure('swap_tier.wait_ratio/1', 0.004, 'ratio', {
      interval: { lo: 0.001, hi: 0.02, level: null, kind: 'range' },
    }),
    drive_life_years: figure('swap_tier.drive_life_years/1', 9, 'years'),
    cost_per_year: range(12),
    saving_per_year: range(520),
  }
  const checkout = { service: 'prod/checkout', service_id: 'svc-checkout', device: 'block' as const }
  return {
    device,
    loss_target: 0.01,
    ...figures,
    keep_out: ['prod/huge'],
    not_judged: 0,
    services: [
      {
        ...checkout,
        ...figures,
        held: true,
        verdict: 'pays',
        why: 'Swap pays below DRAM for memory that was cold for 10 more minutes: it frees 90.0 GiB.',
        age_seconds: 600,
        loss_ratio: figure('swap_tier.loss_ratio/1', 0.0004, 'ratio'),
      },
      {
        ...checkout,
        service: 'prod/huge',
        service_id: 'svc-huge',
        held: false,
        verdict: 'keep_out',
        why: 'Keep this service out of swap (`memory.swap.max` 0): memory comes back so soon.',
        age_seconds: null,
        swap_bytes: null,
        pool_bytes: null,
        wait_ratio: null,
        loss_ratio: null,
        drive_life_years: null,
        cost_per_year: null,
        saving_per_year: null,
      },
    ],
  }
}

/** A plan of two quarters in which tiering needs fewer hosts, and one service fits nowhere without it. */
export function capacityPlan(swap: PlanSwap['device'] | null = null): CapacityPlan {
  const onSwap = swap !== null
  const quarter = (name: string, without: number, withTiers: number) => ({
    quarter: name,
    ends_at: '2026-12-31',
    hosts_without_tiering: without,
    hosts_with_tiering: withTiers,
    hosts_with_swap: onSwap ? withTiers - 2 : null,
    lower_bound_without: without - 1,
    lower_bound_with: withTiers - 1,
    lower_bound_with_swap: onSwap ? withTiers - 3 : null,
    price_without: null,
    price_with: null,
    price_with_swap: null,
    by_sku: [
      { sku: '2-socket', without_tiering: without, with_tiering: withTiers, with_swap: onSwap ? withTiers - 2 : null },
    ],
  })
  const placed = {
    service: 'prod/checkout',
    service_id: 'svc-checkout',
    dram_bytes: 300 * gib,
    cxl_bytes: 100 * gib,
    swap_bytes: 0,
  }
  const host = { sku: '2-socket', count: 9, dram_bytes: 512 * gib, cxl_bytes: 256 * gib, cxl_devices: 1, cores: null }
  return {
    quarters: [quarter('2026 Q4', 12, 9), quarter('2027 Q1', 14, 10)],
    packing: {
      without: [
        {
          ...host,
          count: 12,
          cxl_bytes: 0,
          cxl_devices: 0,
          placed: [{ ...placed, dram_bytes: 400 * gib, cxl_bytes: 0 }],
        },
      ],
      with: [{ ...host, placed: [placed] }],
      with_swap: onSwap ? [{ ...host, count: 7, placed: [{ ...placed, swap_bytes: 90 * gib }] }] : null,
    },
    demands: [
      {
        service: 'prod/checkout',
        service_id: 'svc-checkout',
        hosts: 12,
        memory_bytes: 400 * gib,
        dram_bytes: 200 * gib,
        cores: null,
        growth_ratio_per_quarter: 0.08,
        grows_by: 'forecast of resident bytes',
        dram_by: 'ratio advice',
      },
    ],
    unplaced: [
      {
        quarter: '2027 Q1',
        service: 'prod/huge',
        service_id: 'svc-huge',
        tiering: false,
        dram_bytes: 4096 * gib,
        cxl_bytes: 0,
        why: 'a host holds at most 1.5 TiB of DRAM',
      },
    ],
    swap: swap === null ? null : planSwap(swap),
    loss_target: null,
    headroom_ratio: 0.1,
    notes: [],
  }
}

/** One scheduled report that went out. */
export const reports: Report[] = [
  {
    id: 'r-1',
    name: 'Monday report',
    cron: null,
    every_days: 7,
    at: '07:00',
    format: 'both',
    to: { mail: ['ana@example.org'], webhook: null },
    sections: ['capacity', 'advice'],
    enabled: true,
    created_by: 'ana',
    created_at: mockWindow.start,
    next_at: mockWindow.end,
    last_run: {
      due_at: mockWindow.start,
      started_at: mockWindow.start,
      finished_at: mockWindow.start,
      state: 'failed',
      attempts: 3,
      sent: [],
      error: 'the mail server refused the address',
    },
  },
]
