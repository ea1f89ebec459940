import { valueAt, withValue, type JsonObject } from '../../lib/tco/scenarioSpec'

/** Tiers that an option can have beside DRAM, and what each starts with when it is switched on. Sizes in GiB, those of drives in GB. */
export const tierParts = [
  { key: 'cxl', label: 'CXL', start: { gb: 256, devices: 1 } },
  { key: 'ddr4_reused', label: 'Reused DDR4', start: { gb: 256, devices: 1 } },
  {
    key: 'swap',
    label: 'Swap drive',
    start: {
      kind: 'ssd',
      gb: 1000,
      used_gb: 128,
      swap_out_mb_per_s: { value: 5, low: 1, high: 20 },
      paid: 'capex',
      watts: 8,
    },
  },
  { key: 'zswap', label: 'zswap', start: { pool_gb: 64, compression_ratio: 2.5, cpu_ratio: 0.01 } },
] as const

/** The names of a scenario's options. */
export function optionNames(spec: JsonObject): string[] {
  const options = valueAt(spec, 'options')
  return Array.isArray(options) ? options.map((option) => String(valueAt(option, 'name'))) : []
}

/** A scenario with a copy of one option at its end, under a name of its own; and the copy's position. */
export function addedOption(spec: JsonObject, option: number): { spec: JsonObject; option: number } {
  const options = valueAt(spec, 'options')
  if (!Array.isArray(options)) return { spec, option }
  const taken = new Set([...optionNames(spec), String(valueAt(spec, 'baseline.name'))])
  const name = optionNames(spec)[option] ?? 'option'
  let number = 2
  while (taken.has(`${name} ${number}`)) number += 1
  const copy = withValue(options[option] ?? {}, 'name', `${name} ${number}`)
  return { spec: { ...spec, options: [...options, copy] }, option: options.length }
}

/** A scenario without one of its options, never without all of them; and the position to show next. */
export function removedOption(spec: JsonObject, option: number): { spec: JsonObject; option: number } {
  const options = valueAt(spec, 'options')
  if (!Array.isArray(options) || options.length < 2) return { spec, option }
  const rest = options.filter((_, index) => index !== option)
  return { spec: { ...spec, options: rest }, option: Math.min(option, rest.length - 1) }
}
