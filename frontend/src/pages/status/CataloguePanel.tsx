import { IconFilter } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Metric } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { catalogueQuery } from '../../api/queries/operate/status'
import { Panel } from '../../ui/layout/Panel'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { TextField } from '../../ui/inputs/fields'

const columns: Column<Metric>[] = [
  { key: 'name', header: 'Metric', cell: (metric) => <span className="ts-mono">{metric.name}</span> },
  { key: 'source', header: 'Source', cell: (metric) => <span className="ts-mono">{metric.source}</span> },
  { key: 'kind', header: 'Kind', cell: (metric) => metric.kind },
  { key: 'unit', header: 'Unit', cell: (metric) => metric.unit },
  { key: 'scopes', header: 'Scopes', cell: (metric) => metric.scopes.join(', ') },
  { key: 'kernel', header: 'Kernel', cell: (metric) => metric.kernel },
  { key: 'help', header: 'Meaning', cell: (metric) => metric.help },
]

const mostRows = 15

/** What Tierscope knows by name: unit, kind, scopes, kernel, meaning. */
export function CataloguePanel() {
  const [filter, setFilter] = useState('')
  const query = useQuery(catalogueQuery())
  const load = loadStateOf(query)
  const found = query.data?.items.filter((metric) =>
    `${metric.source} ${metric.name} ${metric.help}`.toLowerCase().includes(filter.toLowerCase()),
  )
  return (
    <Panel
      title="Metric catalogue"
      hint={
        found === undefined
          ? undefined
          : `${Math.min(mostRows, found.length)} of ${found.length} shown; counters outside the catalogue are stored as well`
      }
      actions={
        <TextField
          aria-label="Filter the catalogue"
          placeholder="Filter"
          leftSection={<IconFilter size={14} />}
          value={filter}
          onText={setFilter}
        />
      }
      flush
    >
      <DataTable
        load={load}
        label="Metric catalogue"
        columns={columns}
        rows={found?.slice(0, mostRows)}
        allRows={found}
        rowKey={(metric) => `${metric.source}|${metric.name}`}
        empty={{ title: 'No matching metric', next: 'Try a part of its kernel name.' }}
      />
    </Panel>
  )
}
