import type { FairBasis } from '../../lib/url/fairnessUrl'

/** Definitions of fair as people read them. */
export const fairBasisLabels: Record<FairBasis, string> = {
  hot: 'Hot memory',
  resident: 'Resident memory',
  protection: 'memory.low, memory.min',
  limit: 'memory.high, memory.max',
}
