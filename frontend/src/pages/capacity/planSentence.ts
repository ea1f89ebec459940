import type { CapacityPlan } from '../../api/_generated/schema'
import { formatCount } from '../../lib/units/units'

type Shown = Pick<CapacityPlan, 'quarters'>

/** What a plan comes to: hosts at the end of its last quarter, without and with tiering. */
export function planSentence({ quarters }: Shown): string {
  const last = quarters.at(-1)
  if (last === undefined) return 'The plan has no quarter.'
  const { hosts_without_tiering: without, hosts_with_tiering: withTiers, quarter } = last
  const hosts = (count: number) => `${formatCount(count)} ${count === 1 ? 'host' : 'hosts'}`
  const swapped = last.hosts_with_swap
  const too = swapped === null ? '' : ` With cold memory on swap it takes ${hosts(swapped)}.`
  if (without === null && withTiers === null && swapped !== null)
    return `In ${quarter} it takes ${hosts(swapped)} with cold memory on swap; without swap, some service fits none of them.`
  if (without === null && withTiers === null) return `Some service fits none of these hosts in ${quarter}.`
  if (without === null)
    return `In ${quarter} it takes ${hosts(withTiers ?? 0)} with tiering; without, some service fits none of them.${too}`
  if (withTiers === null)
    return `In ${quarter} it takes ${hosts(without)} without tiering; with it, some service fits none of them.`
  const saved = without - withTiers
  const difference =
    saved === 0
      ? 'as many as without it'
      : `${formatCount(Math.abs(saved))} ${saved > 0 ? 'fewer' : 'more'} than without it`
  return `In ${quarter} it takes ${hosts(withTiers)} with tiering, ${difference}.${too}`
}
