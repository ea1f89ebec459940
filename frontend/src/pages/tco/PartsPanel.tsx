import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney } from '../../lib/money'
import { threeDigits } from '../../lib/units'
import { DataTable } from '../../ui/DataTable'
import { Panel } from '../../ui/Panel'
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
  const column = (key: string, header: string, cell: (row: PartRow) => string) => ({
    key,
    header,
    numeric: true,
    cell,
  })
  return (
    <Panel title="Parts of a host’s cost" hint={`today against ${option.name}`} flush testId="tco-parts">
      <DataTable
        label="Parts of a host's cost"
        columns={[
          { key: 'name', header: 'Part', cell: (row) => partLabel(row.name) },
          column('price-today', 'Price, today', (row) => money(row.today?.capex)),
          column('price', 'option', (row) => money(row.option?.capex)),
          column('annual-today', 'A year, today', (row) => money(row.today?.annual)),
          column('annual', 'option', (row) => money(row.option?.annual)),
          column('watts-today', 'Power, today', (row) => watts(row.today?.watts)),
          column('watts', 'option', (row) => watts(row.option?.watts)),
        ]}
        rows={rows}
        rowKey={(row) => row.name}
      />
    </Panel>
  )
}
