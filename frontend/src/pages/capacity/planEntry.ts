import type { PlanRequest, PlanSku } from '../../api/_generated/schema'
import type { JsonObject } from '../../lib/tco/scenarioSpec'

export const gib = 2 ** 30

/** Sizes in which DRAM modules are sold, in GiB. */
export const dimmSizesGib = [16, 32, 48, 64, 96, 128, 256] as const

/** A kind of host to start from: two sockets, twelve channels each, room for two CXL devices. */
export function blankSku(name: string): Required<PlanSku> {
  return {
    name,
    dram_slots: 24,
    dimm_bytes: [32 * gib, 64 * gib],
    dimms_min: 8,
    dimm_step: 8,
    cxl_devices_max: 2,
    cxl_device_bytes: 256 * gib,
    cores: null,
    price: null,
  }
}

/** The plan that the page starts with: one kind of host, a year ahead, a tenth of headroom. */
export const startingPlan = {
  skus: [blankSku('2-socket')],
  horizon_quarters: 4,
  loss_target: null,
  headroom_ratio: 0.1,
  swap: null,
} satisfies PlanRequest & JsonObject

/** What cold memory of a plan may be swapped to. */
export const swapDevices = ['as_found', 'block', 'zns', 'zram'] as const

const deviceNames = { as_found: 'as on the hosts', block: 'SSD', zns: 'zoned SSD', zram: 'zram' } as const

/** Those to choose from; with none, cold memory stays in DRAM and on CXL. */
export const swapChoices = [
  { value: 'none', label: 'none' },
  ...swapDevices.map((device) => ({ value: device, label: deviceNames[device] })),
]

/** What keeps a plan from being asked for, in one sentence; null where nothing does. */
export function planFault(plan: PlanRequest): string | null {
  const names = plan.skus.map(({ name }) => name.trim())
  if (plan.skus.length === 0) return 'Add a host type to plan with.'
  if (names.includes('')) return 'Every host type needs a name.'
  if (new Set(names).size < names.length) return 'Two host types have the same name.'
  const empty = plan.skus.find(({ dimm_bytes: sizes }) => sizes.length === 0)
  if (empty !== undefined) return `Choose a module size for ${empty.name}.`
  const crowded = plan.skus.find(({ dimms_min: fewest = 1, dram_slots: slots }) => fewest > slots)
  return crowded === undefined ? null : `${crowded.name} has fewer slots than its minimum of modules.`
}

/** The most memory that a kind of host holds, in bytes: DRAM, and behind CXL. */
export function mostMemory(sku: PlanSku): { dram: number; cxl: number } {
  return {
    dram: sku.dram_slots * Math.max(0, ...sku.dimm_bytes),
    cxl: (sku.cxl_devices_max ?? 0) * (sku.cxl_device_bytes ?? 0),
  }
}
