import { Button, NumberInput, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { HostLimits, TenantLimit, TenantShare } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { hostLimitsQuery, type WantedLimit } from '../../api/queries/ledger/fairness'
import { formatBytes } from '../../lib/units/units'
import { limitKinds, type LimitKind } from '../../lib/url/fairnessUrl'
import { FieldGrid } from '../../ui/inputs/FieldGrid'
import { Loading } from '../../ui/layout/Loading'
import { Panel } from '../../ui/layout/Panel'
import { EmptyState } from '../../ui/states/EmptyState'
import { ProblemState } from '../../ui/states/ProblemState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { figureColumn } from '../../ui/tables/figureColumn'
import { NotesList } from '../../ui/text/NotesList'
import { Prose } from '../../ui/text/Prose'
import { useTimeRange } from '../shell/time/useTimeRange'

const route = getRouteApi('/hosts/$hostId')

const kindLabels: Record<LimitKind, string> = {
  proposal: 'The smallest memory.low that is fair',
  low: 'memory.low of a service',
  max: 'A limit of the top tier for a service',
}

function settingOf(tenant: TenantLimit): string {
  const low = tenant.low_bytes === null ? [] : [`memory.low ${formatBytes(tenant.low_bytes)}`]
  const most = tenant.top_max_bytes === null ? [] : [`at most ${formatBytes(tenant.top_max_bytes)}`]
  return [...low, ...most].join(', ') || 'none'
}

function column(key: string, header: string, pick: (tenant: TenantLimit) => TenantLimit['fair_bytes']) {
  return figureColumn(key, header, pick, (tenant) => tenant.name)
}

const columns: Column<TenantLimit>[] = [
  { key: 'name', header: 'Service', sortBy: (tenant) => tenant.name, cell: (tenant) => tenant.name },
  { key: 'setting', header: 'Setting', sortBy: settingOf, cell: settingOf },
  column('fair', 'Fair share', (tenant) => tenant.fair_bytes),
  column('held-before', 'Holds without', (tenant) => tenant.before.top_bytes),
  column('held-after', 'Holds with', (tenant) => tenant.after.top_bytes),
  column('local-before', 'Local without', (tenant) => tenant.before.local_ratio),
  column('local-after', 'Local with', (tenant) => tenant.after.local_ratio),
  column('change', 'Change of local', (tenant) => tenant.local_change),
  column('loss-before', 'Loss without', (tenant) => tenant.before.loss_ratio),
  column('loss-after', 'Loss with', (tenant) => tenant.after.loss_ratio),
]

/** What `memory.low` or a limit of the top tier would do: the host's services replayed together, on request. */
export function HostLimitsPanel({ hostId, tenants }: { hostId: string; tenants: TenantShare[] }) {
  const { basis, replay, tenant, mib } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const [entry, setEntry] = useState<WantedLimit>({
    replay: replay ?? 'proposal',
    tenant: tenant ?? tenants[0]?.id ?? '',
    mib: mib ?? 1024,
  })
  const wanted = replay === undefined ? null : { replay, tenant: tenant ?? '', mib: mib ?? 1024 }
  const query = useQuery(hostLimitsQuery(hostId, range, basis, wanted))
  const isOwn = entry.replay !== 'proposal'
  const ask = () =>
    void navigate({
      search: (before) => ({
        ...before,
        replay: entry.replay,
        tenant: isOwn ? entry.tenant : undefined,
        mib: isOwn ? entry.mib : undefined,
      }),
      replace: true,
      resetScroll: false,
    })
  return (
    <Panel
      title="What would a limit do?"
      hint="simulated: page samples of all services replayed together, without and with the setting"
      testId="host-limits"
    >
      <FieldGrid label="A setting to replay" onSubmit={ask}>
        <Select
          label="Setting"
          value={entry.replay}
          onChange={(value) => {
            setEntry({ ...entry, replay: limitKinds.find((kind) => kind === value) ?? 'proposal' })
          }}
          data={limitKinds.map((kind) => ({ value: kind, label: kindLabels[kind] }))}
        />
        <Select
          label="Service"
          disabled={!isOwn}
          value={entry.tenant}
          onChange={(value) => {
            setEntry({ ...entry, tenant: value ?? '' })
          }}
          data={tenants.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <NumberInput
          label="Size (MiB)"
          disabled={!isOwn}
          min={1}
          allowDecimal={false}
          value={entry.mib}
          onChange={(value) => {
            setEntry({ ...entry, mib: Number(value) || 1 })
          }}
        />
        <Button type="submit" loading={query.isFetching} disabled={isOwn && entry.tenant === ''}>
          Replay
        </Button>
      </FieldGrid>
      <Outcome answer={query.data} load={loadStateOf(query)} isAsked={wanted !== null} />
    </Panel>
  )
}

interface OutcomeProps {
  answer: HostLimits | undefined
  load: ReturnType<typeof loadStateOf>
  isAsked: boolean
}

function Outcome({ answer, load, isAsked }: OutcomeProps) {
  if (!isAsked) return null
  if (load.problem !== null) return <ProblemState problem={load.problem} onRetry={load.retry} />
  if (answer === undefined) return <Loading height={160} />
  if (answer.reason !== null) {
    return (
      <>
        <EmptyState title="Nothing to replay" next={answer.reason} />
        <NotesList notes={answer.notes} />
      </>
    )
  }
  return (
    <>
      <p>
        <Prose text={`${answer.proposal_note} Replayed under ${answer.policy_label}: ${answer.policy_why}.`} />
      </p>
      <DataTable
        label="Services without and with the setting, simulated"
        columns={columns}
        rows={answer.tenants}
        rowKey={(row) => row.id}
        empty={{ title: 'No service was replayed', next: 'Widen the time range.' }}
      />
      <NotesList notes={answer.notes} />
    </>
  )
}
