import { Skeleton } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { FleetOverview } from '../../api/_generated/schema'
import { causeText, writeCause } from '../../lib/fleet/causes'
import { hostsCounted } from '../../lib/fleet/hostsAway'
import { Panel } from '../../ui/layout/Panel'
import { EmptyState } from '../../ui/states/EmptyState'
import { ToneTag } from '../../ui/tags/ToneTag'
import classes from './FleetPage.module.css'

/** As many as leave room for both maps on the first screen. */
const mostCauses = 3

function namesOf({ hosts, n_hosts: count }: FleetOverview['causes'][number]): string {
  const names = hosts.slice(0, 3).map(({ name }) => name)
  return names.join(', ') + (count > names.length ? ', …' : '')
}

/** Why hosts need attention, the gravest cause first; each leads to its hosts. */
export function CausesPanel({ fleet }: { fleet: FleetOverview | undefined }) {
  const [all, setAll] = useState(false)
  const causes = fleet?.causes ?? []
  const shown = all ? causes : causes.slice(0, mostCauses)
  return (
    <Panel
      title="Hosts in trouble"
      hint={
        fleet === undefined
          ? 'by cause, now'
          : `${fleet.hosts_in_need} of ${fleet.hosts_total} ${hostsCounted(fleet.away)}, by cause, now`
      }
      testId="fleet-causes"
      flush
    >
      {fleet === undefined ? (
        <div className={classes.note}>
          <Skeleton height={96} />
        </div>
      ) : causes.length === 0 ? (
        <EmptyState title="No host in trouble" next="No finding, grave verdict or late report of any host." />
      ) : (
        <>
          <ul className={classes.causes}>
            {shown.map((cause) => {
              const { label, meaning } = causeText(cause)
              return (
                <li key={`${writeCause(cause)} ${cause.severity}`}>
                  <Link to="/hosts" search={{ cause: writeCause(cause) }}>
                    <span className={classes.cause}>
                      <ToneTag
                        tone={cause.severity}
                        label={label}
                        meaning={[meaning, cause.fix].filter(Boolean).join(' ')}
                      />
                      <span className={classes.named}>{namesOf(cause)}</span>
                    </span>
                    <span className={classes.count}>
                      {cause.n_hosts} {cause.n_hosts === 1 ? 'host' : 'hosts'}
                    </span>
                  </Link>
                </li>
              )
            })}
          </ul>
          <div className={classes.foot}>
            {causes.length > mostCauses ? (
              <button type="button" className={classes.more} onClick={() => setAll(!all)}>
                {all ? 'Show fewer' : `Show ${causes.length - mostCauses} more`}
              </button>
            ) : (
              <span />
            )}
            <Link to="/hosts">All hosts</Link>
          </div>
        </>
      )}
    </Panel>
  )
}
