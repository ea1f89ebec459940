import type { Option, TcoAnswer } from '../../api/_generated/schema'
import { formatMoney, formatMoneyChange } from '../../lib/tco/money'
import { formatRatio } from '../../lib/units/units'

const partLabels: Record<string, string> = {
  base: 'Host without memory',
  dram: 'DRAM',
  cxl_media: 'CXL media',
  ddr4_reused: 'Reused DDR4',
  cxl_controllers: 'CXL controllers',
  swap_drive: 'Swap drive',
  other: 'Other',
  energy: 'Energy',
  wear: 'Wear of the swap drive',
  lost_throughput: 'Lost throughput',
  more_memory_per_host: 'More memory per host',
}

/** The name of a part of a host's cost. */
export function partLabel(part: string): string {
  return partLabels[part] ?? part.replaceAll('_', ' ')
}

const ownInputs: Record<string, [label: string, unit: string]> = {
  loss: ['Lost throughput', 'ratio'],
  swap_out_mb_per_s: ['Swapped out', 'MB/s'],
}

/** The name of an input of the tornado, and its value in words. */
export function inputWords(
  name: string,
  inputs: TcoAnswer['inputs'],
): { label: string; text: (value: number) => string } {
  const own = ownInputs[name]
  if (own !== undefined) {
    const [label, unit] = own
    return { label, text: (value) => (unit === 'ratio' ? formatRatio(value) : `${plain(value)} ${unit}`) }
  }
  const input = inputs.find((known) => known.name === name)
  const label = (input?.label ?? name.replaceAll('_', ' ')).replace(/ \(.*\)$/, '')
  const unit = input?.unit === 'ratio' || input === undefined ? '' : ` ${input.unit}`
  return { label, text: (value) => `${plain(value)}${unit}` }
}

function plain(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 4 })
}

/** The page's first line: what the shown option saves, how sure that is, and at which prices; or what is missing. */
export function tcoSentence(answer: TcoAnswer, option: Option | undefined): string {
  const [missing] = answer.missing
  if (missing !== undefined) {
    return missing.what === 'dram price'
      ? 'No total yet: confirm a price of DRAM first.'
      : `No total yet: ${missing.what} is missing.`
  }
  if (option === undefined) return 'This scenario has no option to compare with.'
  const amount = formatMoney(Math.abs(option.saving), answer.currency)
  const share = formatRatio(Math.abs(option.saving_ratio))
  const does = option.saving >= 0 ? `saves ${amount}` : `costs ${amount} more`
  const { p10, p90, p_positive: chance } = option.distribution
  const ends = `${formatMoneyChange(p10, answer.currency)} to ${formatMoneyChange(p90, answer.currency)}`
  const sure = p10 === p90 ? '' : ` (80 % interval ${ends}); the chance that it saves is ${formatRatio(chance)}`
  const dated = answer.price_date === null ? '' : ` DRAM at its price of ${answer.price_date}.`
  return `${option.name} ${does} per host and year for the same work, ${share} of today’s cost${sure}.${dated}`
}
