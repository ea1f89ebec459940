import { useMemo } from 'react'
import type { FleetOverview } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import { hasFlow, tierFlowFigure } from './figure'

interface TierFlowChartProps {
  fleet: FleetOverview | undefined
  load: LoadState
  height: number
}

/** What moves between DRAM, slower tiers and swap now, in both directions, with the evidence of each rate. */
export function TierFlowChart({ fleet, load, height }: TierFlowChartProps) {
  const theme = useChartTheme()
  const figure = useMemo(
    () => (fleet === undefined ? null : tierFlowFigure(fleet.tier_flow, fleet.hosts_total, theme)),
    [fleet, theme],
  )
  const flow = fleet?.tier_flow
  return (
    <ChartPanel
      chart="tierFlow"
      name="tier-flow"
      title="Tier flow"
      label="Tier flow of all hosts"
      hint="now, newest hour of each host"
      load={load}
      figure={figure}
      height={height}
      empty={
        flow !== undefined && !hasFlow(flow)
          ? {
              title: 'No host has counted what moves yet',
              next: 'Rates appear within two minutes of an agent’s first upload.',
            }
          : null
      }
      wrap={(plot) => (
        <>
          {plot}
          <StatStrip label="Tier flow now" columns={6}>
            <Stat label="Promoted" name="Promoted bytes" figure={flow?.promotion_bytes_per_s} />
            <Stat label="Demoted" name="Demoted bytes" figure={flow?.demotion_bytes_per_s} />
            <Stat
              label="Up by DAMON"
              name="Moved to the top tier by DAMON"
              figure={flow?.damon_promotion_bytes_per_s}
            />
            <Stat
              label="Down by DAMON"
              name="Moved to slower tiers by DAMON"
              figure={flow?.damon_demotion_bytes_per_s}
            />
            <Stat label="Swapped in" name="Swapped in" figure={flow?.swap_in_bytes_per_s} />
            <Stat label="Swapped out" name="Swapped out" figure={flow?.swap_out_bytes_per_s} />
          </StatStrip>
        </>
      )}
    />
  )
}
