import type { PingPongHistory } from '../../api/_generated/schema'
import { figure, mockNow, mockWindow, nothing, timeAxis, wave } from '../figures'

const count = 72
const moment = (hoursAgo: number): string => new Date((mockNow - hoursAgo * 3600) * 1000).toISOString()

function stateAt(index: number, known: boolean): PingPongHistory['states'][number] {
  if (!known) return null
  return index < 20 ? 'ok' : index < 34 ? 'warn' : index < 50 ? 'crit' : 'ok'
}

/** Ping-pong over time as the API answers it: an upper bound, with all states and a gap. */
export function pingPongHistory(subject: string): PingPongHistory {
  const line = (key: string, label: string, unit: string, level: number, phase: number) => ({
    key,
    label,
    unit,
    values: wave(count, level, level * 0.4, phase),
  })
  const ratio = wave(count, 0.4, 0.3, 1)
  return {
    subject,
    origin: 'simulated',
    window: mockWindow,
    kind: 'upper_bound',
    state: 'warn',
    ratio: figure('ping_pong.churn_ratio/1', 0.41, 'ratio', {
      interval: { lo: 0, hi: 0.71, level: null, kind: 'bounds' },
    }),
    churn_pages_per_s: figure('ping_pong.churn_pages_per_s/1', 292, 'pages_per_s'),
    churn_pages_per_s_per_gib: figure('ping_pong.churn_pages_per_s_per_gib/1', 0.38, 'pages_per_s_per_gib'),
    axis: timeAxis(count, 300),
    series: [
      { key: 'ping_pong_ratio', label: 'Ping-pong, at most', unit: 'ratio', values: ratio },
      line('promoted_pages_per_s', 'Promoted', 'pages_per_s', 412, 0),
      line('demoted_pages_per_s', 'Demoted', 'pages_per_s', 424, 1),
      line('top_residency_ratio', 'In the top tier', 'ratio', 0.61, 2),
      line('throughput_per_s', 'Throughput', 'count_per_s', 48_000, 3),
    ],
    states: ratio.map((value, index) => stateAt(index, value !== null)),
    spans: [
      { state: 'warn', from: moment(4.3), to: moment(3.2), why: 'at least 10 % for 3 intervals while pages moved' },
      { state: 'crit', from: moment(3.2), to: null, why: 'futile for 10 minutes: residency stands still' },
    ],
    hosts: [
      { host_id: 'h-1', host_name: 'db-001', state: 'warn', verdict: 'futile_ping_pong', explanation: 'Stands still.' },
    ],
    cost: {
      cpu_core_ratio: figure('ping_pong.cpu_core_ratio/1', 0.0135, 'ratio'),
      tier_move_bytes_per_s: figure('tier_moves.bytes_per_s/1', 3.4e6, 'bytes_per_s'),
      slow_bandwidth_ratio: nothing(
        'ping_pong.slow_bandwidth_ratio/1',
        'ratio',
        'not_collected',
        'Bandwidth was not measured: run `tierscope-agent bench`.',
      ),
      psi_some_ratio: figure('psi.memory_some_ratio/1', 0.004, 'ratio'),
    },
    verdict: 'futile_ping_pong',
    explanation: 'Promotions and demotions go on while residency and throughput stand still.',
    stop_moving: {
      advised: true,
      why: 'The moves have gained nothing for 10 minutes.',
      how: 'Set `kernel.numa_balancing` to 0 on one host, and watch throughput.',
    },
    missing: null,
    notes: ['This kernel does not tell pages apart.'],
  }
}
