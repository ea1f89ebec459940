import type { Revisit, RevisitCurve } from '../api/_generated/schema'
import { heatShare, mockWindow, nothing } from './figures'

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
