import { useState } from 'react'
import type { HostAgentVersion } from '../../api/_generated/schema'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { timeColumn } from '../../ui/tables/figureColumn'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Timestamp } from '../../ui/text/Timestamp'
import { standings } from './standings'
import { HostLink } from '../shell/links'

interface AgentHostsTableProps {
  hosts: HostAgentVersion[] | undefined
  all: boolean
  now: Date
}

/** Hosts with the release of their agent. */
export function AgentHostsTable({ hosts, all, now }: AgentHostsTableProps) {
  const [sort, setSort] = useState('name')
  return (
    <DataTable
      label="Hosts and their agents"
      columns={columns(now)}
      rows={hosts}
      rowKey={(row) => row.host_id}
      sort={sort}
      onSort={setSort}
      skeletonRows={4}
      empty={
        all
          ? { title: 'No hosts enrolled', next: 'Enrol one with a join token: see below.' }
          : { title: 'No outdated agents', next: 'Every agent runs a release at least as new as this service.' }
      }
    />
  )
}

function columns(now: Date): Column<HostAgentVersion>[] {
  return [
    {
      key: 'name',
      header: 'Host',
      sortBy: (row) => row.name,
      cell: (row) => (
        <HostLink id={row.host_id} tab="setup">
          {row.name}
        </HostLink>
      ),
    },
    {
      key: 'version',
      header: 'Release',
      sortBy: (row) => row.version,
      cell: (row) => (row.version === null ? 'unknown' : <span className="ts-mono">{row.version}</span>),
    },
    {
      key: 'standing',
      header: 'Status',
      sortBy: (row) => row.standing,
      cell: (row) =>
        row.refused_at === null ? (
          <ToneTag {...standings[row.standing]} />
        ) : (
          <ToneTag
            tone="critical"
            label="refused"
            meaning="The service cannot read its data. Upgrade the agent; it buffers data on disk meanwhile."
          />
        ),
    },
    { key: 'since', header: 'Since', sortBy: (row) => row.since, cell: (row) => <Timestamp at={row.since} /> },
    timeColumn('last', 'Last seen', (row) => row.last_seen, now),
  ]
}
