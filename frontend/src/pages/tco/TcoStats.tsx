import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney, formatMoneyChange } from '../../lib/tco/money'
import { formatCount, formatRatio } from '../../lib/units/units'
import { AmountStat } from '../../ui/figures/AmountStat'
import { StatStrip } from '../../ui/figures/StatStrip'

interface TcoStatsProps {
  answer: TcoAnswer
  option: Option
}

/** What the shown option costs and saves, per host and for the fleet. */
export function TcoStats({ answer, option }: TcoStatsProps) {
  const money = (amount: number) => formatMoney(amount, answer.currency)
  const base = answer.baseline
  const { per_host: host, fleet, distribution } = option
  const change = (amount: number) => formatMoneyChange(amount, answer.currency)
  const middle = (low: number, high: number) => (low === high ? 'certain' : `80 %: ${change(low)} to ${change(high)}`)
  return (
    <StatStrip label="Cost in figures" columns={5}>
      <AmountStat
        label="Annual saving per host"
        value={change(option.saving)}
        note={`${middle(distribution.p10, distribution.p90)}; median ${formatRatio(option.saving_ratio)} of today’s cost`}
        warn={option.warnings.length > 0}
        testId="tco-saving"
      />
      <AmountStat
        label="P(saving > 0)"
        value={formatRatio(distribution.p_positive)}
        note="all inputs drawn from their ranges"
        testId="tco-chance"
      />
      <AmountStat
        label="Annual cost per unit of work"
        value={money(host.annual_per_work)}
        note={`today ${base === null ? '–' : money(base.per_host.annual_per_work)}`}
        testId="tco-per-work"
      />
      <AmountStat
        label="Price of a host"
        value={money(host.capex)}
        note={`today ${base === null ? '–' : money(base.per_host.capex)}`}
      />
      <AmountStat
        label="Annual saving of the fleet"
        value={change(fleet.saving)}
        note={`${middle(fleet.saving_p10, fleet.saving_p90)}; ${formatCount(fleet.hosts)} hosts${extraWords(fleet.extra_hosts)}`}
        testId="tco-fleet-saving"
      />
    </StatStrip>
  )
}

function extraWords(extra: number): string {
  if (extra === 0) return ', as many as today'
  return extra > 0 ? `, ${formatCount(extra)} more for lost work` : `, ${formatCount(-extra)} fewer`
}
