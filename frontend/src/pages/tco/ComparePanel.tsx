import { MultiSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { memo, useMemo } from 'react'
import type { TcoComparison } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/loadState'
import { comparisonQuery, scenariosQuery } from '../../api/queries/tco'
import { CostBarsChart } from '../../charts/costBars/CostBarsChart'
import type { CostBar } from '../../charts/costBars/figure'
import { formatMoney, formatMoneyChange } from '../../lib/money'
import { formatCount, formatRatio } from '../../lib/units'
import { DataTable, type Column } from '../../ui/DataTable'
import { EmptyState } from '../../ui/EmptyState'
import { Panel } from '../../ui/Panel'
import { ProblemState } from '../../ui/ProblemState'
import { Stack } from '../../ui/Stack'
import { TableView } from '../../ui/TableView'
import { partLabel } from './tcoWords'
import classes from './TcoPage.module.css'
import type { ScenarioState } from './useScenario'

interface Row {
  id: string
  scenario: string
  machine: string
  annual: string
  perWork: string
  saving: string
  share: string
  chance: string
  hosts: string
}

/** Stored scenarios beside each other: cost and saving of each machine, bars by part, and where they differ. */
export const ComparePanel = memo(function ComparePanel({ state }: { state: ScenarioState }) {
  const list = useQuery(scenariosQuery())
  const ids = (state.search.compare ?? '').split(',').filter((id) => id !== '')
  const query = useQuery(comparisonQuery(ids))
  const load = loadStateOf(query)
  const found = ids.length < 2 ? undefined : query.data
  const bars = useMemo(() => (found === undefined ? undefined : barsOf(found)), [found])
  return (
    <Stack testId="tco-compare">
      <Panel
        title="Scenarios side by side"
        hint="stored scenarios in one currency"
        actions={
          <MultiSelect
            size="xs"
            className={classes.compare ?? ''}
            aria-label="Scenarios to compare"
            placeholder={ids.length === 0 ? 'Choose two or more' : ''}
            maxValues={8}
            value={ids}
            onChange={(chosen) => state.setSearch({ compare: chosen.length === 0 ? undefined : chosen.join(',') })}
            data={(list.data?.items ?? []).map((item) => ({ value: item.id, label: item.name }))}
          />
        }
        flush
      >
        {load.problem !== null && ids.length >= 2 && found === undefined ? (
          <ProblemState problem={load.problem} onRetry={load.retry} />
        ) : (
          <DataTable
            label="Scenarios side by side"
            columns={columns}
            rows={ids.length < 2 ? [] : found === undefined ? undefined : rowsOf(found)}
            rowKey={(row) => `${row.id}-${row.machine}`}
            skeletonRows={4}
            empty={
              <EmptyState
                title="Nothing to compare yet"
                next={
                  (list.data?.items.length ?? 0) < 2
                    ? 'Save two or more scenarios with “Save as…”, then choose them here.'
                    : 'Choose two or more stored scenarios above.'
                }
              />
            }
          />
        )}
      </Panel>
      {ids.length >= 2 && (
        <CostBarsChart bars={bars} currency={found?.currency ?? ''} load={load} height={320} hint="by part" />
      )}
      {found !== undefined && found.differences.length > 0 && (
        <Panel title="Where they differ" hint="paths of the scenario files" flush>
          <TableView
            label="Where the scenarios differ"
            table={{
              columns: ['input', ...found.scenarios.map(({ answer }) => answer.name)],
              rows: found.differences.map(({ path, values }) => [path, ...values]),
            }}
          />
        </Panel>
      )}
    </Stack>
  )
})

const columns: Column<Row>[] = [
  {
    key: 'scenario',
    header: 'Scenario',
    cell: (row) => (
      <Link to="/tco/$scenarioId" params={{ scenarioId: row.id }} search={(before) => ({ ...before, set: undefined })}>
        {row.scenario}
      </Link>
    ),
  },
  { key: 'machine', header: 'Machine', cell: (row) => row.machine },
  { key: 'annual', header: 'Cost a year', numeric: true, cell: (row) => row.annual },
  { key: 'work', header: 'Per unit of work', numeric: true, cell: (row) => row.perWork },
  { key: 'saving', header: 'Saving a year', numeric: true, cell: (row) => row.saving },
  { key: 'share', header: 'of today’s', numeric: true, cell: (row) => row.share },
  { key: 'chance', header: 'P(saving > 0)', numeric: true, cell: (row) => row.chance },
  { key: 'hosts', header: 'Hosts', numeric: true, cell: (row) => row.hosts },
]

function rowsOf(found: TcoComparison): Row[] {
  const money = (amount: number) => formatMoney(amount, found.currency)
  return found.scenarios.flatMap(({ id, answer }) => [
    ...(answer.baseline === null
      ? []
      : [
          {
            id,
            scenario: answer.name,
            machine: `${answer.baseline.name} (today)`,
            annual: money(answer.baseline.per_host.annual),
            perWork: money(answer.baseline.per_host.annual_per_work),
            saving: '–',
            share: '–',
            chance: '–',
            hosts: formatCount(answer.baseline.fleet.hosts),
          },
        ]),
    ...answer.options.map((option) => ({
      id,
      scenario: answer.name,
      machine: option.name,
      annual: money(option.per_host.annual),
      perWork: money(option.per_host.annual_per_work),
      saving: formatMoneyChange(option.saving, found.currency),
      share: formatRatio(option.saving_ratio),
      chance: option.distribution === null ? '–' : formatRatio(option.distribution.p_positive),
      hosts: formatCount(option.fleet.hosts),
    })),
  ])
}

function barsOf(found: TcoComparison): CostBar[] {
  return found.scenarios.flatMap(({ answer }) =>
    [answer.baseline, ...answer.options].flatMap((machine) =>
      machine === null
        ? []
        : [
            {
              scenario: answer.name,
              name: machine.name,
              parts: machine.per_host.parts.map(({ name, annual }) => ({ name: partLabel(name), annual })),
            },
          ],
    ),
  )
}
