import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney } from '../../lib/tco/money'
import { formatRatio } from '../../lib/units/units'
import { FactList } from '../../ui/layout/FactList'
import { Panel } from '../../ui/layout/Panel'
import { Prose } from '../../ui/text/Prose'
import classes from './TcoPage.module.css'

/** At which prices, and at which loss, an option costs as much as today. */
export function BreakEvenPanel({ answer, option }: { answer: TcoAnswer; option: Option }) {
  const { break_even: at, loss } = option
  const has = (part: string) => option.per_host.parts.some(({ name }) => name === part)
  const price = (value: number) => `${formatMoney(value, answer.currency)}/GiB`
  const now = (name: string) => {
    const input = answer.inputs.find((known) => known.name === name)
    return input === undefined ? '–' : price(input.value)
  }
  const rows = [
    {
      key: 'dram_price',
      label: 'DRAM price',
      text: at.dram_price === null ? null : price(at.dram_price),
      set: now('dram'),
    },
    ...(has('cxl_media')
      ? [
          {
            key: 'cxl_price',
            label: 'CXL media price',
            text: at.cxl_price === null ? null : price(at.cxl_price),
            set: now('cxl_media'),
          },
        ]
      : []),
    ...(has('ddr4_reused')
      ? [
          {
            key: 'ddr4_price',
            label: 'Reused DDR4 price',
            text: at.ddr4_price === null ? null : price(at.ddr4_price),
            set: now('ddr4_reused'),
          },
        ]
      : []),
    {
      key: 'loss',
      label: 'Lost throughput',
      text: at.loss === null ? null : formatRatio(at.loss),
      set: formatRatio(loss.value),
    },
  ]
  return (
    <Panel title="Break-even points" hint="one input varied, others fixed" testId="tco-break-even">
      <FactList
        facts={rows.map(({ key, label, text, set }) => [
          label,
          <span key={key}>
            {text ?? 'none in range'} <span className={classes.dimmed}>(set: {set})</span>
          </span>,
        ])}
      />
      {rows.flatMap(({ key, label, text }) =>
        text === null
          ? at.why
              .filter((why) => why.startsWith(`${key}: `))
              .map((why) => (
                <p key={why} className={classes.words}>
                  {label}: <Prose text={why.slice(key.length + 2)} />
                </p>
              ))
          : [],
      )}
    </Panel>
  )
}

/** Published results, next to what this scenario claims. */
export function SanityPanel({ answer, option }: { answer: TcoAnswer; option: Option }) {
  return (
    <Panel title="Published results" hint="at the prices of their year" testId="tco-sanity">
      <FactList
        facts={[
          ...answer.sanity.map(({ source, what, low_ratio: low, high_ratio: high, year }): [string, string] => [
            `${source}, ${year}: ${what}`,
            low === high ? formatRatio(low) : `${formatRatio(low)} – ${formatRatio(high)}`,
          ]),
          [`${option.name}: cost of a host`, <strong key="own">{formatRatio(option.saving_ratio)}</strong>],
        ]}
      />
    </Panel>
  )
}
