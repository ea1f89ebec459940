import type { ServiceMetrics } from '../../api/_generated/schema'
import { mockWindow, timeAxis, wave } from '../figures'

const count = 72

/** What the mock service says of itself; the second service says nothing. */
export function serviceMetrics(serviceId: string): ServiceMetrics {
  const silent = serviceId !== 'svc-redis'
  const line = (key: string, label: string, unit: string, level: number, phase: number) => ({
    key,
    label,
    unit,
    values: wave(count, level, level * 0.2, phase),
  })
  return {
    service_id: serviceId,
    window: mockWindow,
    axis: timeAxis(count, 300),
    status: silent ? 'not_collected' : 'ok',
    reason: silent ? 'No host sends throughput of this service. Map it under [[service_metrics]].' : null,
    n_hosts: silent ? 0 : 6,
    of_hosts: silent ? 0 : 6,
    series: silent
      ? []
      : [
          line('throughput', 'Throughput, all hosts', 'count_per_s', 48_000, 0),
          line('latency_p50', 'p50, median host', 'ns', 310_000, 1),
          line('latency_p99', 'p99, slowest host', 'ns', 2_400_000, 2),
        ],
    warnings: [],
  }
}
