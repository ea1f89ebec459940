import type { Ledger, LedgerColumn } from '../../api/_generated/schema'
import { figure, mockNow, mockWindow, nothing, timeAxis, wave } from '../figures'

const count = 72

function column(
  key: string,
  label: string,
  rate: number | null,
  trust: LedgerColumn['trust'],
  note: string,
  unit = 'pages',
): LedgerColumn {
  const missing = (unit: string) => nothing(`tier_moves.${key}/1`, unit, 'not_supported', note)
  return {
    key,
    label,
    unit,
    counters: rate === null ? [] : [`host|vmstat|${key}`],
    trust,
    trust_note: note,
    total: rate === null ? missing(unit) : figure(`tier_moves.${key}/1`, Math.round(rate * 21600), unit),
    rate: rate === null ? missing(`${unit}_per_s`) : figure(`tier_moves.${key}_per_s/1`, rate, `${unit}_per_s`),
  }
}

function instant(secondsAgo: number): string {
  return new Date((mockNow - secondsAgo) * 1000).toISOString()
}

/** A ledger as the API answers it. */
export function ledger(subject: string): Ledger {
  const line = (key: string, label: string, level: number, phase: number, unit = 'pages_per_s') => ({
    key,
    label,
    unit,
    values: wave(count, level, level * 0.6, phase),
  })
  return {
    subject,
    origin: 'simulated',
    dialect: 'mainline',
    window: mockWindow,
    axis: timeAxis(count, 300),
    columns: [
      column(
        'promoted_pages',
        'Promoted',
        412,
        'exact',
        'Counted while kernel.numa_balancing has bit 2; a huge page counts 512.',
      ),
      column('demoted_kswapd_pages', 'Demoted by kswapd', 380, 'exact', ''),
      column('demoted_direct_pages', 'Demoted by allocating tasks', 44, 'exact', 'Holds memory.reclaim work too.'),
      column('demoted_pages', 'Demoted', 424, 'exact', 'The sum of all pgdemote lines that this kernel has.'),
      column('damon_promoted_bytes', 'Moved to the top tier by DAMON', 0.8e6, 'bound', 'Moved by schemes.', 'bytes'),
      column('damon_demoted_bytes', 'Moved to slower tiers by DAMON', 1.2e6, 'bound', 'Moved by schemes.', 'bytes'),
      column('damon_paged_out_bytes', 'Reclaimed by DAMON', null, 'not_supported', 'No scheme of DAMON.', 'bytes'),
      column(
        'promoted_anon_pages',
        'Promoted, anon',
        null,
        'not_supported',
        'Mainline does not split promotions by kind.',
      ),
      column('other_moves_pages', 'Moves of other causes', 0, 'bound', 'All moves less promotions and demotions.'),
    ],
    series: [
      line('promoted_pages', 'Promoted', 412, 0),
      line('demoted_kswapd_pages', 'Demoted by kswapd', 380, 1),
      line('demoted_direct_pages', 'Demoted by allocating tasks', 44, 2),
      line('damon_promoted_bytes', 'Moved to the top tier by DAMON', 0.8e6, 3, 'bytes_per_s'),
      line('damon_demoted_bytes', 'Moved to slower tiers by DAMON', 1.2e6, 4, 'bytes_per_s'),
      line('swap_in_pages', 'Swapped in', 3, 3),
      line('swap_out_pages', 'Swapped out', 5, 4),
    ],
    resets: [{ at: mockNow - 8000, cause: 'reboot', columns: [] }],
    ping_pong: {
      kind: 'upper_bound',
      estimate: 'the smaller of promotions and demotions, over promotions',
      ratio: figure('ping_pong.ratio/1', 0.71, 'ratio', {
        grade: 'partial',
        interval: { lo: 0, hi: 0.71, level: null, kind: 'bounds' },
      }),
      churn_pages_per_s: figure('ping_pong.churn_pages_per_s/1', 292, 'pages_per_s'),
      churn_pages_per_s_per_gib: figure('ping_pong.churn_per_gib/1', 0.38, 'pages_per_s_per_gib'),
      tier_move_bytes_per_s: figure('tier_moves.bytes_per_s/1', 3.4e6, 'bytes_per_s'),
      verdict: 'futile_ping_pong',
      explanation: 'Promotions and demotions are of the same size while the hot set is steady.',
      evidence: [{ name: 'turnover_of_top_tier', value: 1.9, unit: 'ratio' }],
      against: [{ name: 'hot_share_spread', value: 0.1, unit: 'ratio' }],
      runner_up: 'following_phases',
      states: [
        { state: 'healthy', seconds: 12_960, ratio: 0.6 },
        { state: 'futile_ping_pong', seconds: 8640, ratio: 0.4 },
      ],
      ribbon: [
        { state: 'healthy', from: instant(21_600), to: instant(8640) },
        { state: 'futile_ping_pong', from: instant(8640), to: instant(0) },
      ],
    },
    n_hosts: 1,
    services: ['shop/web', 'data/cache'].map((service, place) => ({
      service_id: `s-${place}`,
      service,
      verdict: 'healthy',
      explanation: 'Few pages move.',
      states: [],
      moves: [
        line('promoted_pages', 'Promoted', 200 - 50 * place, place),
        line('demoted_pages', 'Demoted', 180 - 50 * place, place + 1),
      ],
    })),
    page_bytes: 4096,
  }
}
