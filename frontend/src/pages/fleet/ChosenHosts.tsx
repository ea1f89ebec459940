import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { FleetGrid } from '../../api/_generated/schema'
import { verdictText } from '../../lib/text/verdicts'
import { formatBytes } from '../../lib/units/units'
import { mostChosenHosts, writeHosts } from '../../lib/url/urlState'
import classes from './ChosenHosts.module.css'
import { HostLink } from '../shell/links'

interface ChosenHostsProps {
  hosts: FleetGrid['hosts']
  onClear: () => void
}

/** The hosts that were chosen among the tiles, the largest first, and the way to the list of exactly them. */
export function ChosenHosts({ hosts, onClear }: ChosenHostsProps) {
  if (hosts.length === 0) {
    return <p className={classes.empty}>Drag over tiles to choose hosts, or click them; Shift adds to the choice.</p>
  }
  const linked = Math.min(hosts.length, mostChosenHosts)
  const which = linked < hosts.length ? `the largest ${linked}` : linked === 1 ? 'it' : `these ${linked}`
  return (
    <section className={classes.chosen} aria-label="Chosen hosts" data-testid="chosen-hosts">
      <div className={classes.head}>
        <strong>{hosts.length === 1 ? '1 host chosen' : `${hosts.length} hosts chosen`}</strong>
        <Link to="/hosts" search={{ hosts: writeHosts(hosts.map(({ id }) => id)) }}>
          Show {which} in Hosts
        </Link>
        <Button size="compact-xs" variant="default" onClick={onClear}>
          Clear
        </Button>
      </div>
      <ul className={classes.list}>
        {hosts.slice(0, mostChosenHosts).map((host) => (
          <li key={host.id}>
            <HostLink id={host.id}>{host.name}</HostLink>
            <span>
              {host.memory_bytes === null ? 'memory not known' : formatBytes(host.memory_bytes)},{' '}
              {verdictText(host.verdict).label}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
