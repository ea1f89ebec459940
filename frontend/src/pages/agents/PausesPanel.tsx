import type { Pause } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { Panel } from '../../ui/layout/Panel'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { Timestamp } from '../../ui/text/Timestamp'
import { useSession } from '../shell/access/useSession'
import { ResumeButton } from './PauseControl'
import { HostLink } from '../shell/links'

const columns: Column<Pause>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: ({ host_id: host }) => (host === null ? 'every host' : <HostLink id={host}>{host}</HostLink>),
  },
  { key: 'scope', header: 'Paused', cell: ({ scope }) => (scope === 'all' ? 'everything' : 'heat only') },
  { key: 'since', header: 'Since', cell: ({ since }) => <Timestamp at={since} /> },
  { key: 'actor', header: 'By', cell: ({ actor }) => actor },
]

const resume: Column<Pause> = {
  key: 'resume',
  header: '',
  cell: ({ host_id: hostId, scope }) => (
    <ResumeButton hostId={hostId} heatOnly={scope === 'heat'} what={hostId ?? 'every host'} />
  ),
}

/** Agents that were told to stop, and how they go on. */
export function PausesPanel({ pauses, load }: { pauses: Pause[] | undefined; load: LoadState }) {
  const { may } = useSession()
  return (
    <Panel
      title="Paused agents"
      hint={
        <>
          one host is paused on its page under Agent and setup; all of them by <code>tierscope agents pause --all</code>
        </>
      }
      flush
      testId="pauses"
    >
      <DataTable
        load={load}
        label="Paused agents"
        columns={may('operate:agents') ? [...columns, resume] : columns}
        rows={pauses}
        rowKey={(row) => `${row.host_id ?? 'all'} ${row.scope}`}
        skeletonRows={1}
        empty={{ title: 'No paused agents', next: 'All agents measure as configured.' }}
      />
    </Panel>
  )
}
