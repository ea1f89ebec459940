import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Ratio, RatioParts } from '../../api/_generated/schema'
import { RatioWaterfallChart } from '../../charts/ratioWaterfall/RatioWaterfallChart'
import { ratioPartLabel, signedBytes } from '../../charts/ratioWaterfall/figure'
import type { LoadState } from '../../lib/loadState'
import { formatBytes } from '../../lib/units/units'
import { Columns } from '../../ui/layout/Columns'
import { Panel } from '../../ui/layout/Panel'
import { Nothing } from '../../ui/states/Nothing'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { Prose } from '../../ui/text/Prose'
import { firmWords } from './ratioWords'
import classes from './RatioView.module.css'

type Part = RatioParts['parts'][number]

/** Where the evidence of each part stands; those without one are settings of this page. */
const evidence: Partial<Record<Part['name'], { tab: 'heatmap' | 'curve' | 'sensitivity'; label: string }>> = {
  hot: { tab: 'heatmap', label: 'Heatmap' },
  moving: { tab: 'sensitivity', label: 'Hot-set overlap' },
  loss_target: { tab: 'curve', label: 'Hit-ratio curve' },
}

function columnsOf(serviceId: string): Column<Part>[] {
  return [
    { key: 'name', header: 'Part', cell: (row) => ratioPartLabel(row.name), value: (row) => ratioPartLabel(row.name) },
    {
      key: 'bytes',
      header: 'DRAM',
      numeric: true,
      value: (row) => ({ amount: row.bytes, unit: 'bytes' }),
      cell: (row) =>
        row.bytes === null ? <Nothing status="not_collected" reason={row.why} /> : signedBytes(row.bytes),
    },
    {
      key: 'interval',
      header: 'Interval',
      numeric: true,
      value: (row) => intervalText(row),
      cell: (row) => intervalText(row),
    },
    { key: 'why', header: 'From', value: (row) => row.why, cell: (row) => <Source part={row} serviceId={serviceId} /> },
  ]
}

function intervalText({ lo_bytes: lo, hi_bytes: hi }: Part): string {
  return lo === null || hi === null ? '–' : `${signed(lo)} to ${signed(hi)}`
}

function signed(bytes: number): string {
  return bytes < 0 ? signedBytes(bytes) : formatBytes(bytes)
}

function Source({ part, serviceId }: { part: Part; serviceId: string }): ReactNode {
  const link = evidence[part.name]
  return (
    <span className={`${classes.why ?? ''} ${classes.source ?? ''}`}>
      <Prose text={part.why} />{' '}
      {link !== undefined && (
        <Link
          from="/services/$serviceId"
          to="/services/$serviceId"
          params={{ serviceId }}
          search={(before) => ({ ...before, tab: link.tab })}
        >
          {link.label}
        </Link>
      )}
    </span>
  )
}

/** What the DRAM of the advised or likeliest ratio is made of, each part with its interval, source and evidence. */
export function WhyPanel({ ratio, load }: { ratio: Ratio; load: LoadState }) {
  const { parts } = ratio
  if (parts === null) return null
  return (
    <Columns joinAt={1100}>
      <RatioWaterfallChart parts={parts} load={load} height={320} hint={firmWords(parts)} />
      <Panel title="Where each part is from" hint="the parts add up to the DRAM of one host" flush testId="ratio-parts">
        <DataTable
          label="Parts of the DRAM"
          columns={columnsOf(ratio.service_id)}
          rows={parts.parts}
          rowKey={(row) => row.name}
        />
      </Panel>
    </Columns>
  )
}
