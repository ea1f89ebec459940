import { SegmentedControl, UnstyledButton } from '@mantine/core'
import type { Baseline, Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney, formatMoneyChange } from '../../lib/tco/money'
import { formatCount, formatRatio, threeDigits } from '../../lib/units/units'
import { costScales } from '../../lib/url/tcoUrl'
import { Panel } from '../../ui/layout/Panel'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { ToneTag } from '../../ui/tags/ToneTag'
import classes from './TcoPage.module.css'

type Row = { kind: 'today'; machine: Baseline } | { kind: 'option'; machine: Option; index: number }

interface MachinesTableProps {
  answer: TcoAnswer
  option: number
  scale: (typeof costScales)[number]
  onOption: (option: number) => void
  onScale: (scale: (typeof costScales)[number]) => void
}

/** The machines of today and all options side by side: per host, or for a fleet that does the same work. */
export function MachinesTable(props: MachinesTableProps) {
  const { answer, scale } = props
  const rows: Row[] = [
    ...(answer.baseline === null ? [] : [{ kind: 'today' as const, machine: answer.baseline }]),
    ...answer.options.map((machine, index) => ({ kind: 'option' as const, machine, index })),
  ]
  return (
    <Panel
      title="Machines"
      hint={scale === 'host' ? 'one host; saving for the same work' : 'a fleet that does today’s work'}
      actions={
        <SegmentedControl
          aria-label="Cost of"
          value={scale}
          onChange={(value) => props.onScale(costScales.find((known) => known === value) ?? 'host')}
          data={[
            { value: 'host', label: 'Host' },
            { value: 'fleet', label: 'Fleet' },
          ]}
        />
      }
      flush
      testId="tco-machines"
    >
      <DataTable
        label="Machines"
        columns={[...nameColumns(props), ...(scale === 'host' ? hostColumns(props) : fleetColumns(props))]}
        rows={rows}
        rowKey={(row) => row.machine.name}
      />
    </Panel>
  )
}

function nameColumns({ option, onOption }: MachinesTableProps): Column<Row>[] {
  return [
    {
      key: 'name',
      header: 'Machine',
      value: (row) => (row.kind === 'today' ? `${row.machine.name} (today)` : row.machine.name),
      cell: (row) =>
        row.kind === 'today' ? (
          <span>{row.machine.name} (today)</span>
        ) : (
          <>
            <UnstyledButton
              className={classes.option}
              aria-pressed={row.index === option}
              onClick={() => onOption(row.index)}
            >
              {row.machine.name}
            </UnstyledButton>
            {row.machine.warnings.length > 0 && (
              <div>
                <ToneTag tone="warning" label="check inputs" meaning={row.machine.warnings.join(' ')} />
              </div>
            )}
          </>
        ),
    },
  ]
}

function hostColumns({ answer }: MachinesTableProps): Column<Row>[] {
  const { currency } = answer
  const money = (amount: number) => formatMoney(amount, currency)
  return [
    amountColumn('capex', 'Price', currency, ({ machine }) => machine.per_host.capex, money),
    amountColumn(
      'watts',
      'Power',
      'watts',
      ({ machine }) => machine.per_host.watts,
      (watts) => `${threeDigits(watts)} W`,
    ),
    {
      ...amountColumn(
        'memory',
        'Memory',
        'GiB',
        ({ machine }: Row) => machine.per_host.memory_gb,
        (gb) => `${formatCount(gb)} GiB`,
      ),
      meaning: 'A GiB is what a module’s label calls a GB.',
    },
    amountColumn('annual', 'Cost a year', currency, ({ machine }) => machine.per_host.annual, money),
    amountColumn('loss', 'Lost work', 'ratio', ({ machine }) => machine.loss.value, formatRatio),
    {
      ...amountColumn('work', 'Per unit of work', currency, ({ machine }) => machine.per_host.annual_per_work, money),
      meaning: 'Cost a year per unit of work: the cost of a host over the share of today’s work that it does.',
    },
    savingColumn(answer, (option) => [option.saving, option.saving_ratio]),
    {
      key: 'chance',
      header: 'P(> 0)',
      name: 'P(saving > 0)',
      meaning: 'P(saving > 0): the share of random draws of all inputs in which there is a saving.',
      numeric: true,
      cell: (row) => {
        const chance = chanceOf(row)
        return chance === null ? '–' : formatRatio(chance)
      },
      value: (row) => ({ amount: chanceOf(row), unit: 'ratio' }),
    },
  ]
}

function chanceOf(row: Row): number | null {
  return row.kind === 'option' ? row.machine.distribution.p_positive : null
}

function fleetColumns({ answer }: MachinesTableProps): Column<Row>[] {
  const { currency } = answer
  const money = (amount: number) => formatMoney(amount, currency)
  return [
    amountColumn('hosts', 'Hosts', '', ({ machine }) => machine.fleet.hosts, formatCount),
    {
      ...amountColumn('extra', 'More', '', ({ machine }) => machine.fleet.extra_hosts, signed),
      meaning: 'Hosts more than today, to make up for lost work.',
    },
    amountColumn('capex', 'Price', currency, ({ machine }) => machine.fleet.capex, money),
    amountColumn(
      'power',
      'Power',
      'watts',
      ({ machine }) => machine.fleet.watts,
      (watts) => `${threeDigits(watts / 1000)} kW`,
    ),
    amountColumn('annual', 'Cost a year', currency, ({ machine }) => machine.fleet.annual, money),
    savingColumn(answer, (option) => [option.fleet.saving, option.fleet.saving_ratio]),
    {
      ...amountColumn('total', 'Total', currency, ({ machine }) => machine.fleet.total, money),
      meaning: 'Cost over all years, with every input at its value.',
    },
    {
      ...amountColumn(
        'saved',
        'Total saving',
        currency,
        (row) => (row.kind === 'today' ? null : row.machine.fleet.total_saving),
        (amount) => formatMoneyChange(amount, currency),
      ),
      meaning: 'Today’s total less this one, with every input at its value.',
    },
  ]
}

/** The saving with its share of today's cost in brackets. */
function savingColumn(answer: TcoAnswer, of: (option: Option) => [number, number]): Column<Row> {
  const ofRow = (row: Row) => (row.kind === 'today' ? [null, null] : of(row.machine))
  return {
    key: 'saving',
    header: 'Saving a year',
    meaning: 'The median over random draws of all uncertain inputs, and its share of today’s cost.',
    numeric: true,
    cell: (row) => {
      const [amount = null, share = null] = ofRow(row)
      if (amount === null || share === null) return '–'
      return `${formatMoneyChange(amount, answer.currency)} (${formatRatio(share)})`
    },
    value: (row) => ({ amount: ofRow(row)[0] ?? null, unit: answer.currency }),
  }
}

function amountColumn(
  key: string,
  header: string,
  unit: string,
  amountOf: (row: Row) => number | null,
  format: (amount: number) => string,
): Column<Row> {
  return {
    key,
    header,
    numeric: true,
    cell: (row) => {
      const amount = amountOf(row)
      return amount === null ? '–' : format(amount)
    },
    value: (row) => ({ amount: amountOf(row), unit }),
  }
}

function signed(count: number): string {
  return count > 0 ? `+${formatCount(count)}` : formatCount(count).replace('-', '−')
}
