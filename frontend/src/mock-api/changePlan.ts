import type {
  CanaryProposal,
  ChangePlan,
  DriftCell,
  PlanBundle,
  PlanChange,
  PlanHost,
  SettingDrift,
} from '../api/_generated/schema'
import { figure, mockNow, nothing } from './figures'

const at = new Date(mockNow * 1000).toISOString()
const gib = 1024 ** 3

function host(number: number, current: string, stake: number | null): PlanHost {
  return {
    host_id: `h-${number}`,
    name: `host-0${number}`,
    origin: 'simulated',
    service_ids: ['svc-redis'],
    service_names: ['prod/redis'],
    current,
    stake_bytes: stake,
    advice_id: `adv-${number}`,
    refreshed_at: at,
  }
}

const limit: PlanChange = {
  id: 'kernel_numa_balancing_promote_rate_limit_MBps_48',
  path: '/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps',
  setting: 'kernel.numa_balancing_promote_rate_limit_MBps',
  proposed: '48',
  title: 'Limit the rate of promotion',
  rules: ['F4'],
  values: [
    { value: '65536', hosts: 2 },
    { value: '256', hosts: 1 },
  ],
  reasons: [{ verdict: 'futile_ping_pong', hosts: 3, explanation: '1,400 pages/s go up and come down.' }],
  evidence: [
    { metric: 'promoted pages', value: 1400, unit: 'pages/s', figure: figure('x/1', 1400, 'pages_per_s') },
    { metric: 'hot share', value: 0.9, unit: 'share', figure: null },
  ],
  effect: 'Promotion stays below the limit.',
  effect_figure: figure('knobs.effect.promotion/1', 48 * 1024 ** 2, 'bytes_per_s', { grade: 'early' }),
  risk: 'Placement follows a new hot set more slowly.',
  verify: 'Promotion stays below the limit.',
  verify_command: 'cat /proc/sys/kernel/numa_balancing_promote_rate_limit_MBps   # prints 48',
  stake_bytes: figure('knobs.stake_bytes/1', 30 * gib, 'bytes', { grade: 'early', n_hosts: 3 }),
  grade: 'early',
  belongs_with: [],
  service_names: ['prod/redis'],
  hosts: [host(1, '65536', 20 * gib), host(2, '65536', 10 * gib), host(3, '256', null)],
}

const demotion: PlanChange = {
  ...limit,
  id: 'numa_demotion_enabled_1',
  path: '/sys/kernel/mm/numa/demotion_enabled',
  setting: '/sys/kernel/mm/numa/demotion_enabled',
  proposed: '1',
  title: 'Demote to CXL before swapping',
  rules: ['F2'],
  values: [{ value: 'false', hosts: 1 }],
  effect_figure: null,
  verify_command: 'cat /sys/kernel/mm/numa/demotion_enabled   # prints true',
  stake_bytes: nothing('knobs.stake_bytes/1', 'bytes', 'not_collected', 'Heat of these hosts is not known.'),
  grade: null,
  hosts: [host(1, 'false', null)],
}

/** The change plan of the mock fleet: a limit on three hosts, and a switch on one of them. */
export const changePlan: ChangePlan = {
  made_at: at,
  host_count: 3,
  stake_bytes: figure('knobs.stake_bytes/1', 30 * gib, 'bytes', { grade: 'early', n_hosts: 3 }),
  changes: [limit, demotion],
  conflicts: [],
  left_out: [{ host_id: 'h-4', name: 'host-04', path: '/proc/sys/vm/swappiness', why: 'it has 60 already' }],
  notes: ['Tierscope changes nothing on hosts: a bundle is text that you apply yourself.'],
}

/** The files of some changes. */
export function planBundle(changes: string[]): PlanBundle {
  return {
    made_at: at,
    change_ids: changes,
    host_count: 3,
    files: [
      { name: 'README.txt', text: 'Tierscope changes nothing on hosts.\n' },
      { name: 'apply.yml', text: `# ${changes.join(' ')}\n` },
    ],
  }
}

/** Arms for a change: one canary host less than are asked for stays as a control. */
export function canaryProposal(change: string, canaries: number, service = 'svc-redis'): CanaryProposal {
  const hosts = [1, 2, 3].map((number) => ({ host_id: `h-${number}`, name: `host-0${number}`, gets_advice: true }))
  return {
    change_id: change,
    setting: limit.setting,
    proposed: '48',
    title: limit.title,
    service_id: service,
    service_name: 'prod/redis',
    services: [
      { service_id: 'svc-redis', service_name: 'prod/redis', hosts: 3 },
      { service_id: 'svc-pg', service_name: 'prod/postgres', hosts: 1 },
    ],
    advice_id: 'adv-1',
    experiment_name: 'Limit the rate of promotion: 48',
    hypothesis: 'Promotion stays below the limit.',
    canary: hosts.slice(0, canaries),
    control: hosts.slice(canaries),
    excluded: [],
    missing: null,
    notes: ['One canary host tells little.'],
  }
}

function cell(state: DriftCell['state'], value: string | null, norm: string | null): DriftCell {
  return { state, value, group_norm: norm, group_hosts: 11 }
}

/** Two hosts that are set otherwise than most of their peers. */
export const settingDrift: SettingDrift = {
  at,
  hosts_compared: 12,
  hosts_without_peers: 2,
  hosts_without_settings: 1,
  hosts_differing: 2,
  settings: [
    { path: '/proc/sys/vm/swappiness', hosts: 2 },
    { path: '/sys/kernel/mm/numa/demotion_enabled', hosts: 1 },
  ],
  hosts: [
    {
      host_id: 'h-1',
      name: 'host-01',
      kernel_release: '6.12.0',
      service_ids: ['svc-redis'],
      service_names: ['prod/redis'],
      differing: 2,
      cells: [cell('differs', '100', '60'), cell('differs', 'false', 'true')],
    },
    {
      host_id: 'h-2',
      name: 'host-02',
      kernel_release: null,
      service_ids: ['svc-redis'],
      service_names: ['prod/redis'],
      differing: 1,
      cells: [cell('differs', '10', '60'), cell('not_collected', null, 'true')],
    },
  ],
  notes: ['Different is not wrong.'],
}
