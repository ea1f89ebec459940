import type { Price, SimulatorPolicies, SimulatorSources, Setting, SweepRequest } from '../../../api/_generated/schema'
import { ratioPresets } from '../../../lib/simulate'

export type SourceKind = 'service' | 'workload' | 'upload'

/** What the form holds. Settings are texts: one value sets, several separated by commas are searched over. */
export interface SweepEntry {
  name: string
  kind: SourceKind
  service: string | null
  host: string | null
  /** Only the sample within the time range of the app. */
  inRange: boolean
  workload: string | null
  upload: string | null
  policies: string[]
  dramRatios: number[]
  values: Record<string, string>
  /** Empty: hint faults come at their expected time. */
  seed: number | string
  /** CPU time of the service over the trace, in seconds; empty when not known. */
  cpuSeconds: number | string
  /** Price of a byte of slow memory, in per cent of one of DRAM; null: that of the price book. */
  slowPrice: number | string | null
  /** The same of a byte of swap. */
  swapPrice: number | string
}

const usualPolicies = ['first_touch', 'interleave', 'numa_balancing', 'hot_page_selection', 'tpp']

/** The form as it opens: the usual policies at all usual ratios, slow memory at the price in force. */
export function blankEntry(service: string | undefined): SweepEntry {
  return {
    name: '',
    kind: 'service',
    service: service ?? null,
    host: null,
    inRange: false,
    workload: null,
    upload: null,
    policies: usualPolicies,
    dramRatios: ratioPresets.map(({ dramRatio }) => dramRatio),
    values: {},
    seed: '',
    cpuSeconds: '',
    slowPrice: null,
    swapPrice: 3,
  }
}

export const assumedSlowPrice = 50

/** What slow memory costs in per cent of DRAM by the price book, as TCO takes it; null where either has no price. */
export function bookedSlowPrice(prices: Price[]): number | null {
  const inForce = (item: string) => prices.find((price) => price.item === item && price.in_force)
  const [dram, slow] = [inForce('dram'), inForce('cxl_media')]
  if (dram === undefined || slow === undefined || dram.currency !== slow.currency || dram.value <= 0) return null
  return Math.round((1000 * slow.value) / dram.value) / 10
}

/** The name of a sweep that nobody named: what it replays. */
export function sweepName(entry: SweepEntry, sources: SimulatorSources | undefined): string {
  if (entry.name.trim() !== '') return entry.name.trim()
  if (entry.kind === 'service') {
    return sources?.services.find(({ service_id }) => service_id === entry.service)?.name ?? ''
  }
  if (entry.kind === 'workload') return entry.workload ?? ''
  return sources?.uploads.find(({ id }) => id === entry.upload)?.name ?? ''
}

/** A setting that the form offers, and which of the chosen policies have it. */
export interface OfferedSetting extends Setting {
  usedBy: string[]
}

/** The settings of the chosen policies, each once, then those of the machine and of the cost model. */
export function offeredSettings(known: SimulatorPolicies, policies: string[]): OfferedSetting[] {
  const found = new Map<string, OfferedSetting>()
  for (const policy of known.policies.filter(({ name }) => policies.includes(name))) {
    for (const setting of policy.settings) {
      const before = found.get(setting.name)
      if (before === undefined) found.set(setting.name, { ...setting, usedBy: [policy.label] })
      else before.usedBy.push(policy.label)
    }
  }
  const shared = (settings: Setting[], usedBy: string) =>
    settings.map((setting): OfferedSetting => ({ ...setting, usedBy: [usedBy] }))
  return [
    ...found.values(),
    ...shared(known.machine_settings, 'machine'),
    ...shared(known.cost_settings, 'cost of an access'),
  ]
}

/** The numbers of a text such as `0.5, 1, 2`; a text says what is wrong with it; an empty text has none. */
export function readValues(typed: string, setting: Setting): number[] | string {
  const parts = typed.split(/[,\s]+/).filter((part) => part !== '')
  const values = parts.map((part) => (part === 'on' ? 1 : part === 'off' ? 0 : Number(part)))
  if (values.some((value) => !Number.isFinite(value))) return 'Write numbers, separated by commas.'
  const outside = values.find((value) => value < setting.lowest || value > setting.highest)
  if (outside !== undefined) return `${outside} is outside ${setting.lowest} to ${setting.highest}.`
  return [...new Set(values)]
}

function sourceOf(entry: SweepEntry, range: { from: string; to?: string | undefined }): SweepRequest['source'] | null {
  switch (entry.kind) {
    case 'service':
      if (entry.service === null) return null
      return {
        kind: 'service',
        service_id: entry.service,
        host_id: entry.host,
        ...(entry.inRange ? { from: range.from, to: range.to ?? null } : {}),
      }
    case 'workload':
      return entry.workload === null ? null : { kind: 'workload', workload: entry.workload }
    case 'upload':
      return entry.upload === null ? null : { kind: 'upload', upload_id: entry.upload }
  }
}

/** How many runs a form asks for: the grid, and those of the knob search that are not in the grid already. */
export function countRuns(entry: SweepEntry, known: SimulatorPolicies): { grid: number; search: number } {
  const chosen = known.policies.filter(({ name }) => entry.policies.includes(name))
  const searchOf = (settings: Setting[]): number => {
    const searched = settings.flatMap((setting) => {
      const values = readValues(entry.values[setting.name] ?? '', setting)
      return typeof values === 'string' || values.length < 2 ? [] : [{ setting, values }]
    })
    if (searched.length === 0) return 0
    const all = searched.reduce((product, { values }) => product * values.length, 1)
    return searched.every(({ setting, values }) => values.includes(setting.default)) ? all - 1 : all
  }
  const search = chosen.reduce((sum, policy) => sum + searchOf(policy.settings), 0)
  return { grid: chosen.length * entry.dramRatios.length, search: search * entry.dramRatios.length }
}

/** The request of a form; null while something is missing or cannot be. `range` is the app's time range. */
export function requestOf(
  entry: SweepEntry,
  known: SimulatorPolicies,
  range: { from: string; to?: string | undefined },
): SweepRequest | null {
  const source = sourceOf(entry, range)
  const [seed, price, cpu] = [Number(entry.seed), Number(entry.slowPrice), Number(entry.cpuSeconds)]
  const swap = Number(entry.swapPrice)
  if (source === null || entry.name.trim() === '' || entry.policies.length === 0 || entry.dramRatios.length === 0) {
    return null
  }
  if (!Number.isInteger(seed) || seed < 0 || entry.slowPrice === '' || !(price > 0)) return null
  if (entry.swapPrice === '' || !(swap >= 0)) return null
  const settings: Record<string, number> = {}
  const search: Record<string, number[]> = {}
  for (const setting of offeredSettings(known, entry.policies)) {
    const values = readValues(entry.values[setting.name] ?? '', setting)
    if (typeof values === 'string') return null
    if (values.length > 1) search[setting.name] = values
    else if (values[0] !== undefined) settings[setting.name] = values[0]
  }
  return {
    name: entry.name.trim(),
    source,
    policies: entry.policies,
    dram_ratios: [...entry.dramRatios].sort((a, b) => b - a),
    settings,
    search,
    seed: entry.seed === '' ? null : seed,
    ...(entry.cpuSeconds === '' || !(cpu > 0) ? {} : { cpu_seconds: cpu }),
    cost: { slow_price_ratio: price / 100, swap_price_ratio: swap / 100 },
  }
}
