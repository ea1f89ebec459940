import type { CounterAnswer, CounterNames } from '../../api/_generated/schema'
import { mockWindow, timeAxis, wave } from '../figures'

const count = 72
const names = [
  'pgpromote_success',
  'pgdemote_kswapd',
  'pgdemote_direct',
  'numa_hint_faults',
  'pswpin',
  'pswpout',
  'nr_free_pages',
]

/** The counters that the mock host offers. */
export function counterNames(hostId: string): CounterNames {
  return {
    host_id: hostId,
    items: names.flatMap((name) =>
      ['host', 'node:0', 'node:1'].map((scope) => ({
        scope,
        source: 'vmstat',
        name,
        kind: name.startsWith('nr_') ? ('gauge' as const) : ('counter' as const),
        unit: 'pages',
        help: `Pages counted as ${name}.`,
        trust: null,
        in_catalogue: true,
      })),
    ),
    truncated: false,
  }
}

/** One counter; names that the mock host does not offer are not supported. */
export function counter(hostId: string, name: string): CounterAnswer {
  const answer: CounterAnswer = {
    host_id: hostId,
    origin: 'simulated',
    name,
    window: mockWindow,
    axis: timeAxis(count, 300),
    status: 'ok',
    reason: null,
    series: [],
    points: count,
  }
  if (name.includes('pressure')) {
    const series = {
      scope: 'host',
      source: 'pressure.memory',
      name: 'some_total_us',
      kind: 'counter' as const,
      unit: 'us',
      resets: 0,
      trust: null,
    }
    return { ...answer, series: [{ ...series, values: wave(count, 5e8, 1e6), per_s: wave(count, 4200, 4000) }] }
  }
  if (!names.includes(name)) return { ...answer, status: 'not_supported', reason: `This kernel has no ${name}.` }
  return {
    ...answer,
    series: ['host', 'node:0', 'node:1'].map((scope, index) => ({
      scope,
      source: 'vmstat',
      name,
      kind: 'counter' as const,
      unit: 'pages',
      values: wave(count, 1e7, 1e3, index),
      per_s: wave(count, 400 - index * 120, 120, index),
      resets: 0,
      trust: null,
    })),
  }
}
