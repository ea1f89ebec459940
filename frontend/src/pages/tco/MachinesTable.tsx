import { SegmentedControl, UnstyledButton } from '@mantine/core'
import type { Baseline, Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney, formatMoneyChange } from '../../lib/money'
import { costScales } from '../../lib/tcoUrl'
import { formatCount, formatRatio, threeDigits } from '../../lib/units'
import { DataTable, type Column } from '../../ui/DataTable'
import { Panel } from '../../ui/Panel'
import { ToneTag } from '../../ui/ToneTag'
import classes from './TcoPage.module.css'

type Row = { kind: 'today'; machine: Baseline } | { kind: 'option'; machine: Option; index: number }

interface MachinesTableProps {
  answer: TcoAnswer
  drawn: TcoAnswer | undefined
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

function hostColumns({ answer, drawn }: MachinesTableProps): Column<Row>[] {
  const money = (amount: number) => formatMoney(amount, answer.currency)
  return [
    amountColumn('capex', 'Price', ({ machine }) => money(machine.per_host.capex)),
    amountColumn('watts', 'Power', ({ machine }) => `${threeDigits(machine.per_host.watts)} W`),
    amountColumn('memory', 'Memory', ({ machine }) => `${formatCount(machine.per_host.memory_gb)} GB`),
    amountColumn('annual', 'Cost a year', ({ machine }) => money(machine.per_host.annual)),
    amountColumn('loss', 'Lost work', ({ machine }) => formatRatio(machine.loss.value)),
    amountColumn(
      'work',
      'Per work',
      ({ machine }) => money(machine.per_host.annual_per_work),
      'Cost a year per unit of work: the cost of a host over the share of today’s work that it does.',
    ),
    savingColumn(answer, (option) => [option.saving, option.saving_ratio]),
    amountColumn(
      'chance',
      'P(> 0)',
      (row) => {
        const chance = row.kind === 'option' ? drawn?.options[row.index]?.distribution?.p_positive : undefined
        return row.kind === 'today' ? '–' : chance === undefined ? '…' : formatRatio(chance)
      },
      'P(saving > 0): the share of random draws of all inputs in which there is a saving.',
    ),
  ]
}

function fleetColumns({ answer }: MachinesTableProps): Column<Row>[] {
  const money = (amount: number) => formatMoney(amount, answer.currency)
  return [
    amountColumn('hosts', 'Hosts', ({ machine }) => formatCount(machine.fleet.hosts)),
    amountColumn(
      'extra',
      'More',
      ({ machine }) => signed(machine.fleet.extra_hosts),
      'Hosts more than today, to make up for lost work.',
    ),
    amountColumn('capex', 'Price', ({ machine }) => money(machine.fleet.capex)),
    amountColumn('power', 'Power', ({ machine }) => `${threeDigits(machine.fleet.watts / 1000)} kW`),
    amountColumn('annual', 'Cost a year', ({ machine }) => money(machine.fleet.annual)),
    savingColumn(answer, (option) => [option.fleet.saving, option.fleet.saving_ratio]),
    amountColumn('total', 'In all years', ({ machine }) => money(machine.fleet.total)),
    amountColumn('saved', 'Saved in all', (row) =>
      row.kind === 'today' ? '–' : formatMoneyChange(row.machine.fleet.total_saving, answer.currency),
    ),
  ]
}

function savingColumn(answer: TcoAnswer, of: (option: Option) => [number, number]): Column<Row> {
  return amountColumn('saving', 'Saving a year', (row) => {
    if (row.kind === 'today') return '–'
    const [amount, share] = of(row.machine)
    return `${formatMoneyChange(amount, answer.currency)} (${formatRatio(share)})`
  })
}

function amountColumn(key: string, header: string, cell: (row: Row) => string, meaning?: string): Column<Row> {
  return { key, header, numeric: true, cell, ...(meaning === undefined ? {} : { meaning }) }
}

function signed(count: number): string {
  return count > 0 ? `+${formatCount(count)}` : formatCount(count).replace('-', '−')
}
