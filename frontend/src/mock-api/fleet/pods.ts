import type { Pod, PodsState } from '../../api/_generated/schema'
import { mockNow } from '../figures'

function pod(fields: Partial<Pod> & { uid: string }): Pod {
  return {
    namespace: 'shop',
    pod: null,
    owner_kind: null,
    owner: null,
    owner_source: 'api',
    node: 'rack1-node01',
    host_id: 'h-1',
    host: 'rack1-node01',
    service_id: null,
    service: null,
    labels: {},
    first_seen_at: new Date((mockNow - 90_000) * 1000).toISOString(),
    origin: 'live',
    ...fields,
  }
}

/** The pods of the only node of a cluster in the mock fleet: one is known by its name, of one nothing is known. */
const pods: Pod[] = [
  pod({
    uid: '3f1c7a52-8d0e-4b7a-9c55-0f2f0a7c1d11',
    pod: 'redis-sessions-0',
    owner_kind: 'StatefulSet',
    owner: 'redis-sessions',
    service_id: 'svc-redis',
    service: 'shop/redis-sessions',
    labels: { 'app.kubernetes.io/version': '7.4', team: '<b>=cmd()</b>' },
  }),
  pod({
    uid: '77d3f0aa-02a7-4c43-8f3d-11c3a6be7f02',
    pod: 'redis-sessions-1',
    owner_kind: 'StatefulSet',
    owner: 'redis-sessions',
    service_id: 'svc-redis',
    service: 'shop/redis-sessions',
    labels: { 'app.kubernetes.io/version': '7.4' },
  }),
  pod({
    uid: 'b5c1e9d0-9b1a-4a6f-a2d6-5a0e5d1d7c33',
    pod: 'log-shipper-x2k9z',
    owner: 'log-shipper',
    owner_source: 'name',
    labels: null,
  }),
  pod({ uid: 'e0c2b7f4-66a1-4a0e-8c9b-7d1f6a2b9e44', namespace: null, owner_source: null, labels: null }),
]

/** What the host says of its pods as a whole. */
export function podsState(): PodsState {
  return {
    at: new Date((mockNow - 600) * 1000).toISOString(),
    n_pods: pods.length,
    left_out: 0,
    unavailable: 'the API server refuses (403): the service account may not list pods',
  }
}

/** Pods that run on a host. */
export function hostPods(id: string): Pod[] {
  return pods.filter((one) => one.host_id === id)
}

/** Pods of a service. */
export function servicePods(id: string): Pod[] {
  return pods.filter((one) => one.service_id === id)
}
