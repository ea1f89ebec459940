import { Button, Checkbox } from '@mantine/core'
import type { ReactNode } from 'react'
import type { PlanChange, PlanHost } from '../../../api/_generated/schema'
import { readableId } from '../../../lib/text/names'
import { verdictText } from '../../../lib/text/verdicts'
import { formatBytes, formatQuantity } from '../../../lib/units/units'
import { FigureText } from '../../../ui/figures/FigureText'
import { Panel } from '../../../ui/layout/Panel'
import { OriginMark } from '../../../ui/provenance/OriginMark'
import { Nothing } from '../../../ui/states/Nothing'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { amountColumn } from '../../../ui/tables/figureColumn'
import { Prose } from '../../../ui/text/Prose'
import { Timestamp } from '../../../ui/text/Timestamp'
import { SettingValue } from '../../../ui/text/SettingValue'
import classes from './ChangePlan.module.css'
import { ExpectedEffect } from './ExpectedEffect'
import { BundlePreview } from './BundlePreview'
import { HostLink } from '../../shell/links'

interface ChangePanelProps {
  change: PlanChange
  excluded: string[]
  onExclude: (hostId: string) => void
  onShow: (id: string) => void
}

/** One change in full: why, what to expect, how to verify and take it back, its hosts, and its files. */
export function ChangePanel({ change, excluded, onExclude, onShow }: ChangePanelProps) {
  const columns: Column<PlanHost>[] = [
    {
      key: 'host',
      header: 'Host',
      value: (row) => row.name,
      cell: (row) => (
        <span className={classes.host}>
          <Checkbox
            aria-label={`Include ${row.name}`}
            checked={!excluded.includes(row.host_id)}
            onChange={() => onExclude(row.host_id)}
          />
          <HostLink id={row.host_id} tab="advice">
            {row.name}
          </HostLink>
          <OriginMark origin={row.origin} />
        </span>
      ),
    },
    { key: 'services', header: 'Services', cell: (row) => row.service_names.join(', ') },
    {
      key: 'current',
      header: 'Now, and rollback value',
      cell: (row) => <SettingValue path={change.path} value={row.current} />,
    },
    amountColumn('stake', 'At stake', (row) => row.stake_bytes, formatBytes, {
      unit: 'bytes',
      absent: <Nothing status="not_collected" reason="Heat of this host is not known." />,
    }),
    { key: 'at', header: 'Evaluated', cell: (row) => <Timestamp at={row.refreshed_at} /> },
  ]
  return (
    <>
      <Panel title={`${change.title}: ${change.setting} = ${change.proposed}`} testId="change-detail">
        <dl className={classes.facts}>
          <Fact term="Path">
            <code>{change.path}</code>
          </Fact>
          <Fact term="Why">
            {change.reasons.map(({ verdict, hosts, explanation }) => (
              <div key={verdict}>
                {verdictText(verdict).label}, {hosts} {hosts === 1 ? 'host' : 'hosts'}
                {explanation !== '' && (
                  <>
                    {hosts > 1 ? ', for example: ' : ': '}
                    <Prose text={explanation} />
                  </>
                )}
              </div>
            ))}
          </Fact>
          {change.evidence.length > 0 && (
            <Fact term="Evidence">
              {change.evidence.map(({ metric, value, unit, figure }) => (
                <div key={metric}>
                  {readableId(metric)}
                  {change.hosts.length > 1 ? ', median: ' : ': '}
                  {figure === null ? formatQuantity(value, unit) : <FigureText figure={figure} label={metric} />}
                </div>
              ))}
            </Fact>
          )}
          <Fact term="Expected">
            <Prose text={change.effect} />
            {change.effect_figure !== null && <ExpectedEffect figure={change.effect_figure} />}
          </Fact>
          <Fact term="Risk">
            <Prose text={change.risk} />
          </Fact>
          <Fact term="Verify">
            <code>{change.verify_command}</code>
            <div>
              <Prose text={change.verify} />
            </div>
          </Fact>
          <Fact term="Roll back">
            {change.values.map(({ value, hosts }) => (
              <div key={value}>
                <code>{value}</code> on {hosts} {hosts === 1 ? 'host' : 'hosts'}
              </div>
            ))}
          </Fact>
          {change.belongs_with.length > 0 && (
            <Fact term="Goes with">
              {change.belongs_with.map((id) => (
                <Button key={id} variant="subtle" size="compact-xs" onClick={() => onShow(id)}>
                  {id}
                </Button>
              ))}
            </Fact>
          )}
        </dl>
        <BundlePreview changeId={change.id} without={excluded} />
      </Panel>
      <Panel title="Hosts of this change" hint="clear a host to leave it out of bundles" flush testId="change-hosts">
        <DataTable
          label={`Hosts of ${change.setting}`}
          columns={columns}
          rows={change.hosts}
          rowKey={(row) => row.host_id}
        />
      </Panel>
    </>
  )
}

function Fact({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  )
}
