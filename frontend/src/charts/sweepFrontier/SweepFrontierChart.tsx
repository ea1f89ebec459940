import { useCallback } from 'react'
import type { SweepResults } from '../../api/_generated/schema'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import { useFigure } from '../useFigure'
import { frontierFigure, frontierPolicies, pricedCells, runAt } from './figure'

interface SweepFrontierChartProps extends Pick<ChartPanelProps, 'load' | 'height'> {
  results: SweepResults | undefined
  chosenRun: string | undefined
  onRun: (runId: string) => void
}

/** What memory would cost, and what throughput would be lost, for every run of a sweep. */
export function SweepFrontierChart({ results, chosenRun, onRun, ...panel }: SweepFrontierChartProps) {
  const figure = useFigure(frontierFigure, results, chosenRun)
  const open = useCallback(
    (point: { x: unknown; y: unknown }) => {
      const run = runAt(results?.cells ?? [], point.x, point.y)
      if (run !== null) onRun(run)
    },
    [results, onRun],
  )
  return (
    <ChartPanel
      chart="sweepFrontier"
      {...panel}
      name="sweep-frontier"
      title="Cost against loss"
      label="Cost of memory against estimated loss"
      hint="simulated; line: Pareto frontier"
      figure={figure}
      empty={
        results !== undefined && pricedCells(results.cells).length === 0
          ? { title: 'No points yet', next: 'Points appear when runs with a loss and a price finish.' }
          : null
      }
      legend={[
        ...frontierPolicies(results?.cells ?? []).map(({ label, colour }) => ({ label, colour })),
        { label: '— Pareto frontier' },
      ]}
      onPointClick={open}
    />
  )
}
