import type { Incident, IncidentHost, ServiceState } from '../../../api/_generated/schema'
import type { TimeWindow } from '../../../lib/units/figure'
import { formatWindow } from '../../../lib/units/time'
import { Columns } from '../../../ui/layout/Columns'
import { Panel } from '../../../ui/layout/Panel'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { labelledColumn } from '../../../ui/tables/figureColumn'
import { VerdictTag } from '../../../ui/tags/VerdictTag'
import { SharedHostsPanel } from './SharedHostsPanel'
import { HostLink, ServiceLink } from '../../shell/links'

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
      <HostLink id={row.host_id} tab="moves">
        {row.host_name}
      </HostLink>
    ),
  },
  verdictColumn(window),
  labelledColumn('promoted', 'Promoted', (row) => [row.promotion_pages_per_s, 'Promoted']),
  labelledColumn('demoted', 'Demoted', (row) => [row.demotion_pages_per_s, 'Demoted']),
  labelledColumn('psi', 'Pressure, some', (row) => [row.psi_memory_some_ratio, 'Memory pressure']),
]

const serviceColumns = (window: TimeWindow | undefined): Column<ServiceState>[] => [
  {
    key: 'service',
    header: 'Service',
    cell: (row) => (
      <ServiceLink id={row.service_id} tab="moves">
        {row.service}
      </ServiceLink>
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
        stacks
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
