/** Formatting of quantities: three significant digits, binary units for memory, decimal ones for flows. */
import { formatDuration } from './time'

/** A divisor and the unit that is left after dividing by it. */
export interface Scale {
  divisor: number
  unit: string
}

const binaryUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const
const decimalUnits = ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'] as const
const lastingScales: Scale[] = [
  { divisor: 86_400, unit: 'days' },
  { divisor: 3600, unit: 'h' },
  { divisor: 60, unit: 'min' },
]
const timeUnits = ['ns', 'µs', 'ms', 's'] as const

/** Formats by their decimals at most. Made once: to make one takes longer than to use it a hundred times. */
const formats = [0, 1, 2, 3, 4, 5].map(
  (decimals) => new Intl.NumberFormat('en-US', { maximumFractionDigits: decimals }),
)

function withDecimals(value: number, decimals: number): string {
  return formats[decimals]?.format(value) ?? value.toFixed(decimals)
}

/** Decimals that leave three significant digits of a value below one. */
function smallDecimals(magnitude: number): number {
  return 2 - Math.floor(Math.log10(magnitude))
}

const twoDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 2 })

/** Three significant digits without an exponent: 1.23, 12.3, 123, 1,230; two of 0.00056; zero is `0`. */
export function threeDigits(value: number): string {
  if (value === 0) return '0'
  const magnitude = Math.abs(value)
  if (magnitude < 1e-6) return value > 0 ? '< 0.000001' : '> −0.000001'
  if (magnitude < 0.001) return twoDigits.format(value)
  const decimals = magnitude >= 99.95 ? 0 : magnitude >= 9.995 ? 1 : magnitude >= 0.9995 ? 2 : smallDecimals(magnitude)
  return withDecimals(value, decimals)
}

function scaleOf(value: number, base: number, units: readonly string[]): Scale {
  let index = 0
  let divisor = 1
  // A value that would print as 1,024 KiB is shown as 1 MiB.
  while (index < units.length - 1 && Math.abs(value) / divisor >= base * 0.9995) {
    divisor *= base
    index += 1
  }
  return { divisor, unit: units[index] ?? '' }
}

/** The scale on which a chart of this unit is drawn, chosen by its largest value. */
export function scaleFor(unit: string, maximum: number): Scale {
  switch (unit) {
    case 'bytes':
      return scaleOf(maximum, 1024, binaryUnits)
    case 'bytes_per_s':
      return scaleOf(maximum, 1000, decimalUnits)
    case 'ratio':
      return { divisor: 0.01, unit: '%' }
    case 'ns':
      return scaleOf(maximum, 1000, timeUnits)
    case 'seconds':
      return lastingScales.find(({ divisor }) => Math.abs(maximum) >= 2 * divisor) ?? { divisor: 1, unit: 's' }
    default:
      return isSlow(maximum, unit)
        ? { divisor: 1 / secondsPerHour, unit: hourlyLabel(unit) }
        : { divisor: 1, unit: unitLabel(unit) }
  }
}

const unitLabels: Record<string, string> = {
  '': '',
  '1': '',
  bytes: 'B',
  bytes_per_day: 'B/day',
  bytes_per_s: 'B/s',
  count: '',
  count_per_s: '/s',
  days: 'days',
  events: 'events',
  events_per_s: 'events/s',
  batches: 'batches',
  intervals: 'intervals',
  samples: 'samples',
  times: 'times',
  kib: 'KiB',
  log2: 'log2',
  log2_ratio: 'log2',
  mib_per_s: 'MiB/s',
  ms: 'ms',
  ns: 'ns',
  pages: 'pages',
  pages_per_s: 'pages/s',
  pages_per_s_per_gib: 'pages/s per GiB',
  per_min: '/min',
  ratio: '%',
  ratio_per_h: '%/h',
  seconds: 's',
  us: 'µs',
  us_per_s: 'µs/s',
}

/** A unit id as a label: `pages_per_s` is `pages/s`. Unknown ids are shown readably, never dropped. */
export function unitLabel(unit: string): string {
  return unitLabels[unit] ?? unit.replaceAll('_per_', '/').replaceAll('_', ' ')
}

const secondsPerHour = 3600

/** Whether a rate per second is so slow that it is read per hour: two events in an hour are no 0.00056 events/s. */
function isSlow(value: number, unit: string): boolean {
  return /_per_s(?:_|$)/.test(unit) && value !== 0 && Math.abs(value) < 0.01
}

function hourlyLabel(unit: string): string {
  return unitLabel(unit).replace('/s', '/h')
}

/** The unit of a rate over a quantity: `pages` gives `pages_per_s`. */
export function rateUnit(unit: string): string {
  if (unit === '' || unit === '1' || unit === 'count' || unit === 'unknown') return 'count_per_s'
  return `${unit}_per_s`
}

/** Bytes in binary units, such as `14.2 TiB`. Less than half a byte is what sums of large numbers leave. */
export function formatBytes(bytes: number): string {
  const { divisor, unit } = scaleOf(bytes, 1024, binaryUnits)
  if (Math.abs(bytes) < 0.5) return '0 B'
  return `${threeDigits(bytes / divisor)} ${unit}`
}

/** Bytes as a number of MiB, exact to a page: `1,024`, `0.004`. */
export function formatMib(bytes: number): string {
  return withDecimals(bytes / 1024 ** 2, 3)
}

/** A share as a percentage: `63 %`, `6.3 %`, `< 0.01 %` for a positive share that rounding would hide. */
export function formatRatio(ratio: number): string {
  const percent = ratio * 100
  if (percent === 0) return '0 %'
  if (percent > 0 && percent < 0.01) return '< 0.01 %'
  if (percent > 99.95 && percent < 100) return '> 99.9 %'
  const decimals = Math.abs(percent) >= 10 ? 1 : 2
  return `${withDecimals(percent, decimals)} %`
}

function formatMicroseconds(us: number): string {
  if (Math.abs(us) >= 1e6) return `${threeDigits(us / 1e6)} s`
  if (Math.abs(us) >= 1e3) return `${threeDigits(us / 1e3)} ms`
  return `${threeDigits(us)} µs`
}

/** A value with its unit, in the notation that the unit is usually read in. */
export function formatQuantity(value: number, unit: string): string {
  switch (unit) {
    case 'bytes':
      return formatBytes(value)
    case 'kib':
      return formatBytes(value * 1024)
    case 'ratio':
      return formatRatio(value)
    case 'cores':
      return value < 1 ? `${formatRatio(value)} of a core` : `${threeDigits(value)} cores`
    case 'bytes_per_day':
      return `${formatBytes(value)}/day`
    case 'ratio_per_h':
      return `${formatRatio(value)}/h`
    case 'seconds':
      if (value !== 0 && Math.abs(value) < 1) return formatMicroseconds(value * 1e6)
      return Math.abs(value) < 60
        ? `${threeDigits(value)} s`
        : `${value < 0 ? '−' : ''}${formatDuration(Math.abs(value))}`
    case 'days':
      return value !== 0 && Math.abs(value) < 2
        ? formatQuantity(value * 86_400, 'seconds')
        : `${threeDigits(value)} days`
    case 'us':
      return formatMicroseconds(value)
    // Time waited per time passed is a share.
    case 'us_per_s':
      return formatRatio(value / 1e6)
    case 'ns':
      return Math.abs(value) >= 1e3 ? formatMicroseconds(value / 1e3) : `${threeDigits(value)} ns`
    case 'bytes_per_s': {
      const { divisor, unit: label } = scaleOf(value, 1000, decimalUnits)
      return `${threeDigits(value / divisor)} ${label}`
    }
    default: {
      const { number, unit: label } = plainQuantity(value, unit)
      return label === '' || label.startsWith('/') ? `${number}${label}` : `${number} ${label}`
    }
  }
}

/** A value and the label of a unit that has no scales but per second and per hour. */
function plainQuantity(value: number, unit: string): { number: string; unit: string } {
  return isSlow(value, unit)
    ? { number: threeDigits(value * secondsPerHour), unit: hourlyLabel(unit) }
    : { number: threeDigits(value), unit: unitLabel(unit) }
}

/** A value and its unit apart, so that a headline can set them in two sizes. */
export function splitQuantity(value: number, unit: string): { number: string; unit: string } {
  const text = formatQuantity(value, unit)
  const cut = unit === 'cores' ? text.indexOf(' ') : text.lastIndexOf(' ')
  if ((unit.includes('_per_') || unit.startsWith('per_')) && !/^(bytes|ratio)/.test(unit))
    return plainQuantity(value, unit)
  return cut < 0 ? { number: text, unit: '' } : { number: text.slice(0, cut), unit: text.slice(cut + 1) }
}

/** A count with its noun: `1 host`, `1,200 hosts`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** A whole count with thousands separators. */
export function formatCount(count: number): string {
  return withDecimals(count, 0)
}
