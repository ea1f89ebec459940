import { Link } from '@tanstack/react-router'
import type { Pause } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { DataTable, type Column } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { Panel } from '../../ui/Panel'
import { ProblemState } from '../../ui/ProblemState'
import { Timestamp } from '../../ui/Timestamp'

const columns: Column<Pause>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: ({ host_id: host }) =>
      host === null ? (
        'every host'
      ) : (
        <Link to="/hosts/$hostId" params={{ hostId: host }}>
          {host}
        </Link>
      ),
  },
  { key: 'scope', header: 'Paused', cell: ({ scope }) => (scope === 'all' ? 'everything' : 'heat alone') },
  { key: 'since', header: 'Since', cell: ({ since }) => <Timestamp at={since} /> },
  { key: 'actor', header: 'By', cell: ({ actor }) => actor },
]

/** Agents that were told to stop, and how they go on. */
export function PausesPanel({ pauses, load }: { pauses: Pause[] | undefined; load: LoadState }) {
  return (
    <Panel
      title="Paused agents"
      hint={
        <>
          the kill switch: <code>tierscope agents pause --host ID|--all</code>, and <code>tierscope agents resume</code>
        </>
      }
      flush
      testId="pauses"
    >
      {load.problem !== null && pauses === undefined ? (
        <ProblemState problem={load.problem} onRetry={load.retry} />
      ) : (
        <DataTable
          label="Paused agents"
          columns={columns}
          rows={pauses}
          rowKey={(row) => `${row.host_id ?? 'all'} ${row.scope}`}
          skeletonRows={1}
          empty={<EmptyState title="No agent is paused" next="All agents measure as they are set up." />}
        />
      )}
    </Panel>
  )
}
