import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney } from '../../lib/money'
import { formatRatio } from '../../lib/units'
import { FactList } from '../../ui/FactList'
import { Panel } from '../../ui/Panel'
import { Prose } from '../../ui/Prose'
import classes from './TcoPage.module.css'

/** At which prices, and at which loss, an option costs as much as today. */
export function BreakEvenPanel({ answer, option }: { answer: TcoAnswer; option: Option }) {
  const { break_even: at, loss } = option
  const price = (value: number | null) =>
    value === null ? 'none in range' : `${formatMoney(value, answer.currency)}/GB`
  const now = (name: string) => {
    const input = answer.inputs.find((known) => known.name === name)
    return input === undefined ? null : `${formatMoney(input.value, answer.currency)}/GB`
  }
  const rows: [string, string, string | null][] = [
    ['DRAM price', price(at.dram_price), now('dram')],
    ['CXL media price', price(at.cxl_price), now('cxl_media')],
    ['Reused DDR4 price', price(at.ddr4_price), now('ddr4_reused')],
    ['Lost throughput', at.loss === null ? 'none in range' : formatRatio(at.loss), formatRatio(loss.value)],
  ]
  return (
    <Panel title="Where it breaks even" hint="one input changed, all others as set" testId="tco-break-even">
      <FactList
        facts={rows
          .filter(([, , set]) => set !== null)
          .map(([label, value, set]) => [
            label,
            <span key={label}>
              {value} <span className={classes.dimmed}>(set: {set})</span>
            </span>,
          ])}
      />
      {at.why.map((why) => (
        <p key={why} className={classes.words}>
          <Prose text={why} />
        </p>
      ))}
    </Panel>
  )
}

/** What others published, beside what this scenario claims. */
export function SanityPanel({ answer, option }: { answer: TcoAnswer; option: Option }) {
  return (
    <Panel title="What others published" hint="a claim far above these needs a second look" testId="tco-sanity">
      <FactList
        facts={[
          ...answer.sanity.map(({ source, what, low_ratio: low, high_ratio: high }): [string, string] => [
            `${source}: ${what}`,
            low === high ? formatRatio(low) : `${formatRatio(low)} – ${formatRatio(high)}`,
          ]),
          [`${option.name}: cost of a host`, <strong key="own">{formatRatio(option.saving_ratio)}</strong>],
        ]}
      />
    </Panel>
  )
}
