import { Link } from '@tanstack/react-router'
import type { Finding, HostSummary } from '../../api/_generated/schema'
import { groupByFinding, type FindingGroup } from '../../lib/fleet/findings'
import { EmptyState } from '../../ui/states/EmptyState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { SeverityTag } from '../../ui/tags/SeverityTag'
import { Prose } from '../../ui/text/Prose'
import classes from './WorstHosts.module.css'

type Group = FindingGroup<Finding, HostSummary>

const mostNames = 6

const columns: Column<Group>[] = [
  { key: 'severity', header: 'Severity', cell: ({ finding }) => <SeverityTag severity={finding.severity} /> },
  {
    key: 'finding',
    header: 'Finding and fix',
    cell: ({ finding }) => (
      <div className={classes.finding}>
        <Prose text={finding.cause} />
        <div className={classes.fix}>
          <Prose text={finding.fix} />
        </div>
      </div>
    ),
  },
  { key: 'count', header: 'Hosts', numeric: true, cell: ({ hosts }) => hosts.length },
  {
    key: 'hosts',
    header: 'Which',
    cell: ({ hosts }) => (
      <div className={classes.hosts}>
        {hosts.slice(0, mostNames).map((host) => (
          <Link key={host.id} to="/hosts/$hostId" params={{ hostId: host.id }}>
            {host.name}
          </Link>
        ))}
        {hosts.length > mostNames && <Link to="/hosts">and {hosts.length - mostNames} more</Link>}
      </div>
    ),
  },
]

/** Hosts with findings, by the worst finding of each: one line per cause, not one per host. */
export function WorstHosts({ hosts }: { hosts: HostSummary[] | undefined }) {
  return (
    <DataTable
      label="Hosts that need attention"
      columns={columns}
      rows={hosts === undefined ? undefined : groupByFinding<Finding, HostSummary>(hosts)}
      rowKey={(group) => group.finding.id}
      skeletonRows={4}
      empty={<EmptyState title="No findings" next="No host needs attention in this time range." />}
    />
  )
}
