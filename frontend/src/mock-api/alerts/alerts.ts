import type { Alert, AlertDetail, AlertMark, AlertTimeline } from '../../api/_generated/schema'
import { mockNow, mockWindow, timeAxis } from '../figures'

const iso = (minutesAgo: number) => new Date((mockNow - minutesAgo * 60) * 1000).toISOString()

function alert(id: string, over: Partial<Alert>): Alert {
  return {
    id,
    fingerprint: `f-${id}`,
    rule_id: 'rule-1',
    rule_name: 'Free DRAM',
    severity: 'warning',
    state: 'firing',
    subject: { kind: 'host', id: 'h-1', name: 'host-01' },
    labels: { rule: 'Free DRAM', host: 'host-01', severity: 'warning' },
    value: 0.03,
    unit: 'ratio',
    threshold: 0.05,
    summary: 'host-01 has 3 % of its DRAM free',
    description: 'Below 5 % the kernel begins to demote.',
    runbook_url: 'https://example.com/runbook',
    started_at: iso(60),
    fired_at: iso(55),
    resolved_at: null,
    last_seen_at: iso(0),
    origin: 'simulated',
    acknowledged: null,
    silenced_by: [],
    inhibited_by: [],
    ...over,
  }
}

/** Alerts of the mock fleet: two fire, one of them looked after; one waits; one is over; a name is hostile. */
export const alerts: Alert[] = [
  alert('alert-1', {}),
  alert('alert-2', {
    rule_id: 'rule-2',
    rule_name: '<b>Ping-pong</b>',
    severity: 'critical',
    subject: { kind: 'service', id: 'svc-redis', name: 'prod/redis' },
    labels: { rule: 'Ping-pong', service: 'prod/redis' },
    summary: 'The same pages of prod/redis move up and down',
    acknowledged: { by: 'ana', at: iso(5), note: 'waiting for the canary' },
    started_at: iso(20),
  }),
  alert('alert-3', { state: 'pending', started_at: iso(2), fired_at: null, severity: 'info' }),
  alert('alert-4', { state: 'resolved', resolved_at: iso(100), started_at: iso(200) }),
]

/** One alert; undefined for an id that is none. */
export function alertDetail(id: string): AlertDetail | undefined {
  const found = alerts.find((candidate) => candidate.id === id)
  if (found === undefined) return undefined
  const axis = timeAxis(6, 60)
  return {
    alert: found,
    history: [
      { at: iso(60), from_state: 'ok', to_state: 'pending', value: 0.045, summary: '', reason: '' },
      { at: iso(55), from_state: 'pending', to_state: 'firing', value: 0.03, summary: '', reason: 'rule changed' },
    ],
    evidence:
      id === 'alert-2'
        ? null
        : {
            axis,
            series: [
              { key: 'value', label: 'free_dram_ratio', unit: 'ratio', values: [0.2, 0.1, 0.04, null, 0.03, 0.03] },
              { key: 'threshold', label: 'Threshold', unit: 'ratio', values: axis.times.map(() => 0.05) },
            ],
          },
    notes: id === 'alert-2' ? ['The rule is gone, so that its value is not known any more.'] : [],
  }
}

/** The stretches of all mock alerts. */
export function alertTimeline(): AlertTimeline {
  return {
    window: mockWindow,
    spans: alerts.map((found) => ({
      alert_id: found.id,
      rule_id: found.rule_id,
      rule_name: found.rule_name,
      severity: found.severity,
      subject: found.subject,
      origin: found.origin,
      state: found.state === 'resolved' ? 'firing' : found.state,
      from: found.started_at,
      to: found.resolved_at,
      value: found.value,
      summary: found.summary,
    })),
    notes: [],
  }
}

/** When alerts of a host or service fired and were resolved. */
export const alertMarks: AlertMark[] = [
  { at: iso(55), to: null, severity: 'warning', rule_name: 'Free DRAM', alert_id: 'alert-1', kind: 'fired' },
  { at: iso(100), to: null, severity: 'warning', rule_name: 'Free DRAM', alert_id: 'alert-4', kind: 'resolved' },
]
