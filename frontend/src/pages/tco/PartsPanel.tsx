import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney } from '../../lib/tco/money'
import { threeDigits } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { partLabel } from './tcoWords'

interface PartRow {
  name: string
  today: Option['per_host']['parts'][number] | undefined
  option: Option['per_host']['parts'][number] | undefined
}

/** The parts of a host's cost: price, cost a year and power, today and with the option. */
export function PartsPanel({ answer, option }: { answer: TcoAnswer; option: Option }) {
  const today = answer.baseline?.per_host.parts ?? []
  const parts = option.per_host.parts
  const names = [...new Set([...today, ...parts].map(({ name }) => name))]
  const rows: PartRow[] = names.map((name) => ({
    name,
    today: today.find((part) => part.name === name),
    option: parts.find((part) => part.name === name),
  }))
  const money = (amount: number | undefined) => (amount === undefined ? '–' : formatMoney(amount, answer.currency))
  const watts = (amount: number | undefined) => (amount === undefined ? '–' : `${threeDigits(amount)} W`)
  const column = (
    key: 'capex' | 'annual' | 'watts',
    when: 'today' | 'option',
    header: string,
    name: string,
  ): Column<PartRow> => ({
    key: `${key}-${when}`,
    header,
    name: `${name}, ${when}`,
    numeric: true,
    cell: (row) => (key === 'watts' ? watts : money)(row[when]?.[key]),
    value: (row) => ({ amount: row[when]?.[key] ?? null, unit: key === 'watts' ? 'watts' : answer.currency }),
  })
  return (
    <Panel title="Parts of a host’s cost" hint={`today against ${option.name}`} flush testId="tco-parts">
      <DataTable
        label="Parts of a host's cost"
        columns={[
          { key: 'name', header: 'Part', cell: (row) => partLabel(row.name) },
          column('capex', 'today', 'Price, today', 'Price'),
          column('capex', 'option', 'option', 'Price'),
          column('annual', 'today', 'A year, today', 'Cost a year'),
          column('annual', 'option', 'option', 'Cost a year'),
          column('watts', 'today', 'Power, today', 'Power'),
          column('watts', 'option', 'option', 'Power'),
        ]}
        rows={rows}
        rowKey={(row) => row.name}
      />
    </Panel>
  )
}
