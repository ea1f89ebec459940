import type { AlertRouting, Notification, Silence } from '../../api/_generated/schema'
import { mockNow } from '../figures'

const iso = (minutes: number) => new Date((mockNow + minutes * 60) * 1000).toISOString()

/** A silence that holds, and one that is over. */
export const silences: Silence[] = [
  {
    id: 'sil-1',
    matchers: [{ name: 'service', op: '=~', value: 'prod/.*' }],
    starts_at: iso(-30),
    ends_at: iso(90),
    comment: 'planned work',
    created_by: 'ana',
    created_at: iso(-30),
    status: 'active',
    matches: ['alert-2'],
  },
  {
    id: 'sil-2',
    matchers: [{ name: 'rule', op: '=', value: 'Free DRAM' }],
    starts_at: iso(-900),
    ends_at: iso(-600),
    comment: 'last week',
    created_by: 'ben',
    created_at: iso(-900),
    status: 'expired',
    matches: [],
  },
]

/** Two receivers, one of which lacks its secret, and a route with one inside. */
export const routing: AlertRouting = {
  receivers: [
    {
      name: 'pager',
      kind: 'pagerduty',
      settings: { routing_key: '${TIERSCOPE_SECRET_PAGER}' },
      secrets: [{ field: 'routing_key', source: 'environment', name: 'TIERSCOPE_SECRET_PAGER', is_set: false }],
    },
    { name: 'team', kind: 'mail', settings: { to: ['ops@example.com'], send_resolved: false }, secrets: [] },
  ],
  routes: [
    {
      matchers: [],
      receiver: 'team',
      group_by: ['alertname'],
      group_wait_seconds: 30,
      group_interval_seconds: 600,
      repeat_interval_seconds: 14_400,
      continue: false,
      routes: [
        {
          matchers: [{ name: 'severity', op: '=', value: 'critical' }],
          receiver: 'pager',
          continue: false,
          routes: [],
        },
      ],
    },
  ],
  inhibitions: [
    {
      source_matchers: [{ name: 'rule', op: '=', value: 'Agent silent' }],
      target_matchers: [{ name: 'severity', op: '=', value: 'warning' }],
      equal: ['host'],
    },
  ],
  version: 3,
  updated_at: iso(-500),
  updated_by: 'ana',
}

/** One notification that arrived, and one that was given up. */
export const notifications: Notification[] = [
  {
    id: 'n-1',
    receiver: 'team',
    kind: 'mail',
    reason: 'firing',
    status: 'delivered',
    group_labels: { alertname: 'Free DRAM' },
    firing: 1,
    resolved: 0,
    created_at: iso(-55),
    attempts: 1,
    next_attempt_at: null,
    delivered_at: iso(-54),
    given_up_at: null,
    status_code: null,
    said: null,
  },
  {
    id: 'n-2',
    receiver: 'pager',
    kind: 'pagerduty',
    reason: 'firing',
    status: 'dead',
    group_labels: {},
    firing: 2,
    resolved: 1,
    created_at: iso(-300),
    attempts: 8,
    next_attempt_at: null,
    delivered_at: null,
    given_up_at: iso(-200),
    status_code: 403,
    said: 'the key was refused',
  },
]
