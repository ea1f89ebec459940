import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Purge } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { purgesQuery } from '../../api/queries/operate/purges'
import { formatCount, formatRatio } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { amountColumn } from '../../ui/tables/figureColumn'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Timestamp } from '../../ui/text/Timestamp'
import { PurgeReport } from '../purges/PurgeReport'

const tones = { waiting: 'neutral', running: 'info', done: 'good' } as const

/** Removals of hosts and services with what each took out of which table. */
export function RemovalsTab() {
  const query = useQuery(purgesQuery())
  const load = loadStateOf(query)
  const [opened, setOpened] = useState<string | null>(null)
  const purge = query.data?.items.find(({ id }) => id === opened)
  if (load.problem !== null && query.data === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  return (
    <Stack>
      <Panel
        title="Removed data"
        hint="a host is removed on its page under Agent and setup, a service on its page under Hosts"
        flush
        testId="removals"
      >
        <DataTable
          label="Removals"
          columns={columns(setOpened)}
          rows={query.data?.items}
          rowKey={(row) => row.id}
          skeletonRows={3}
          empty={{
            title: 'No data removed',
            next: 'Removed data cannot be restored; the audit trail records who removed it.',
          }}
        />
      </Panel>
      {purge !== undefined && (
        <Panel title={`Report on ${purge.subject.name}`}>
          <PurgeReport purge={purge} />
        </Panel>
      )}
    </Stack>
  )
}

function columns(onOpen: (id: string) => void): Column<Purge>[] {
  return [
    { key: 'subject', header: 'What', cell: (row) => <strong>{row.subject.name}</strong> },
    { key: 'kind', header: 'Kind', cell: (row) => row.kind },
    { key: 'by', header: 'By', cell: (row) => row.requested_by },
    { key: 'at', header: 'Requested', cell: (row) => <Timestamp at={row.requested_at} /> },
    {
      key: 'status',
      header: 'State',
      cell: (row) => (
        <ToneTag
          tone={tones[row.status]}
          label={row.status === 'running' ? `running, ${formatRatio(row.progress_ratio)}` : row.status}
        />
      ),
    },
    amountColumn('rows', 'Rows', rowsOf, formatCount),
    {
      key: 'do',
      header: '',
      cell: (row) => (
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`Report on ${row.subject.name}`}
          onClick={() => onOpen(row.id)}
        >
          Report
        </Button>
      ),
    },
  ]
}

function rowsOf({ report }: Purge): number {
  return report.reduce((sum, { rows }) => sum + rows, 0)
}
