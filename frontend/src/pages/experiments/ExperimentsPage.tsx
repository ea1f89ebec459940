import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { ExperimentItem } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { experimentsQuery } from '../../api/queries/experiments'
import { experimentState, experimentVerdict } from '../../lib/experiments'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { timeColumn } from '../../ui/tables/figureColumn'
import { ToneTag } from '../../ui/tags/ToneTag'
import { Timestamp } from '../../ui/text/Timestamp'
import { useTimeRange } from '../shell/time/useTimeRange'
import { useListSearch } from '../shell/useListSearch'
import { ServiceLink } from '../shell/links'

const columns: Column<ExperimentItem>[] = [
  {
    key: 'name',
    header: 'Experiment',
    sortBy: (row) => row.name,
    cell: (row) => (
      <Link to="/experiments/$experimentId" params={{ experimentId: row.id }}>
        {row.name}
      </Link>
    ),
  },
  {
    key: 'service',
    header: 'Service',
    sortBy: (row) => row.service_name,
    cell: (row) => <ServiceLink id={row.service_id}>{row.service_name}</ServiceLink>,
  },
  { key: 'metric', header: 'Decision metric', cell: (row) => row.metrics[0] ?? '' },
  {
    key: 'hosts',
    header: 'Canary / control',
    numeric: true,
    sortBy: (row) => row.n_canary,
    cell: (row) => `${row.n_canary} / ${row.n_control}`,
  },
  { key: 'change', header: 'Change', sortBy: (row) => row.change_at, cell: (row) => <Timestamp at={row.change_at} /> },
  timeColumn('end', 'End', (row) => row.ended_at ?? row.planned_end),
  {
    key: 'state',
    header: 'State',
    sortBy: (row) => row.state,
    cell: (row) => <ToneTag {...experimentState(row.state)} />,
  },
  {
    key: 'verdict',
    header: 'Verdict',
    sortBy: (row) => row.verdict,
    cell: (row) => {
      const verdict = experimentVerdict(row.verdict)
      return verdict === null ? <span>at its end</span> : <ToneTag {...verdict} />
    },
  },
]

/** Before/after experiments on groups of hosts. */
export function ExperimentsPage(): ReactNode {
  const { range } = useTimeRange()
  const { sort, setSort } = useListSearch('/experiments', '-change')
  const navigate = useNavigate()
  const query = useQuery(experimentsQuery(range.refreshMs))
  const load = loadStateOf(query)
  const items = query.data?.items
  if (load.problem !== null && items === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const running = items?.filter((item) => item.state === 'running').length ?? 0
  return (
    <div data-testid="page-experiments">
      <Headline
        kicker={<h1>Experiments</h1>}
        sentence={
          items === undefined
            ? undefined
            : items.length === 0
              ? 'No experiment has been started.'
              : `${items.length} ${items.length === 1 ? 'experiment' : 'experiments'}, ${running} running.`
        }
        aside={<Button onClick={() => void navigate({ to: '/experiments/new' })}>New experiment</Button>}
      />
      <Panel title="Experiments" hint="canary hosts against peer hosts" flush>
        <DataTable
          label="Experiments"
          columns={columns}
          rows={items}
          rowKey={(row) => row.id}
          sort={sort}
          onSort={setSort}
          empty={{
            title: 'No experiments',
            next: 'Start one from a piece of advice, here, or with `tierscope experiments start`: canary against control, difference-in-differences.',
          }}
        />
      </Panel>
    </div>
  )
}
