import type { HostDetail } from '../../api/_generated/schema'
import { formatQuantity } from '../../lib/units/units'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './HostFacts.module.css'

function factsOf(host: HostDetail): [string, string][] {
  const known = (value: string | number | null) => (value === null || value === '' ? 'unknown' : String(value))
  return [
    ['Kernel', known(host.summary.kernel)],
    ['Dialect', known(host.summary.dialect)],
    ['CPU', known(host.cpu_model)],
    ['CPUs online', known(host.cpus_online)],
    ['Architecture', known(host.architecture)],
    ['Hypervisor', known(host.hardware.hypervisor)],
    ['Cgroups', known(host.cgroup_version)],
    ['Agent', known(host.summary.agent_version)],
    ['Origin', host.summary.origin],
    ['Clock skew', host.clock_skew_seconds === null ? 'unknown' : formatQuantity(host.clock_skew_seconds, 'seconds')],
    ['Boot', known(host.boot_id)],
    [
      'Labels',
      Object.entries(host.summary.labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(', ') || 'none',
    ],
  ]
}

/** Plain facts of the host from its inventory. */
export function HostFacts({ host }: { host: HostDetail | undefined }) {
  if (host === undefined) return <div style={{ height: 240 }} />
  return (
    <dl className={classes.facts}>
      {factsOf(host).map(([name, value]) => (
        <div key={name} className={classes.fact}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div className={classes.fact}>
        <dt>Inventory</dt>
        <dd>
          <Timestamp at={host.inventory_at} />
        </dd>
      </div>
    </dl>
  )
}
