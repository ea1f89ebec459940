/** Slow memory by its latency, and what it delivers where that is known. */
interface Own {
  latencyNs: number
  gbPerS: number | undefined
}

/** Slow memory from its URL form: a name, or `250` or `250~24` for a latency in ns and GB/s. */
export function readDevice(value: string | undefined): string | Own | undefined {
  if (value === undefined || !/^\d/.test(value)) return value
  const [latency = NaN, bandwidth] = value.split('~').map(Number)
  if (!(latency > 0)) return undefined
  return { latencyNs: latency, gbPerS: bandwidth !== undefined && bandwidth > 0 ? bandwidth : undefined }
}

/** The URL form of slow memory. */
export function writeDevice(device: string | Own | undefined): string | undefined {
  if (typeof device !== 'object') return device
  return device.gbPerS === undefined ? String(device.latencyNs) : `${device.latencyNs}~${device.gbPerS}`
}
