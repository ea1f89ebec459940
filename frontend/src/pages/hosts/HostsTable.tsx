import { Link } from '@tanstack/react-router'
import type { HostSummary } from '../../api/_generated/schema'
import { sufferingsOf, troubleOf } from '../../lib/fleet/causes'
import { worstFinding } from '../../lib/fleet/findings'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { labelledColumn, timeColumn } from '../../ui/tables/figureColumn'
import { SeverityTag } from '../../ui/tags/SeverityTag'
import { ToneTag } from '../../ui/tags/ToneTag'
import { TierTags } from '../../ui/tags/TierTags'
import { VerdictTag } from '../../ui/tags/VerdictTag'
import { useNow } from '../shell/time/useNow'
import { HostStateTag } from './HostStateTag'
import classes from './HostsTable.module.css'
import { HostLink } from '../shell/links'

const severityOrder = { critical: 3, warning: 2, info: 1 } as const

function columnsAt(now: Date): Column<HostSummary>[] {
  return [
    {
      key: 'name',
      header: 'Host',
      sortBy: (host) => host.name,
      cell: (host) => <HostLink id={host.id}>{host.name}</HostLink>,
    },
    {
      key: 'state',
      header: 'State',
      sortBy: (host) => host.state,
      cell: (host) => <HostStateTag state={host.state} />,
    },
    timeColumn('seen', 'Last seen', (host) => host.last_seen, now),
    { key: 'tiers', header: 'Tiers', cell: (host) => <TierTags tiers={host.tiers} /> },
    labelledColumn('memory', 'Memory', (host) => [host.memory_bytes, `Memory of ${host.name}`], { sorted: true }),
    labelledColumn(
      'promoted',
      'Promoted\npages/s',
      (host) => [host.promotion_pages_per_s, `Promotions of ${host.name}`],
      { sorted: true, bare: true },
    ),
    labelledColumn('demoted', 'Demoted\npages/s', (host) => [host.demotion_pages_per_s, `Demotions of ${host.name}`], {
      sorted: true,
      bare: true,
    }),
    labelledColumn('psi', 'PSI\nsome', (host) => [host.psi_memory_some_ratio, `Memory pressure of ${host.name}`], {
      sorted: true,
    }),
    {
      key: 'trouble',
      header: 'Verdict',
      sortBy: troubleOf,
      cell: (host) => (
        <>
          <VerdictTag verdict={host.verdict} />{' '}
          {sufferingsOf(host)
            .filter(({ kind }) => kind === 'setting')
            .map(({ key, tone, label, meaning }) => (
              <ToneTag key={key} tone={tone} label={label} meaning={meaning} />
            ))}
        </>
      ),
    },
    {
      key: 'findings',
      header: 'Findings',
      sortBy: (host) =>
        severityOrder[worstFinding(host.findings)?.severity ?? 'info'] * (host.findings.length > 0 ? 1 : 0),
      cell: (host) => {
        const worst = worstFinding(host.findings)
        return worst === null ? (
          'none'
        ) : (
          <span title={worst.cause}>
            <SeverityTag severity={worst.severity} />
          </span>
        )
      },
    },
    {
      key: 'kernel',
      header: 'Kernel',
      sortBy: (host) => host.kernel,
      cell: (host) => (
        <span className={`ts-mono ${classes.kernel ?? ''}`} title={host.kernel ?? undefined}>
          {host.kernel ?? 'unknown'}
        </span>
      ),
    },
  ]
}

interface HostsTableProps {
  hosts: HostSummary[] | undefined
  sort: string
  onSort: (sort: string) => void
}

/** Hosts with their state, tiers, tier moves and findings. */
export function HostsTable({ hosts, sort, onSort }: HostsTableProps) {
  const now = useNow()
  return (
    <DataTable
      stacks
      label="Hosts"
      columns={columnsAt(now)}
      rows={hosts}
      rowKey={(host) => host.id}
      sort={sort}
      onSort={onSort}
      skeletonRows={12}
      empty={{
        title: 'No hosts',
        next: (
          <>
            Clear the filter, or <Link to="/add-hosts">add hosts</Link>.
          </>
        ),
      }}
    />
  )
}
