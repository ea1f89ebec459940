import type { Experiment, ExperimentItem, ExperimentPlan } from '../api/_generated/schema'
import { figure, heatShare, mockNow, mockWindow } from './figures'

const at = (hours: number) => new Date((mockNow + hours * 3600) * 1000).toISOString()
const times = Array.from({ length: 48 }, (_, index) => mockNow + (index - 24) * 3600)

const common = {
  name: 'Limit promotion to 20 MB/s',
  service_id: 'svc-redis',
  service_name: 'prod/redis',
  advice_id: 'adv-2',
  author: 'ana',
  created_at: at(-30),
  change_at: at(0),
}

/** Experiments of the mock fleet: one that runs, one that ended. */
export const experiments: ExperimentItem[] = [
  {
    ...common,
    id: 'exp-1',
    state: 'running',
    planned_end: at(24),
    ended_at: null,
    verdict: null,
    why: null,
    metrics: ['throughput'],
    n_canary: 5,
    n_control: 7,
  },
  {
    ...common,
    id: 'exp-2',
    name: 'Demotion on',
    state: 'ended',
    planned_end: at(-2),
    ended_at: at(-2),
    verdict: 'improved',
    why: 'The whole interval lies above zero.',
    metrics: ['throughput'],
    n_canary: 8,
    n_control: 20,
  },
]

const hosts = (arm: string, n: number) =>
  Array.from({ length: n }, (_, index) => ({
    host_id: `h-${arm}-${index}`,
    name: `${arm}-${index}`,
    has_data: index > 0,
  }))

/** One experiment; undefined for an id that is none. */
export function experiment(id: string): Experiment | undefined {
  const item = experiments.find((found) => found.id === id)
  if (item === undefined) return undefined
  const ended = item.state === 'ended'
  return {
    ...common,
    id,
    name: item.name,
    hypothesis: 'Fewer moves, the same residency.',
    state: item.state,
    planned_end: item.planned_end,
    ended_at: item.ended_at,
    before_from: at(-24),
    settling_seconds: 1800,
    seed: 7,
    frozen: ended,
    progress_ratio: ended ? 1 : 0.4,
    verdict: item.verdict,
    why: item.why ?? 'Not final: looking early inflates false findings.',
    arms: [
      { arm: 'canary', hosts: hosts('canary', item.n_canary), n_with_data: item.n_canary - 1 },
      { arm: 'control', hosts: hosts('control', item.n_control), n_with_data: item.n_control - 1 },
    ],
    power: { hosts_per_arm_needed: 6, detectable_effect_ratio: 0.011, correlation: 0.82, why: null },
    trends: { parallel: true, p_value: 0.41, why: null },
    metrics: [
      {
        metric: 'throughput',
        label: 'Throughput',
        unit: 'count_per_s',
        direction: 'higher_is_better',
        margin_ratio: 0.01,
        effect: heatShare('experiment.effect_ratio/1', 0.034),
        effect_absolute: figure('experiment.effect/1', 1200, 'count_per_s'),
        p_value: 0.002,
        p_adjusted: 0.002,
        verdict: item.verdict,
        within_margin: false,
        why: 'The interval lies above zero.',
        series: ['canary', 'control'].map((key, arm) => ({
          key,
          label: key,
          unit: 'count_per_s',
          values: times.map((_, index) => 36_000 + 500 * Math.sin(index / 4) + (arm === 0 && index >= 24 ? 1200 : 0)),
        })),
      },
    ],
    axis: { window: mockWindow, step_seconds: 3600, resolution: '1h', times },
    notes: ['One mean per host before and after; 30 min after the change are left out.'],
  }
}

/** What an experiment could find. */
export function experimentPlan(serviceId: string, effect: number): ExperimentPlan {
  return {
    service_id: serviceId,
    metric: 'throughput',
    label: 'Throughput',
    unit: 'count_per_s',
    direction: 'higher_is_better',
    window: mockWindow,
    effect_ratio: effect,
    baseline: figure('experiment.baseline/1', 36_000, 'count_per_s'),
    spread_ratio: heatShare('experiment.spread_ratio/1', 0.04),
    correlation: 0.8,
    like_hosts: 12,
    hosts_per_arm_needed: 23,
    detectable_effect_ratio: 0.019,
    points: [3, 5, 8, 12, 20, 40, 80].map((n) => ({
      hosts_per_arm: n,
      detectable_effect_ratio: 0.047 / Math.sqrt(n / 3),
    })),
    choices: [
      { metric: 'throughput', label: 'Throughput', unit: 'count_per_s', direction: 'higher_is_better' },
      { metric: 'latency_p99', label: 'Latency, p99', unit: 'ns', direction: 'lower_is_better' },
    ],
    excluded: [{ host_id: 'h-9', name: 'host-09', why: 'another kernel: 6.1 where most run 6.12' }],
    missing: null,
    notes: [],
  }
}
