import { Skeleton } from '@mantine/core'
import type { NodeInfo, SwapInfo } from '../../../api/_generated/schema'
import { tierColour } from '../../../lib/palette'
import { formatBytes } from '../../../lib/units/units'
import { EmptyState } from '../../../ui/states/EmptyState'
import { NodeCard } from './NodeCard'
import classes from './Topology.module.css'

interface Tier {
  name: string
  rank: number
  nodes: NodeInfo[]
}

/** Nodes grouped by tier class, the fastest tier first; tiers without a known rank come last. */
function tiersOf(nodes: NodeInfo[]): Tier[] {
  const tiers = new Map<string, Tier>()
  for (const node of nodes) {
    const tier = tiers.get(node.tier_class) ?? { name: node.tier_class, rank: node.tier_rank ?? Infinity, nodes: [] }
    tier.rank = Math.min(tier.rank, node.tier_rank ?? Infinity)
    tier.nodes.push(node)
    tiers.set(node.tier_class, tier)
  }
  const order = ['hbm', 'dram', 'cxl', 'pmem', 'gpu']
  const place = (name: string): number => (order.indexOf(name) + order.length + 1) % (order.length + 1)
  return [...tiers.values()].sort((a, b) => place(a.name) - place(b.name) || a.rank - b.rank)
}

interface TopologyProps {
  nodes: NodeInfo[] | undefined
  swaps: SwapInfo[] | undefined
  /** Whether an agent reports the host, which sends an inventory. */
  byAgent: boolean
}

/** The host's memory as a drawing: one band per tier, fastest on top, one card per NUMA node, swap at the bottom. */
export function Topology({ nodes, swaps, byAgent }: TopologyProps) {
  if (nodes === undefined) return <Skeleton height={220} />
  if (nodes.length === 0)
    return byAgent ? (
      <EmptyState title="No inventory yet" next="The agent sends it with its first upload and whenever it changes." />
    ) : (
      <EmptyState title="Memory by node is not collected" next="Nothing that reports this host sends its nodes." />
    )
  const largest = Math.max(1, ...nodes.map((node) => node.memory_bytes ?? 0))
  return (
    <div className={classes.tiers}>
      {tiersOf(nodes).map((tier) => (
        <section
          key={tier.name}
          className={classes.tier}
          style={{ borderLeftColor: tierColour(tier.name) }}
          aria-label={`Tier ${tier.name}`}
        >
          <h3 className={classes.name}>
            {tier.name.toUpperCase()}
            <span className={classes.total}>
              {tier.nodes.some((node) => node.memory_bytes !== null)
                ? formatBytes(tier.nodes.reduce((sum, node) => sum + (node.memory_bytes ?? 0), 0))
                : 'size unknown'}
            </span>
          </h3>
          <div className={classes.nodes}>
            {tier.nodes.map((node) => (
              <NodeCard key={node.id} node={node} largestBytes={largest} />
            ))}
          </div>
        </section>
      ))}
      {swaps !== undefined && swaps.length > 0 && (
        <section className={classes.tier} style={{ borderLeftColor: tierColour('swap') }} aria-label="Swap">
          <h3 className={classes.name}>
            SWAP
            <span className={classes.total}>{formatBytes(swaps.reduce((sum, swap) => sum + swap.size_bytes, 0))}</span>
          </h3>
          <ul className={classes.swaps}>
            {swaps.map((swap) => (
              <li key={swap.name}>
                <span className="ts-mono">{swap.name}</span> {swap.kind}, {formatBytes(swap.used_bytes)} of{' '}
                {formatBytes(swap.size_bytes)} used, priority {swap.priority}
                {swap.zoned !== null && `, ${swap.zoned}`}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}
