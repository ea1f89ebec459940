import { Button } from '@mantine/core'
import { useState } from 'react'
import type { KnobState } from '../../api/_generated/schema'
import { Panel } from '../../ui/layout/Panel'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ToneTag } from '../../ui/tags/ToneTag'
import { SettingValue } from '../../ui/text/SettingValue'

const columns: Column<KnobState>[] = [
  { key: 'path', header: 'Setting', cell: (row) => <span className="ts-mono">{row.path}</span> },
  {
    key: 'current',
    header: 'This host',
    cell: (row) =>
      row.current === null ? (
        <Nothing status="not_supported" reason="This kernel does not have it, or it cannot be read." />
      ) : (
        <SettingValue path={row.path} value={row.current} />
      ),
  },
  {
    key: 'norm',
    header: 'Peer hosts',
    cell: (row) =>
      row.group_norm === null ? (
        <Nothing
          status="not_enough_data"
          reason={`No value is shared by more than half of ${row.group_hosts} hosts.`}
        />
      ) : (
        <span className="ts-mono">{row.group_norm}</span>
      ),
  },
  { key: 'hosts', header: 'Hosts', numeric: true, cell: (row) => row.group_hosts },
  {
    key: 'drift',
    header: 'Drift',
    cell: (row) =>
      row.differs === null ? (
        <ToneTag tone="neutral" label="unknown" />
      ) : row.differs ? (
        <ToneTag tone="warning" label="differs" meaning="Most peer hosts have another value." />
      ) : (
        <ToneTag tone="good" label="same" />
      ),
  },
]

/** Settings compared with peer hosts: what differs first, what is the same on request. */
export function KnobStates({ knobs }: { knobs: KnobState[] | undefined }) {
  const [all, setAll] = useState(false)
  const same = knobs?.filter(({ differs }) => differs === false) ?? []
  const other = knobs?.filter(({ differs }) => differs !== false)
  return (
    <Panel
      title="Settings compared with peer hosts"
      hint="hosts that run the same services on the same kernel"
      flush
      testId="knob-states"
    >
      <DataTable
        label="Settings and their drift"
        columns={columns}
        rows={all ? knobs : other}
        rowKey={(row) => row.path}
        empty={
          same.length > 0
            ? { title: 'No setting differs', next: `All ${same.length} match the peer hosts.` }
            : { title: 'No settings to compare', next: 'The agent sends settings with its inventory.' }
        }
      />
      {same.length > 0 && (
        <Button variant="subtle" m="xs" onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? 'Hide' : 'Show'} {same.length} identical settings
        </Button>
      )}
    </Panel>
  )
}
