import { Link } from '@tanstack/react-router'
import type { Incident, IncidentHost, ServiceState } from '../../../api/_generated/schema'
import { verdictText } from '../../../lib/text/verdicts'
import { formatWindow } from '../../../lib/units/time'
import { FigureText } from '../../../ui/figures/FigureText'
import { Columns } from '../../../ui/layout/Columns'
import { Panel } from '../../../ui/layout/Panel'
import { EmptyState } from '../../../ui/states/EmptyState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { ToneTag } from '../../../ui/tags/ToneTag'

function Verdict({ verdict, explanation }: { verdict: string; explanation: string }) {
  const { tone, label } = verdictText(verdict)
  return <ToneTag tone={tone} label={label} meaning={explanation} />
}

const hostColumns: Column<IncidentHost>[] = [
  {
    key: 'host',
    header: 'Host',
    cell: (row) => (
      <Link to="/hosts/$hostId" params={{ hostId: row.host_id }} search={{ tab: 'moves' }}>
        {row.host_name}
      </Link>
    ),
  },
  { key: 'verdict', header: 'Verdict', cell: (row) => <Verdict {...row} /> },
  {
    key: 'promoted',
    header: 'Promoted',
    numeric: true,
    cell: (row) => <FigureText figure={row.promotion_pages_per_s} label="Promoted" />,
  },
  {
    key: 'demoted',
    header: 'Demoted',
    numeric: true,
    cell: (row) => <FigureText figure={row.demotion_pages_per_s} label="Demoted" />,
  },
  {
    key: 'psi',
    header: 'Pressure, some',
    numeric: true,
    cell: (row) => <FigureText figure={row.psi_memory_some_ratio} label="Memory pressure" />,
  },
]

const serviceColumns: Column<ServiceState>[] = [
  {
    key: 'service',
    header: 'Service',
    cell: (row) => (
      <Link to="/services/$serviceId" params={{ serviceId: row.service_id }} search={{ tab: 'moves' }}>
        {row.service}
      </Link>
    ),
  },
  { key: 'verdict', header: 'Verdict', cell: (row) => <Verdict {...row} /> },
]

/** The hosts and services that an incident touched, worst first, by what was measured while the condition held. */
export function TouchedPanels({ incident }: { incident: Incident | undefined }) {
  const when =
    incident === undefined ? undefined : formatWindow(new Date(incident.judged.start), new Date(incident.judged.end))
  const hosts = (
    <Panel title="Hosts touched" hint={when} flush testId="incident-hosts">
      <DataTable
        label="Hosts touched"
        columns={hostColumns}
        rows={incident?.hosts}
        rowKey={(row) => row.host_id}
        skeletonRows={2}
        empty={<EmptyState title="No host with counters" next="See Notes below, or the list of hosts." />}
      />
    </Panel>
  )
  if (incident?.subject.kind !== 'host') return hosts
  return (
    <Columns>
      {hosts}
      <Panel title="Services touched" hint="each by its own moves and memory" flush testId="incident-services">
        <DataTable
          label="Services touched"
          columns={serviceColumns}
          rows={incident.services}
          rowKey={(row) => row.service_id}
          empty={<EmptyState title="No services on this host" next="The agent finds services by their cgroups." />}
        />
      </Panel>
    </Columns>
  )
}
