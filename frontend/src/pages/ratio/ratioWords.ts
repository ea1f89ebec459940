import type { Ratio, RatioParts, RatioStep } from '../../api/_generated/schema'
import { formatRatio } from '../../lib/units/units'

type Range = Ratio['range']
type Doubt = Ratio['uncertainty'][number]['source']
type Constraint = Ratio['binding'][number]

/** Sources of doubt in a few words. */
export const doubtNames: Record<Doubt, string> = {
  slowdown: 'how much the service slows down',
  latency: 'the latency of slow memory',
  share_on_slow: 'accesses on slow memory',
  placement: 'where pages are placed',
  hours: 'hours not seen',
  days: 'days not seen',
  hosts: 'hosts not seen',
}

/** What keeps less DRAM from being safe. */
export function constraintName(constraint: Constraint): string {
  return { loss: 'loss of throughput', bandwidth: 'bandwidth', hot_bytes: 'hot memory' }[constraint]
}

/** Both ends of a range; the one where they are equal. */
export function rangeText(range: Range): string {
  if (range === null) return 'no answer'
  const [safe, plausible] = [range.safe ?? 'all DRAM', range.plausible ?? 'all DRAM']
  return safe === plausible ? safe : `${safe} to ${plausible}`
}

const dayAndMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** How much of the time that establishes an answer was seen, and the day (UTC) on which it is complete. */
export function firmWords({ days, days_needed: needed, established_at: at }: RatioParts): string {
  if (at === null) return 'established; whiskers: interval of each part, and the ends of the answer'
  const seen = `${Number(Math.min(days, needed).toFixed(1))} of ${needed} days`
  return days >= needed
    ? `${seen}; hosts or samples are missing, see what would firm it up`
    : `${seen}, firm on ${dayAndMonth.format(new Date(at))} at the earliest`
}

/** What a step alone would narrow the answer to; null where that cannot be foretold. */
export function narrowingWords({ narrows }: RatioStep): string | null {
  if (narrows === null) return null
  const { plausible_dram_ratio: low, safe_dram_ratio: high, narrowed_ratio: part } = narrows
  if (part < 0.005) return 'would not narrow the answer by itself'
  return `would narrow it by ${Math.round(part * 100)} %, to ${formatRatio(low)} – ${formatRatio(high)} of the memory in DRAM, if it finds what is expected today`
}
