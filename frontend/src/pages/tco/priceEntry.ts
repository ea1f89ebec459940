import type { PriceRequest } from '../../api/_generated/schema'

export type PriceItem = PriceRequest['item']

/** What the price book holds prices of. */
export const priceItems: { value: PriceItem; label: string; unit: string }[] = [
  { value: 'dram', label: 'DRAM', unit: 'per GiB' },
  { value: 'cxl_media', label: 'Memory behind CXL', unit: 'per GiB' },
  { value: 'ddr4_reused', label: 'Reused DDR4', unit: 'per GiB' },
  { value: 'cxl_controller', label: 'CXL controller with board', unit: 'per device' },
  { value: 'ssd', label: 'SSD', unit: 'per GB' },
  { value: 'electricity', label: 'Electricity', unit: 'per kWh' },
]

/** What the form of an own price holds. Empty number fields are texts. */
export interface PriceEntry {
  value: number | string
  low: number | string
  high: number | string
  source: string
  date: string
}

export const blankPrice: PriceEntry = { value: '', low: '', high: '', source: '', date: '' }

/** The request of an own price; null while something is missing or cannot be. Ends left out make it certain. */
export function requestOf(entry: PriceEntry, item: PriceItem, currency: string): PriceRequest | null {
  const number = (text: number | string) => (text === '' ? null : Number(text))
  const value = number(entry.value)
  if (value === null || !(value >= 0) || (item === 'dram' && value === 0)) return null
  const [low, high] = [number(entry.low) ?? value, number(entry.high) ?? value]
  if (!(low <= value && value <= high) || low < 0 || (item === 'dram' && low === 0)) return null
  const source = entry.source.trim()
  if (source === '' || !/^\d{4}-\d{2}-\d{2}$/.test(entry.date)) return null
  return { item, value, low, high, currency, source, date: entry.date, confirm: true }
}
