import { Link } from '@tanstack/react-router'
import type { HostSummary } from '../../api/_generated/schema'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'

interface VersionCount {
  version: string
  hosts: number
}

const columns: Column<VersionCount>[] = [
  { key: 'version', header: 'Agent version', cell: (row) => <span className="ts-mono">{row.version}</span> },
  { key: 'hosts', header: 'Hosts', numeric: true, cell: (row) => row.hosts },
]

function countVersions(hosts: HostSummary[]): VersionCount[] {
  const counts = new Map<string, number>()
  for (const host of hosts) {
    const version = host.agent_version ?? 'unknown'
    counts.set(version, (counts.get(version) ?? 0) + 1)
  }
  return [...counts].map(([version, count]) => ({ version, hosts: count })).sort((a, b) => b.hosts - a.hosts)
}

export function AgentVersions({ hosts }: { hosts: HostSummary[] | undefined }) {
  return (
    <DataTable
      label="Agent versions"
      columns={columns}
      rows={hosts === undefined ? undefined : countVersions(hosts)}
      rowKey={(row) => row.version}
      skeletonRows={2}
      empty={{ title: 'No agents', next: <Link to="/add-hosts">Add hosts.</Link> }}
    />
  )
}
