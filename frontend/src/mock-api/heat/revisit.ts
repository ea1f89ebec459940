import type { Revisit, RevisitCurve, Objectives } from '../../api/_generated/schema'
import { figure, heatShare, mockWindow, nothing, timeAxis, wave } from '../figures'

const lags = Array.from({ length: 63 }, (_, index) => index + 1)

function curve(kind: RevisitCurve['kind'], clock: RevisitCurve['clock'], pace: number, known: number): RevisitCurve {
  const share = lags.map((lag) => (lag > known ? null : 0.9 * (1 - Math.exp(-lag * pace))))
  return {
    kind,
    clock,
    method: 'kaplan_meier',
    share,
    lo: share.map((value) => (value === null ? null : value * 0.9)),
    hi: share.map((value) => (value === null ? null : Math.min(1, value * 1.08))),
    at_risk_bytes: lags.map((lag) => (lag > known ? 0 : 4e11 * Math.exp(-lag / 9))),
    last_known_lag: known,
    figures: [1, 2, 5, 10, 20].map((lag) =>
      lag > known
        ? nothing(`revisit.reaccessed_within_${lag}_ratio/1`, 'ratio', 'not_enough_data', 'No memory was watched.')
        : heatShare(`revisit.reaccessed_within_${lag}_ratio/1`, share[lag - 1] ?? 0),
    ),
  }
}

/** Revisit times as the API answers them; the second service has none. */
export function revisit(serviceId: string, clock: RevisitCurve['clock']): Revisit {
  const silent = serviceId !== 'svc-redis'
  return {
    service_id: serviceId,
    origin: 'simulated',
    method: silent ? 'none' : 'abit',
    backend: silent ? 'none' : 'abit_walk',
    granularity: silent ? 'none' : 'page',
    interval_seconds: silent ? null : 60,
    window: mockWindow,
    lags,
    curves: silent ? [] : [curve('all', clock, 0.2, 48), curve('anon', clock, 0.3, 48), curve('file', clock, 0.08, 12)],
    missing: silent
      ? nothing(
          'revisit.reaccessed_ratio/1',
          'ratio',
          'not_collected',
          'No reuse gaps were measured. Start the agent with `--heat abit_walk`.',
        )
      : null,
    other_methods: [],
    notes: ['Beyond the last lag with memory left to watch nothing is known: it is not drawn.'],
  }
}

/** Service levels of cold memory as the API answers them. */
export function objectives(serviceId: string): Objectives {
  const line = (key: string, label: string, unit: string, level: number) => ({
    key,
    label,
    unit,
    values: wave(72, level, level * 0.3),
  })
  return {
    service_id: serviceId,
    window: mockWindow,
    axis: timeAxis(72, 300),
    series: [
      line('promotion_rate_per_min', 'Promotion rate', 'per_min', 0.0012),
      line('slow_access_ratio', 'Accesses to slow memory', 'ratio', 0.04),
      line('slow_residency_ratio', 'Working set on slow memory', 'ratio', 0.12),
    ],
    promotion_rate: figure('revisit.promotion_rate_per_min/1', 0.0012, 'per_min'),
    slow_access_ratio: heatShare('revisit.slow_access_ratio/1', 0.04),
    slow_residency_ratio: nothing('revisit.slow_residency_ratio/1', 'ratio', 'not_collected', 'Tiers are not known.'),
    target_per_min: 0.002,
    meets_target: true,
    service_class: { name: null, grade: null, why: 'Latency was not measured.' },
    comparisons: [
      {
        point: 'web, within 10 min',
        published: 0.8,
        source: 'TPP Fig. 11',
        measured: heatShare('revisit.reaccessed_within_10_ratio/1', 0.78),
      },
    ],
    notes: [],
  }
}
