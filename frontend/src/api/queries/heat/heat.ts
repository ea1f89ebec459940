import type { TimeRange } from '../base/range'
import { rangedQuery } from '../base/ask'

/** How heat is classed, and what it is narrowed to. */
export interface HeatChoice {
  scheme: 'recency' | 'frequency' | 'cold_age'
  threshold?: number | undefined
  kind?: 'anon' | 'file' | 'tmpfs' | undefined
  host?: string | undefined
  /** List so many hosts, the largest; all of them unless set. */
  max_hosts?: number | undefined
}

/** How many hosts the page of a service lists. */
export const listedHosts = 8

/** Heat of a service: classes, age histogram, windows, hosts, series. */
export function heatQuery(serviceId: string, choice: HeatChoice, range: TimeRange) {
  return rangedQuery('/v1/services/{service_id}/heat', { service_id: serviceId, ...choice }, range)
}
