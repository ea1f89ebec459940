import type {
  AgentVersions,
  DataQuality,
  HostLabels,
  HostQuality,
  LabelUpload,
  Pause,
  Purge,
} from '../api/_generated/schema'
import { figure, mockNow, mockWindow, nothing } from './figures'

const ago = (minutes: number): string => new Date((mockNow - minutes * 60) * 1000).toISOString()

/** Releases side by side during a rolling upgrade; `outdated` narrows the hosts. */
export function agentVersions(outdated: boolean): AgentVersions {
  const host = {
    last_seen: ago(1),
    standing: 'current' as const,
    outdated: false,
    supported: true,
    protocol: 1,
    refused_at: null,
  }
  const hosts = [
    { ...host, host_id: 'h-1', name: 'rack1-node01', version: '0.7.0', since: ago(90) },
    {
      ...host,
      host_id: 'h-2',
      name: 'rack2-node02',
      version: '0.6.2',
      since: ago(9000),
      standing: 'behind' as const,
      outdated: true,
    },
    {
      ...{ ...host, host_id: 'h-3', name: 'rack3-node03', version: '0.1.0', since: ago(90_000) },
      ...{ standing: 'too_old' as const, outdated: true, supported: false, refused_at: ago(5) },
    },
  ]
  return {
    service_version: '0.7.0',
    protocol: 1,
    oldest_supported: '0.5.0',
    refused_hosts: 1,
    versions: [
      {
        version: '0.7.0',
        hosts: 12,
        first_seen: ago(90),
        last_seen: ago(1),
        standing: 'current',
        supported: true,
        protocol: 1,
      },
      {
        version: '0.6.2',
        hosts: 5,
        first_seen: ago(90_000),
        last_seen: ago(1),
        standing: 'behind',
        supported: true,
        protocol: 1,
      },
      {
        version: '0.1.0',
        hosts: 1,
        first_seen: ago(99_000),
        last_seen: ago(5),
        standing: 'too_old',
        supported: false,
        protocol: 1,
      },
    ],
    hosts: { items: hosts.filter((row) => row.outdated || !outdated), next_cursor: null },
  }
}

export const pauses: Pause[] = [{ host_id: 'h-4', scope: 'heat', since: ago(20), actor: 'ana' }]

const intervals = (name: string, value: number) => figure(`data_quality.${name}/1`, value, 'intervals')

function hostQuality(id: string, name: string, missing: number): HostQuality {
  return {
    host_id: id,
    name,
    origin: 'simulated',
    window: mockWindow,
    expected_intervals: intervals('expected', 360),
    received: intervals('received', 360 - missing),
    missing: intervals('missing', missing),
    late: intervals('late', 3),
    corrected: intervals('corrected', 0),
    too_late: intervals('too_late', 0),
    set_aside: intervals('set_aside', 0),
    duplicates: figure('data_quality.duplicates/1', 2, 'batches'),
    dropped: nothing('data_quality.dropped/1', 'batches', 'not_collected', 'No agent has reported on itself.'),
    clock_skew_seconds: figure('data_quality.clock_skew_seconds/1', missing > 0 ? 42 : 0.1, 'seconds'),
    caps: missing > 0 ? [{ name: 'max_mappings', text: '12 mappings were left out.' }] : [],
    gaps: missing > 0 ? [{ from: ago(60), to: ago(60 - missing), kind: 'silent', why: 'The host sent nothing.' }] : [],
    more_gaps: 0,
  }
}

/** Two hosts, one of which was silent for 30 minutes. */
export function dataQuality(): DataQuality {
  const hosts = [hostQuality('h-1', 'rack1-node01', 30), hostQuality('h-2', 'rack2-node02', 0)]
  return {
    window: mockWindow,
    counted_since: ago(9000),
    fleet: {
      hosts: figure('data_quality.hosts/1', 2, 'hosts'),
      gapless_hosts: figure('data_quality.gapless_hosts/1', 1, 'hosts'),
      skewed_hosts: figure('data_quality.skewed_hosts/1', 1, 'hosts'),
      expected_intervals: intervals('expected', 720),
      received: intervals('received', 690),
      missing: intervals('missing', 30),
      late: intervals('late', 6),
      corrected: intervals('corrected', 0),
      too_late: intervals('too_late', 0),
      set_aside: intervals('set_aside', 0),
      duplicates: figure('data_quality.duplicates/1', 4, 'batches'),
      dropped: nothing('data_quality.dropped/1', 'batches', 'not_collected', 'No agent has reported on itself.'),
    },
    hosts: { items: hosts, next_cursor: null },
  }
}

/** Labels of a host, one of which the service set over that of the agent. */
export function hostLabels(hostId: string): HostLabels {
  return {
    host_id: hostId,
    name: 'rack1-node01',
    labels: [
      { key: 'rack', value: 'r1', source: 'service', hidden: [{ source: 'agent', value: 'r9' }] },
      { key: 'sku', value: 'cxl-2to1', source: 'agent', hidden: [] },
    ],
    set_labels: { rack: 'r1' },
  }
}

/** What a file of labels would change, or changed. */
export function labelUpload(dryRun: boolean): LabelUpload {
  return {
    dry_run: dryRun,
    rows: 3,
    changed: [{ host_id: 'h-1', name: 'rack1-node01', before: { rack: 'r1' }, after: { rack: 'r2' } }],
    unknown: ['rack9-node99'],
    problems: [{ row: 3, message: 'The label is longer than 63 characters.' }],
  }
}

/** A removal in one of its states. */
export function purge(status: Purge['status']): Purge {
  return {
    id: 'p-1',
    kind: 'host',
    subject: { id: 'h-1', name: 'rack1-node01' },
    requested_by: 'ana',
    requested_at: ago(2),
    status,
    progress_ratio: status === 'done' ? 1 : status === 'running' ? 0.4 : 0,
    report: status === 'waiting' ? [] : [{ table: 'samples', rows: 123_456 }],
    error: null,
    started_at: status === 'waiting' ? null : ago(1),
    finished_at: status === 'done' ? ago(0) : null,
  }
}
