import type { Pod } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { podOwnerText } from '../../lib/text/pods'
import { Nothing } from '../../ui/states/Nothing'
import { ProblemState } from '../../ui/states/ProblemState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import classes from './PodsTable.module.css'
import { HostLink, ServiceLink } from '../shell/links'

const unnamed = 'The node does not tell the pod’s name: the agent sees no log directory of the kubelet.'

const pod: Column<Pod> = {
  key: 'pod',
  header: 'Pod',
  cell: (row) => row.pod ?? `uid ${row.uid}`,
  sortBy: (row) => row.pod,
  value: (row) => row.pod ?? row.uid,
}

const namespace: Column<Pod> = {
  key: 'namespace',
  header: 'Namespace',
  cell: (row) => row.namespace ?? <Nothing status="not_collected" reason={unnamed} />,
  sortBy: (row) => row.namespace,
  value: (row) => row.namespace,
}

const owner: Column<Pod> = {
  key: 'owner',
  header: 'Owner',
  meaning: 'As the cluster says, or by the pod’s name',
  cell: (row) =>
    row.owner === null ? (
      row.owner_source === 'api' ? (
        'none'
      ) : (
        <Nothing status="not_collected" reason={unnamed} />
      )
    ) : (
      podOwnerText(row.owner_kind, row.owner, row.owner_source)
    ),
  sortBy: (row) => row.owner,
  value: (row) => row.owner,
}

const labels: Column<Pod> = {
  key: 'labels',
  header: 'Labels',
  cell: (row) =>
    row.labels === null ? (
      <Nothing
        status="not_collected"
        reason="The cluster was not asked for labels, or did not answer: see api under [kubernetes] of the agent."
      />
    ) : (
      <div className={classes.labels}>
        {Object.entries(row.labels).map(([key, value]) => (
          <span key={key}>
            {key}={value}
          </span>
        ))}
      </div>
    ),
  value: (row) =>
    row.labels === null
      ? null
      : Object.entries(row.labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(', '),
}

const host: Column<Pod> = {
  key: 'host',
  header: 'Host',
  cell: (row) => <HostLink id={row.host_id}>{row.host}</HostLink>,
  sortBy: (row) => row.host,
  value: (row) => row.host,
}

const service: Column<Pod> = {
  key: 'service',
  header: 'Service',
  cell: (row) =>
    row.service_id === null ? (
      <Nothing status="not_collected" reason="Its service is not among those that the host lists." />
    ) : (
      <ServiceLink id={row.service_id}>{row.service}</ServiceLink>
    ),
  sortBy: (row) => row.service,
  value: (row) => row.service,
}

const columnsOf = { host: [pod, namespace, owner, service, labels], service: [pod, host, owner, labels] }

interface PodsTableProps {
  /** Whose pods they are: the other column is left out. */
  of: 'host' | 'service'
  pods: Pod[] | undefined
  load: LoadState
  /** Why something is not known, and how many are left out. */
  note?: string | null
}

/** Pods of a Kubernetes cluster, with their owners and labels. */
export function PodsTable({ of, pods, load, note = null }: PodsTableProps) {
  if (load.problem !== null && pods === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <>
      {note !== null && <div className={classes.note}>{note}</div>}
      <DataTable
        label={of === 'host' ? 'Pods on this host' : 'Pods of this service'}
        columns={columnsOf[of]}
        rows={pods}
        rowKey={(row) => `${row.host_id} ${row.uid}`}
        skeletonRows={3}
        empty={{
          title: 'No pods',
          next: `Pods are told by agents on nodes of a Kubernetes cluster; ${of === 'host' ? 'none runs here' : 'none of them runs this service'}.`,
        }}
      />
    </>
  )
}
