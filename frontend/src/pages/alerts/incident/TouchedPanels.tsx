import { Link } from '@tanstack/react-router'
import type { Incident, IncidentHost, ServiceState } from '../../../api/_generated/schema'
import type { TimeWindow } from '../../../lib/units/figure'
import { formatWindow } from '../../../lib/units/time'
import { FigureText } from '../../../ui/figures/FigureText'
import { Columns } from '../../../ui/layout/Columns'
import { Panel } from '../../../ui/layout/Panel'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { VerdictTag } from '../../../ui/tags/VerdictTag'
import { SharedHostsPanel } from './SharedHostsPanel'

function verdictColumn<Row extends { verdict: string; explanation: string }>(
  window: TimeWindow | undefined,
): Column<Row> {
  return {
    key: 'verdict',
    header: 'Verdict',
    cell: ({ verdict, explanation }) => <VerdictTag verdict={verdict} window={window} explanation={explanation} />,
  }
}

const hostColumns = (window: TimeWindow | undefined): Column<IncidentHost>[] => [
  {
    key: 'host',
    header: 'Host',
    cell: (row) => (
      <Link to="/hosts/$hostId" params={{ hostId: row.host_id }} search={{ tab: 'moves' }}>
        {row.host_name}
      </Link>
    ),
  },
  verdictColumn(window),
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

const serviceColumns = (window: TimeWindow | undefined): Column<ServiceState>[] => [
  {
    key: 'service',
    header: 'Service',
    cell: (row) => (
      <Link to="/services/$serviceId" params={{ serviceId: row.service_id }} search={{ tab: 'moves' }}>
        {row.service}
      </Link>
    ),
  },
  verdictColumn(window),
]

/** The hosts and services that an incident touched, worst first, by what was measured while the condition held. */
export function TouchedPanels({ incident }: { incident: Incident | undefined }) {
  const when =
    incident === undefined ? undefined : formatWindow(new Date(incident.judged.start), new Date(incident.judged.end))
  const hosts = (
    <Panel title="Hosts touched" hint={when} flush testId="incident-hosts">
      <DataTable
        label="Hosts touched"
        columns={hostColumns(incident?.judged)}
        rows={incident?.hosts}
        rowKey={(row) => row.host_id}
        skeletonRows={2}
        empty={{ title: 'No host with counters', next: 'See Notes below, or the list of hosts.' }}
      />
    </Panel>
  )
  const shared = <SharedHostsPanel shared={incident?.shared} when={when} />
  if (incident?.subject.kind !== 'host')
    return (
      <>
        {hosts}
        {shared}
      </>
    )
  return (
    <>
      <Columns>
        {hosts}
        <Panel title="Services touched" hint="each by its own moves and memory" flush testId="incident-services">
          <DataTable
            label="Services touched"
            columns={serviceColumns(incident.judged)}
            rows={incident.services}
            rowKey={(row) => row.service_id}
            empty={{ title: 'No services on this host', next: 'The agent finds services by their cgroups.' }}
          />
        </Panel>
      </Columns>
      {shared}
    </>
  )
}
