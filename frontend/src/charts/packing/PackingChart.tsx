import { useMemo } from 'react'
import { tierColour } from '../../lib/palette'
import { formatBytes, formatRatio } from '../../lib/units/units'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import {
  freeBytes,
  packedHosts,
  packingFigure,
  packingHeight,
  type PackedHosts,
  type PackedTier,
  type PlannedHosts,
} from './figure'
import classes from './PackingChart.module.css'

interface PackingChartProps extends Pick<
  ChartPanelProps,
  'name' | 'title' | 'label' | 'load' | 'height' | 'hint' | 'empty'
> {
  /** Undefined while there is no answer. */
  hosts: PlannedHosts[] | undefined
}

const tierNames = { dram: 'DRAM', cxl: 'CXL', swap: 'Swap' } as const

/** Planned hosts, filled by tier: one box per content, with how many hosts have it. */
export function PackingChart({ hosts, ...panel }: PackingChartProps) {
  const packed = useMemo(() => (hosts === undefined ? undefined : packedHosts(hosts)), [hosts])
  const figure = useFigure(packingFigure, packed)
  return (
    <ChartPanel
      chart="packing"
      {...panel}
      figure={figure}
      pictureHeight={packed === undefined ? undefined : packingHeight(packed)}
      legend={[
        { label: 'DRAM', colour: tierColour('dram') },
        { label: 'CXL', colour: tierColour('cxl') },
        ...(packed?.some(({ tiers }) => tiers.some(({ tier }) => tier === 'swap')) === true
          ? [{ label: 'swap', colour: tierColour('swap') }]
          : []),
        { label: 'free' },
      ]}
      drawing={
        <ul className={classes.hosts} aria-label={panel.label}>
          {packed?.map((host, index) => (
            <HostBox key={index} host={host} />
          ))}
        </ul>
      }
    />
  )
}

function HostBox({ host }: { host: PackedHosts }) {
  const services = [...new Set(host.tiers.flatMap(({ filled }) => filled.map(({ service }) => service)))]
  return (
    <li className={classes.host}>
      <div className={classes.head}>
        <strong>{host.sku}</strong>
        <span>
          {host.count} {host.count === 1 ? 'host' : 'hosts'}
        </span>
      </div>
      {host.tiers.map((tier) => (
        <TierBar key={tier.tier} tier={tier} />
      ))}
      <div className={classes.services} title={services.join(', ')}>
        {services.join(', ')}
      </div>
    </li>
  )
}

function TierBar({ tier }: { tier: PackedTier }) {
  const used = tier.bytes - freeBytes(tier)
  const text = `${tierNames[tier.tier]}: ${formatBytes(used)} of ${formatBytes(tier.bytes)} used`
  return (
    <div className={classes.tier}>
      <span className={classes.name}>{tierNames[tier.tier]}</span>
      <div className={classes.bar} role="img" aria-label={text} title={text}>
        {tier.filled.map(({ service, bytes }) => (
          <span
            key={service}
            className={classes.part}
            style={{ width: `${(bytes / tier.bytes) * 100}%`, background: tierColour(tier.tier) }}
            title={`${service}: ${formatBytes(bytes)}, ${formatRatio(bytes / tier.bytes)} of its ${tierNames[tier.tier]}`}
          />
        ))}
      </div>
      <span className={classes.size}>{formatBytes(tier.bytes)}</span>
    </div>
  )
}
