import type { Ratio } from '../../api/_generated/schema'

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
