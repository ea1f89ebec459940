import { Tooltip } from '@mantine/core'
import type { NodeInfo } from '../../../api/_generated/schema'
import { tierColour } from '../../../lib/palette'
import { formatBytes } from '../../../lib/units/units'
import classes from './NodeCard.module.css'
import { WatermarkBar } from './WatermarkBar'

function pair(read: number | null, write: number | null, unit: string): string {
  if (read === null && write === null) return 'unknown'
  const part = (value: number | null) => (value === null ? '–' : value.toLocaleString('en-US'))
  return read === write ? `${part(read)} ${unit}` : `${part(read)} / ${part(write)} ${unit}`
}

function bandwidth(node: NodeInfo): string {
  // As flows are told elsewhere.
  const gb = (mib: number | null) => (mib === null ? null : Math.round((mib * 1024 ** 2) / 1e9))
  return pair(gb(node.read_bandwidth_mib_per_s), gb(node.write_bandwidth_mib_per_s), 'GB/s')
}

interface NodeCardProps {
  node: NodeInfo
  /** Size of the host's largest node: bars are drawn to one scale. */
  largestBytes: number
}

/** One NUMA node: size, use by kind, free memory against the watermarks, latency and bandwidth. */
export function NodeCard({ node, largestBytes }: NodeCardProps) {
  const facts: [string, string][] = [
    ['CPUs', node.cpulist === '' ? 'none' : node.cpulist],
    ['Latency', pair(node.read_latency_ns, node.write_latency_ns, 'ns')],
    ['Bandwidth', bandwidth(node)],
    ['Distances', node.distances.length === 0 ? 'unknown' : node.distances.join(' ')],
  ]
  return (
    <div className={classes.card} data-testid={`node-${node.id}`}>
      <div className={classes.head}>
        <Tooltip label={node.tier_evidence}>
          <strong>
            <span className={classes.swatch} style={{ background: tierColour(node.tier_class) }} />
            node {node.id}
          </strong>
        </Tooltip>
        <span>
          {node.free_bytes === null || node.memory_bytes === null
            ? 'use unknown'
            : `${formatBytes(node.free_bytes)} free of ${formatBytes(node.memory_bytes)}`}
        </span>
      </div>
      <WatermarkBar node={node} largestBytes={largestBytes} />
      <dl className={classes.facts}>
        {facts.map(([name, value]) => (
          <div key={name} className={classes.fact}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
