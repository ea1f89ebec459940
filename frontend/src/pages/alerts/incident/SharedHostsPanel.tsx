import type { SharedHosts, TakenMemory } from '../../../api/_generated/schema'
import { Panel } from '../../../ui/layout/Panel'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { ToneTag, type Tone } from '../../../ui/tags/ToneTag'
import { Prose } from '../../../ui/text/Prose'
import { HostLink } from '../../shell/links'

const sureness: Record<TakenMemory['sureness'], { tone: Tone; meaning: string }> = {
  counted: { tone: 'warning', meaning: 'At least some pages by counting alone.' },
  correlated: { tone: 'info', meaning: 'What one took and what the other lost go along over time.' },
  possible: { tone: 'neutral', meaning: 'Neither counted nor correlated.' },
}

const columns: Column<TakenMemory>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: (row) => (
      <HostLink id={row.host_id} tab="fairness">
        {row.host}
      </HostLink>
    ),
  },
  labelledColumn('pages', 'Demoted pages', (row) => [row.pages, 'Demoted pages']),
  {
    key: 'sureness',
    header: 'Sureness',
    cell: (row) => <ToneTag {...sureness[row.sureness]} label={row.sureness} />,
  },
  { key: 'sentence', header: 'Who took whose', cell: (row) => <Prose text={row.sentence} /> },
]

/** Who took whose fast memory on the hosts of an incident, while its condition held. */
export function SharedHostsPanel({ shared, when }: { shared: SharedHosts | undefined; when: string | undefined }) {
  return (
    <Panel title="Who took whose fast memory" hint={when} flush testId="incident-shared">
      <DataTable
        label="Who took whose fast memory"
        columns={columns}
        rows={shared?.taken}
        rowKey={(row) => `${row.host_id} ${row.victim_id} ${row.taker_id}`}
        skeletonRows={2}
        empty={{ title: 'Nobody', next: shared?.reason ?? 'Services that share a host are told apart here.' }}
      />
    </Panel>
  )
}
