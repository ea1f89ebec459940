import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { HostTenant, ServiceFairness } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { serviceFairnessQuery } from '../../api/queries/ledger/fairness'
import type { FairBasis } from '../../lib/url/fairnessUrl'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { figureColumn } from '../../ui/tables/figureColumn'
import { NotesList } from '../../ui/text/NotesList'
import { useTimeRange } from '../shell/time/useTimeRange'
import { FairBasisSelect } from '../hosts/FairBasisSelect'

const route = getRouteApi('/services/$serviceId')

function column(
  key: string,
  header: string,
  pick: (host: HostTenant) => HostTenant['tenant']['top_bytes'] | undefined,
) {
  return figureColumn(key, header, pick, (host) => host.host)
}

function shareOf(host: HostTenant, basis: FairBasis) {
  return host.tenant.fair.find((share) => share.basis === basis)
}

function columnsOf(basis: FairBasis): Column<HostTenant>[] {
  return [
    {
      key: 'host',
      header: 'Host',
      sortBy: (host) => host.host,
      cell: (host) => (
        <Link
          to="/hosts/$hostId"
          params={{ hostId: host.host_id }}
          search={(before) => ({ from: before.from, to: before.to, tab: 'fairness', basis })}
        >
          {host.host}
        </Link>
      ),
    },
    column('top', 'Held', (host) => host.tenant.top_bytes),
    column('share', 'Of the tier', (host) => host.tenant.top_share),
    column('fair', 'Fair share', (host) => shareOf(host, basis)?.fair_bytes),
    column('over', 'Over', (host) => shareOf(host, basis)?.over_bytes),
    column('demoted', 'Demoted', (host) => host.tenant.demoted_pages),
    {
      key: 'tenants',
      header: 'Services there',
      numeric: true,
      sortBy: (host) => host.n_tenants,
      cell: (host) => host.n_tenants,
    },
    {
      key: 'below',
      header: 'Other that lacks most',
      sortBy: (host) => host.worst_below,
      cell: (host) => host.worst_below ?? 'none',
    },
  ]
}

/** Hosts on which the service lacks most of its fair share first; those without a share last. */
function worstFirst(answer: ServiceFairness): HostTenant[] {
  const over = (host: HostTenant) => shareOf(host, answer.basis)?.over_bytes.value ?? Infinity
  return [...answer.hosts].sort((one, other) => over(one) - over(other))
}

/** What the service holds of the top tier of each of its hosts, against its fair share. */
export function ServiceFairnessTab({ serviceId }: { serviceId: string }) {
  const { basis } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const query = useQuery(serviceFairnessQuery(serviceId, range, basis))
  const answer = query.data
  const load = loadStateOf(query)
  if (load.problem !== null && answer === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const shown = answer?.basis ?? basis ?? 'hot'
  return (
    <Stack testId="service-fairness">
      <FairBasisSelect
        basis={basis}
        shown={shown}
        onChoose={(next) =>
          void navigate({ search: (before) => ({ ...before, basis: next }), replace: true, resetScroll: false })
        }
      />
      <StatStrip label="Over all hosts" columns={1}>
        <Stat label="Over" name="Held less fair, over all hosts of the service" figure={answer?.over_bytes} />
      </StatStrip>
      <Panel title="Fair shares by host" hint="where the service lacks most first" flush testId="fairness-hosts">
        <DataTable
          label="This service on each of its hosts against its fair share"
          columns={columnsOf(shown)}
          rows={answer === undefined ? undefined : worstFirst(answer)}
          rowKey={(host) => host.host_id}
          empty={{
            title: "No host tells where this service's memory lies",
            next: "Widen the time range, or open a host's Fairness tab for the reason.",
          }}
        />
      </Panel>
      <NotesList notes={answer?.notes} />
    </Stack>
  )
}
