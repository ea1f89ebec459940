import type { Catalogue, InstallationStatus } from '../api/_generated/schema'
import { mockNow } from './figures'

/** The installation as the API answers it. */
export function status(): InstallationStatus {
  return {
    version: '0.1.0',
    storage: 'native',
    simulated: true,
    components: [
      {
        name: 'database',
        status: 'healthy',
        detail: 'PostgreSQL 15.18, 412 MiB',
        since: new Date((mockNow - 90_000) * 1000).toISOString(),
      },
      { name: 'api', status: 'healthy', detail: 'answers in 12 ms', since: null },
      {
        name: 'worker',
        status: 'degraded',
        detail: 'rollups are 4 min behind',
        since: new Date((mockNow - 600) * 1000).toISOString(),
      },
      { name: 'queue', status: 'absent', detail: 'the worker polls the database', since: null },
      { name: 'agent', status: 'healthy', detail: '16 of 18 hosts report', since: null },
      { name: 'objects', status: 'healthy', detail: 'the s3 store takes the bodies of finished hours', since: null },
    ],
    queue_lag_seconds: 240,
    marks_pending: 37,
    anonymous_reads: true,
    public_url: 'https://tierscope.example',
    unread: [],
  }
}

/** A small metric catalogue. */
export function catalogue(): Catalogue {
  return {
    items: [
      {
        name: 'pgpromote_success',
        source: 'vmstat',
        unit: 'pages',
        kind: 'counter',
        scopes: ['host', 'node'],
        kernel: '5.18',
        added_in: '0.1',
        help: 'Pages promoted to a faster tier.',
      },
      {
        name: 'MemFree',
        source: 'meminfo',
        unit: 'bytes',
        kind: 'gauge',
        scopes: ['host', 'node'],
        kernel: 'all',
        added_in: '0.1',
        help: 'Free memory.',
      },
    ],
  }
}
