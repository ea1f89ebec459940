import { Button, CopyButton } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import type { StallSeconds, Sweep, SweepCell, SweepResults } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { sweepHeatQuery, sweepRunQuery } from '../../api/queries/simulate/sweeps'
import { ReplayChart } from '../../charts/replay/ReplayChart'
import { ratioName, runCommand, settingsText, unclaimedText } from '../../lib/simulate'
import { formatQuantity } from '../../lib/units/units'
import { Stat } from '../../ui/figures/Stat'
import { StatStrip } from '../../ui/figures/StatStrip'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import { Term } from '../../ui/text/Term'
import { SimulatedTag } from './SimulatedTag'
import { SwapStrip } from './SwapStrip'
import classes from './SweepPage.module.css'

interface RunViewProps {
  sweep: Sweep
  results: SweepResults | undefined
  runId: string
  /** The run's cell, where the results have it already. */
  cell: SweepCell | undefined
  onClose: () => void
}

/** One run in full: its figures, its settings, and its replay under the heat of the trace. */
export function RunView({ sweep, results, runId, cell, onClose }: RunViewProps) {
  const query = useQuery(sweepRunQuery(sweep.id, runId))
  const heat = useQuery(sweepHeatQuery(sweep.id, true))
  const load = loadStateOf(query)
  const run = query.data
  const shown: SweepCell | undefined = run ?? cell
  if (load.problem !== null && run === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const unclaimed = shown === undefined ? null : unclaimedText(shown)
  const name = shown === undefined ? '…' : `${shown.label} at ${ratioName(shown.dram_ratio)}`
  const command = shown === undefined ? '' : runCommand(shown.policy, shown.dram_ratio, shown.settings, sweep.seed)
  return (
    <Stack testId="sweep-run">
      <Panel
        title={
          <>
            {name} <SimulatedTag />
          </>
        }
        hint={
          shown === undefined || settingsText(shown.settings) === '' ? (
            'all settings at their default'
          ) : (
            <code>{settingsText(shown.settings)}</code>
          )
        }
        actions={
          <>
            <CopyButton value={command}>
              {({ copied, copy }) => (
                <Button variant="default" onClick={copy} disabled={shown === undefined}>
                  {copied ? 'Copied' : 'Copy command'}
                </Button>
              )}
            </CopyButton>
            <Button variant="subtle" leftSection={<IconX size={14} aria-hidden />} onClick={onClose}>
              Close
            </Button>
          </>
        }
        flush
      >
        <StatStrip label="Figures of the run" columns={6}>
          <Stat label="Estimated loss" name="Estimated loss" figure={shown?.loss} />
          <Stat label="Local share" name="Local share" figure={shown?.local_ratio} />
          <Stat label={<Term name="promotion">Promoted</Term>} name="Promotions" figure={shown?.promoted_pages_per_s} />
          <Stat label={<Term name="demotion">Demoted</Term>} name="Demotions" figure={shown?.demoted_pages_per_s} />
          <Stat label={<Term name="pingPong">Ping-pong</Term>} name="Ping-pong" figure={shown?.ping_pong_ratio} />
          <Stat label="Major faults" name="Major faults" figure={shown?.major_faults_per_s} />
        </StatStrip>
        {shown?.swap != null && <SwapStrip swap={shown.swap} />}
        {unclaimed !== null && (
          <p className={classes.totals} data-testid="run-not-claimed">
            {unclaimed}
          </p>
        )}
        {run !== undefined && run.stall_seconds !== null && (
          <p className={classes.totals}>{stallText(run.stall_seconds)}</p>
        )}
      </Panel>
      <ReplayChart
        title={name}
        series={run?.series ?? undefined}
        heat={heat.data === undefined || heat.data.rows.length === 0 ? null : heat.data}
        heatReason={heat.data?.reason ?? null}
        intervalSeconds={results?.interval_seconds ?? 60}
        load={load}
      />
    </Stack>
  )
}

function stallText(stall: StallSeconds): string {
  const seconds = (value: number) => formatQuantity(value * 1e6, 'us')
  return `Waits beyond DRAM over the trace: ${seconds(stall.total)}; for slow accesses ${seconds(stall.slow_accesses)}, page faults ${seconds(stall.faults)}, hint faults ${seconds(stall.hint_faults)}, tier moves ${seconds(stall.tier_moves)}.`
}
