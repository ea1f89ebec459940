import type { NetworkComparison } from '../../api/_generated/schema'
import { mockWindow } from '../figures'

function side(serviceId: string, share: number) {
  const known = { n_hosts: 4, n_known: 4, with_rdma_ratio: share, changed: [] }
  return { service_id: serviceId, service: serviceId, window: mockWindow, ...known }
}

/** RDMA on all hosts of a service and on none of another. */
export function comparedNetwork(serviceId: string, otherId: string): NetworkComparison {
  const isSame = serviceId === otherId
  const warning =
    `Confounder rdma_smc: 100% of the hosts of ${serviceId} and 0% of those of ${otherId} have RDMA or SMC-R:` +
    " a difference may be the network's."
  return {
    effect: isSame ? 'none' : 'sides_differ',
    warnings: isSame ? [] : [warning],
    side: side(serviceId, 1),
    other: side(otherId, isSame ? 1 : 0),
    peers: [],
  }
}
