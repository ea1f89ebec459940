import { MultiSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { memo, useMemo } from 'react'
import type { TcoComparison } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { comparisonQuery, scenariosQuery } from '../../api/queries/tco'
import { CostBarsChart } from '../../charts/costBars/CostBarsChart'
import type { CostBar } from '../../charts/costBars/figure'
import type { Table } from '../../lib/export/csv'
import { formatMoney, formatMoneyChange } from '../../lib/tco/money'
import { formatCount, formatRatio } from '../../lib/units/units'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ExportMenu } from '../../ui/export/ExportMenu'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Stack } from '../../ui/layout/Stack'
import { TableView } from '../../ui/tables/TableView'
import { partLabel } from './tcoWords'
import classes from './TcoPage.module.css'
import type { ScenarioState } from './useScenario'

type AmountKey = 'annual' | 'perWork' | 'saving' | 'share' | 'chance' | 'hosts'

/** A machine of a scenario; amounts per host and year, null where there is none. */
interface Row extends Record<AmountKey, number | null> {
  id: string
  scenario: string
  machine: string
  currency: string
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
            empty={{
              title: 'Nothing to compare yet',
              next:
                (list.data?.items.length ?? 0) < 2
                  ? 'Save two or more scenarios with “Save as…”, then choose them here.'
                  : 'Choose two or more stored scenarios above.',
            }}
          />
        )}
      </Panel>
      {ids.length >= 2 && (
        <CostBarsChart bars={bars} currency={found?.currency ?? ''} load={load} height={320} hint="by part" />
      )}
      {found !== undefined && found.differences.length > 0 && (
        <Panel
          title="Differences"
          hint="paths of the scenario files"
          actions={
            <ExportMenu name="scenario-differences" label="where they differ" table={() => differencesOf(found)} />
          }
          flush
        >
          <TableView label="Where the scenarios differ" table={differencesOf(found)} />
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
      <Link
        from="/tco"
        to="/tco/$scenarioId"
        params={{ scenarioId: row.id }}
        search={(before) => ({ ...before, set: undefined })}
      >
        {row.scenario}
      </Link>
    ),
  },
  { key: 'machine', header: 'Machine', cell: (row) => row.machine },
  amountColumn('annual', 'Cost a year', (row) => row.currency, formatMoney),
  amountColumn('perWork', 'Per unit of work', (row) => row.currency, formatMoney),
  {
    ...amountColumn('saving', 'Saving a year', (row) => row.currency, formatMoneyChange),
    meaning: 'The median over random draws of all uncertain inputs.',
  },
  amountColumn('share', 'of today’s', () => 'ratio', formatRatio),
  amountColumn('chance', 'P(saving > 0)', () => 'ratio', formatRatio),
  amountColumn('hosts', 'Hosts', () => '', formatCount),
]

function amountColumn(
  key: AmountKey,
  header: string,
  unitOf: (row: Row) => string,
  format: (amount: number, unit: string) => string,
): Column<Row> {
  return {
    key,
    header,
    numeric: true,
    cell: (row) => (row[key] === null ? '–' : format(row[key], unitOf(row))),
    value: (row) => ({ amount: row[key], unit: unitOf(row) }),
  }
}

function rowsOf({ scenarios, currency }: TcoComparison): Row[] {
  return scenarios.flatMap(({ id, answer: { name: scenario, baseline, options } }): Row[] => [
    ...(baseline === null
      ? []
      : [
          {
            ...{ id, scenario, currency },
            machine: `${baseline.name} (today)`,
            annual: baseline.per_host.annual,
            perWork: baseline.per_host.annual_per_work,
            ...{ saving: null, share: null, chance: null },
            hosts: baseline.fleet.hosts,
          },
        ]),
    ...options.map((option) => ({
      ...{ id, scenario, currency },
      machine: option.name,
      annual: option.per_host.annual,
      perWork: option.per_host.annual_per_work,
      saving: option.saving,
      share: option.saving_ratio,
      chance: option.distribution.p_positive,
      hosts: option.fleet.hosts,
    })),
  ])
}

function differencesOf({ scenarios, differences }: TcoComparison): Table {
  return {
    columns: ['input', ...scenarios.map(({ answer }) => answer.name)],
    rows: differences.map(({ path, values }) => [path, ...values]),
  }
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
