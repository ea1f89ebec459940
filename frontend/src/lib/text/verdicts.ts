/** Verdicts on a host's or service's tiering, in words. The ids are the API's. */
export interface VerdictText {
  label: string
  meaning: string
  tone: 'good' | 'info' | 'warning' | 'critical' | 'neutral'
}

const verdicts: Record<string, VerdictText> = {
  fits: { label: 'fits', meaning: 'The memory in use fits the top tier; there is nothing to move.', tone: 'good' },
  healthy: { label: 'healthy', meaning: 'Few accesses are slow, and hardly any page moves.', tone: 'good' },
  harmless_demotion: {
    label: 'harmless demotion',
    meaning: 'Pages are demoted and rarely come back; few accesses are slow.',
    tone: 'good',
  },
  spill: {
    label: 'spill',
    meaning: 'Accesses are slow, and the settings promote no page.',
    tone: 'warning',
  },
  futile_ping_pong: {
    label: 'ping-pong',
    meaning: 'The same pages are promoted and demoted repeatedly: the moves cost bandwidth and bring no benefit.',
    tone: 'critical',
  },
  limiter_bound: {
    label: 'rate limited',
    meaning: 'The promotion rate limit holds back candidates.',
    tone: 'warning',
  },
  promotion_failing: {
    label: 'promotion failing',
    meaning: 'Pages are selected for promotion but the moves fail.',
    tone: 'critical',
  },
  following_phases: {
    label: 'following phases',
    meaning: 'The hot set changes and tiering follows it.',
    tone: 'info',
  },
  swap_pressure: {
    label: 'swap pressure',
    meaning: 'Pages come back from swap: memory is too small.',
    tone: 'critical',
  },
  limit_reclaim: { label: 'limit reclaim', meaning: 'A cgroup limit, not the host, forces reclaim.', tone: 'warning' },
  stalled: {
    label: 'stalled',
    meaning: 'Hot pages stay on slow memory, and the kernel does not promote them.',
    tone: 'critical',
  },
  one_tier: {
    label: 'one tier',
    meaning: 'The kernel ranks memory without processors with DRAM: no page is demoted or promoted.',
    tone: 'warning',
  },
  slow_tier_full: {
    label: 'slow tier full',
    meaning: 'Hot pages are not promoted: DRAM is full, and the slow tier has no room for what would be demoted.',
    tone: 'critical',
  },
  tiering_off: {
    label: 'tiering disabled',
    meaning: 'The host has slower tiers, but nothing moves pages between them.',
    tone: 'warning',
  },
  not_known: {
    label: 'not known',
    meaning: 'Nothing that was measured tells whether accesses are slow.',
    tone: 'neutral',
  },
}

/** A verdict in words; one that is new to this dashboard is shown by its id. */
export function verdictText(id: string): VerdictText {
  return (
    verdicts[id] ?? { label: id.replaceAll('_', ' '), meaning: 'See the explanation in the ledger.', tone: 'neutral' }
  )
}
