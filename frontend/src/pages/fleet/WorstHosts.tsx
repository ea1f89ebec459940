import { Link } from '@tanstack/react-router'
import type { HostSummary } from '../../api/_generated/schema'
import { worstFinding } from '../../lib/findings'
import { verdictText } from '../../lib/verdicts'
import { DataTable, type Column } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { FigureText } from '../../ui/FigureText'
import { SeverityTag } from '../../ui/SeverityTag'
import { ToneTag } from '../../ui/ToneTag'
import { HostStateTag } from '../hosts/HostStateTag'
import classes from './WorstHosts.module.css'

const columns: Column<HostSummary>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: (host) => (
      <Link to="/hosts/$hostId" params={{ hostId: host.id }}>
        {host.name}
      </Link>
    ),
  },
  { key: 'state', header: 'State', cell: (host) => <HostStateTag state={host.state} /> },
  {
    key: 'finding',
    header: 'Worst finding',
    cell: (host) => {
      const finding = worstFinding(host.findings)
      return finding === null ? (
        'none'
      ) : (
        <div className={classes.finding}>
          <SeverityTag severity={finding.severity} />
          <span>
            {finding.cause} <span className={classes.fix}>{finding.fix}</span>
          </span>
        </div>
      )
    },
  },
  { key: 'more', header: 'Findings', numeric: true, cell: (host) => host.findings.length },
  {
    key: 'verdict',
    header: 'Verdict',
    cell: (host) => {
      const { label, meaning, tone } = verdictText(host.verdict)
      return <ToneTag tone={tone} label={label} meaning={meaning} />
    },
  },
  {
    key: 'psi',
    header: 'PSI some',
    numeric: true,
    cell: (host) => <FigureText figure={host.psi_memory_some_ratio} label={`Memory pressure of ${host.name}`} />,
  },
]

/** Hosts with findings, the worst first. */
export function WorstHosts({ hosts }: { hosts: HostSummary[] | undefined }) {
  return (
    <DataTable
      label="Hosts that need a look"
      columns={columns}
      rows={hosts}
      rowKey={(host) => host.id}
      skeletonRows={4}
      empty={<EmptyState title="No findings" next="No host has anything to mend in this time range." />}
    />
  )
}
