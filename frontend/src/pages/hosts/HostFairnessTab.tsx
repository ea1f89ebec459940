import { Group, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { FairShare, TenantShare } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { hostFairnessQuery } from '../../api/queries/ledger/fairness'
import type { ChartMark } from '../../charts/eventMarks'
import { FairShareChart } from '../../charts/fairShare/FairShareChart'
import { PushesChart } from '../../charts/pushes/PushesChart'
import type { FairBasis } from '../../lib/url/fairnessUrl'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { figureColumn } from '../../ui/tables/figureColumn'
import { NotesList } from '../../ui/text/NotesList'
import { useTimeRange } from '../shell/time/useTimeRange'
import { FairBasisSelect } from './FairBasisSelect'
import { HostLimitsPanel } from './HostLimitsPanel'

const route = getRouteApi('/hosts/$hostId')

function shareBy(tenant: TenantShare, basis: FairBasis): FairShare | undefined {
  return tenant.fair.find((share) => share.basis === basis)
}

function columnsBy(basis: FairBasis): Column<TenantShare>[] {
  const of = (key: string, header: string, pick: (tenant: TenantShare) => TenantShare['top_bytes'] | undefined) =>
    figureColumn(key, header, pick, (tenant) => tenant.name)
  return [
    { key: 'name', header: 'Tenant', sortBy: (tenant) => tenant.name, cell: (tenant) => tenant.name },
    of('top', 'Held', (tenant) => tenant.top_bytes),
    of('share', 'Of the tier', (tenant) => tenant.top_share),
    of('fair', 'Fair share', (tenant) => shareBy(tenant, basis)?.fair_bytes),
    of('over', 'Over', (tenant) => shareBy(tenant, basis)?.over_bytes),
    of('resident', 'Resident', (tenant) => tenant.resident_bytes),
    of('demoted', 'Demoted', (tenant) => tenant.demoted_pages),
  ]
}

/** Who holds more of the host's top tier than is fair, and who pushed whom out of it. */
export function HostFairnessTab({ hostId, marks }: { hostId: string; marks: ChartMark[] }) {
  const { by = 'service', basis } = route.useSearch()
  const navigate = route.useNavigate()
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(hostFairnessQuery(hostId, range, by, basis))
  const answer = query.data
  const load = loadStateOf(query)
  const choose = (next: { by?: 'cgroup' | undefined; basis?: FairBasis | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  const shown = answer?.basis ?? basis ?? 'hot'
  return (
    <Stack testId="host-fairness">
      <Group gap="sm">
        <SegmentedControl
          aria-label="Tenants"
          value={by}
          onChange={(value) => choose({ by: value === 'cgroup' ? 'cgroup' : undefined })}
          data={[
            { value: 'service', label: 'Services' },
            { value: 'cgroup', label: 'Control groups' },
          ]}
        />
        <FairBasisSelect basis={basis} shown={shown} onChoose={(next) => choose({ basis: next })} />
      </Group>
      <StatStrip label="The top tier" columns={2}>
        <Stat label="Top tier" name="Size of the top tier" figure={answer?.top_bytes} />
        <Stat label="Held by these" name="What the tenants hold of the top tier together" figure={answer?.held_bytes} />
      </StatStrip>
      <FairShareChart answer={answer} load={load} marks={marks} onTimeZoom={zoomTo} />
      {answer !== undefined && (
        <Panel title="Tenants" hint={answer.basis_note} flush testId="fairness-tenants">
          <DataTable
            label="Tenants of this host against their fair shares"
            columns={columnsBy(shown)}
            rows={answer.tenants}
            rowKey={(tenant) => tenant.id}
            empty={{ title: 'No tenant is known', next: answer.notes[0] ?? 'Widen the time range.' }}
          />
        </Panel>
      )}
      <PushesChart answer={answer} load={load} />
      {by === 'service' && answer !== undefined && answer.tenants.length > 1 && (
        <HostLimitsPanel hostId={hostId} tenants={answer.tenants} />
      )}
      <NotesList notes={answer?.notes} />
    </Stack>
  )
}
