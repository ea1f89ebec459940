import type { Figure, TimeAxis } from '../api/_generated/schema'

/** The moment at which all mock answers were made. */
export const mockNow = Date.parse('2026-11-21T03:00:00Z') / 1000

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** The window of all mock answers: the six hours before mockNow. */
export const mockWindow = { start: iso(mockNow - 6 * 3600), end: iso(mockNow) }

/** A figure with a value; `over` changes what a test is about. */
export function figure(definition: string, value: number | null, unit: string, over: Partial<Figure> = {}): Figure {
  return {
    definition,
    status: 'ok',
    value,
    unit,
    reason: null,
    method: 'counters',
    window: mockWindow,
    interval: null,
    n_hosts: 1,
    n_intervals: 360,
    n_samples: null,
    coverage: 0.97,
    grade: 'good',
    grounding: 'L kernel text',
    warnings: [],
    ...over,
  }
}

/** A heat share with a confidence interval. */
export function heatShare(definition: string, value: number, over: Partial<Figure> = {}): Figure {
  return figure(definition, value, 'ratio', {
    method: 'abit',
    n_hosts: 20,
    coverage: 0.93,
    interval: { lo: value * 0.95, hi: Math.min(1, value * 1.05), level: 0.95, kind: 'confidence' },
    ...over,
  })
}

/** A figure without a value, of one of the three kinds of nothing. */
export function nothing(
  definition: string,
  unit: string,
  status: 'not_collected' | 'not_supported' | 'not_enough_data',
  reason: string,
): Figure {
  return figure(definition, null, unit, { status, reason, grade: null, coverage: null, method: null })
}

/** A time axis of `count` steps that ends at mockNow. */
export function timeAxis(count: number, stepSeconds: number): TimeAxis {
  return {
    window: mockWindow,
    resolution: stepSeconds === 60 ? '1m' : '10m',
    step_seconds: stepSeconds,
    times: Array.from({ length: count }, (_, index) => mockNow - (count - 1 - index) * stepSeconds),
  }
}
