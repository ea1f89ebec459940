import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { DriftCell, DriftHost, DriftSetting, SettingDrift } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { settingDriftQuery } from '../../../api/queries/changePlan'
import { formatCount } from '../../../lib/units/units'
import { Headline } from '../../../ui/layout/Headline'
import { Panel } from '../../../ui/layout/Panel'
import { Stack } from '../../../ui/layout/Stack'
import { Nothing } from '../../../ui/states/Nothing'
import { ProblemState } from '../../../ui/states/ProblemState'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { NotesList } from '../../../ui/text/NotesList'
import { SettingName } from '../../knobs/SettingName'
import { SettingValue } from '../../../ui/text/SettingValue'
import { useTimeRange } from '../../shell/time/useTimeRange'
import classes from './ChangePlan.module.css'
import { HostLink } from '../../shell/links'

/** Hosts by settings: who is set otherwise than most of their peers. */
export function DriftView({ tabs }: { tabs: ReactNode }) {
  const { range } = useTimeRange()
  const query = useQuery(settingDriftQuery(range.refreshMs))
  const load = loadStateOf(query)
  const drift = query.data
  if (load.problem !== null && drift === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <>
      <Headline kicker={<h1>Advice</h1>} sentence={drift === undefined ? undefined : sentenceOf(drift)} aside={tabs} />
      <Stack>
        <Panel
          title="Settings that differ from peer hosts"
          hint="hosts that run the same services on the same kernel; only settings in which some host differs"
          flush
          testId="setting-drift"
        >
          <DataTable
            label="Settings by host"
            columns={columnsOf(drift?.settings ?? [])}
            rows={drift?.hosts}
            rowKey={(row) => row.host_id}
            empty={{
              title: 'No drift',
              next: 'A host is compared where at least three peers run one of its services on the same kernel.',
            }}
          />
        </Panel>
        <NotesList notes={drift === undefined ? undefined : notesOf(drift)} />
      </Stack>
    </>
  )
}

function columnsOf(settings: DriftSetting[]): Column<DriftHost>[] {
  return [
    {
      key: 'host',
      header: 'Host',
      value: (row) => row.name,
      cell: (row) => (
        <HostLink id={row.host_id} tab="advice">
          {row.name}
        </HostLink>
      ),
    },
    { key: 'services', header: 'Services', cell: (row) => row.service_names.join(', ') },
    {
      key: 'kernel',
      header: 'Kernel',
      cell: (row) => row.kernel_release ?? <Nothing status="not_collected" reason="The host does not say." />,
    },
    ...settings.map(({ path, hosts }, index): Column<DriftHost> => ({
      key: path,
      header: <SettingName name={path.split('/').at(-1) ?? path} />,
      name: path,
      meaning: `${path}: ${hosts} ${hosts === 1 ? 'host differs' : 'hosts differ'}`,
      value: (row) => row.cells[index]?.value ?? null,
      cell: (row) => {
        const cell = row.cells[index]
        return cell === undefined ? null : <DriftValue path={path} cell={cell} />
      },
    })),
  ]
}

function DriftValue({ path, cell }: { path: string; cell: DriftCell }) {
  if (cell.value === null) {
    return cell.state === 'not_supported' ? (
      <Nothing status="not_supported" reason="This kernel does not have the setting." />
    ) : (
      <Nothing status="not_collected" reason="The host's inventory has no value of it." />
    )
  }
  if (cell.state === 'differs') {
    return (
      <span className={classes.differs} data-drift="differs">
        <strong>
          <SettingValue path={path} value={cell.value} />
        </strong>
        <span className={classes.dimmed}>
          most of {cell.group_hosts} peers: {cell.group_norm}
        </span>
      </span>
    )
  }
  return (
    <span
      className={classes.same}
      title={cell.state === 'no_norm' ? 'No value is shared by most peers.' : 'Most peers have the same.'}
    >
      <SettingValue path={path} value={cell.value} />
      {cell.state === 'no_norm' && ' (no norm)'}
    </span>
  )
}

function sentenceOf(drift: SettingDrift): string {
  if (drift.hosts_compared === 0) return 'No host can be compared with enough peers.'
  if (drift.hosts_differing === 0) return `${formatCount(drift.hosts_compared)} hosts are set as most of their peers.`
  return (
    `${formatCount(drift.hosts_differing)} of ${formatCount(drift.hosts_compared)} compared hosts differ from most of ` +
    `their peers, in ${drift.settings.length} ${drift.settings.length === 1 ? 'setting' : 'settings'}.`
  )
}

function notesOf(drift: SettingDrift): string[] {
  const missing = [
    drift.hosts_without_peers > 0 &&
      `${formatCount(drift.hosts_without_peers)} hosts are not compared: fewer than three peers, or no common value.`,
    drift.hosts_without_settings > 0 &&
      `Settings of ${formatCount(drift.hosts_without_settings)} hosts were not collected.`,
    drift.hosts.length < drift.hosts_differing && `The first ${formatCount(drift.hosts.length)} are shown.`,
  ]
  return [...missing.filter((note) => note !== false), ...drift.notes]
}
