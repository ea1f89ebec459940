import type { Incident } from '../../api/_generated/schema'
import { figure, mockNow, nothing, timeAxis } from '../figures'
import { alerts } from './alerts'

const iso = (minutesAgo: number) => new Date((mockNow - minutesAgo * 60) * 1000).toISOString()

/** The incident of an alert: it fired 15 minutes after its condition began to hold; no service sends throughput. */
export function incident(id: string): Incident | undefined {
  const alert = alerts.find((candidate) => candidate.id === id)
  if (alert === undefined) return undefined
  const axis = timeAxis(24, 600)
  const line = (value: number) => axis.times.map((_, index) => (index === 5 ? null : value + index))
  const series = (key: string, label: string, unit: string, value: number) => ({
    key,
    label,
    unit,
    values: line(value),
  })
  const host = (hostId: string, name: string, verdict: string) => ({
    host_id: hostId,
    host_name: name,
    verdict,
    explanation: 'The same pages go round.',
    promotion_pages_per_s: figure('tier_moves.promoted_pages_per_s/1', 5200, 'pages_per_s'),
    demotion_pages_per_s: figure('tier_moves.demoted_pages_per_s/1', 5100, 'pages_per_s'),
    psi_memory_some_ratio: nothing('psi.memory_some_ratio/1', 'ratio', 'not_supported', 'This kernel has no PSI.'),
  })
  return {
    alert_id: alert.id,
    kind: 'tiering',
    subject: alert.subject,
    origin: alert.origin,
    window: axis.window,
    judged: { start: iso(70), end: iso(0) },
    axis,
    onset: {
      held_at: iso(70),
      pending_at: iso(60),
      fired_at: alert.fired_at,
      resolved_at: alert.resolved_at,
      why: ['The rule fires once the condition held in 5 evaluated minutes in a row (its `for`).'],
    },
    ribbon: [
      { from: axis.window.start, to: iso(70), state: 'healthy' },
      { from: iso(70), to: iso(0), state: 'futile_ping_pong' },
    ],
    rows: [
      {
        key: 'tier_moves',
        label: 'Tier moves',
        status: 'ok',
        reason: null,
        series: [
          series('promoted_pages', 'Promoted', 'pages_per_s', 100),
          series('demoted_pages', 'Demoted', 'pages_per_s', 50),
        ],
      },
      {
        key: 'free_memory',
        label: 'Free memory, top tier',
        status: 'ok',
        reason: null,
        series: [
          series('top_free_bytes', 'Free in the top tier', 'bytes', 300 * 1024 ** 2),
          series('top_low_watermark_bytes', 'Low watermark', 'bytes', 200 * 1024 ** 2),
        ],
      },
      {
        key: 'pressure',
        label: 'Memory pressure',
        status: 'ok',
        reason: null,
        series: [series('psi_some_ratio', 'Memory pressure, some', 'ratio', 0.02)],
      },
      { key: 'refaults', label: 'Refaults', status: 'not_supported', reason: 'No workingset counters.', series: [] },
      {
        key: 'throughput',
        label: 'Throughput',
        status: 'not_collected',
        reason: 'Map it under `[[service_metrics]]`.',
        series: [],
      },
    ],
    events: [
      {
        id: '7',
        at: iso(75),
        kind: 'deploy',
        text: 'release <b>42</b>',
        host_id: 'h-1',
        service_id: null,
        author: 'ci',
      },
    ],
    cause: {
      host_id: 'h-1',
      host_name: 'host-01',
      verdict: 'futile_ping_pong',
      explanation: 'The hot set does not fit in DRAM. (likely)',
      evidence: [{ name: 'turned_over', value: 1.3, unit: 'times' }],
      against: [{ name: 'throughput_gain', value: 0.01, unit: 'ratio' }],
      runner_up: 'following_phases',
    },
    hosts: [host('h-1', 'host-01', 'futile_ping_pong'), host('h-2', 'host-02', 'healthy')],
    services: [
      {
        service_id: 'svc-redis',
        service: 'prod/redis',
        verdict: 'futile_ping_pong',
        explanation: 'Its own pages go round.',
        states: [],
        moves: [],
      },
    ],
    shared: {
      reason: null,
      taken: [
        {
          host_id: 'h-1',
          host: 'host-01',
          victim_id: 'svc-redis',
          victim: 'prod/redis',
          taker_id: 'svc-batch',
          taker: 'prod/batch',
          pages: figure('fairness.pushed_pages/1', 51_200, 'pages', {
            interval: { lo: 40_000, hi: 60_000, level: null, kind: 'bounds' },
          }),
          sureness: 'counted',
          victim_over_bytes: figure('fairness.over_bytes/1', -(2 ** 30), 'bytes'),
          taker_over_bytes: figure('fairness.over_bytes/1', 2 ** 30, 'bytes'),
          sentence: 'prod/batch took fast memory of prod/redis on host-01: 51,200 pages were demoted.',
        },
      ],
    },
    notes: [],
  }
}
