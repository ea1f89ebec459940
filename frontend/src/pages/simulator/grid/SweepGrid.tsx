import { SegmentedControl, Skeleton, Tooltip } from '@mantine/core'
import type { Sweep, SweepResults } from '../../../api/_generated/schema'
import type { LoadState } from '../../../lib/loadState'
import { gridMetrics, gridMetricText, type GridMetric } from '../../../lib/simulate'
import { formatRatio, threeDigits } from '../../../lib/units/units'
import { Panel } from '../../../ui/layout/Panel'
import { ProblemState } from '../../../ui/states/ProblemState'
import { GridCell } from './GridCell'
import { GridDownload } from './GridDownload'
import { gridOf, metricText, type Grid } from './gridCells'
import classes from './SweepGrid.module.css'

interface SweepGridProps {
  sweep: Sweep | undefined
  results: SweepResults | undefined
  load: LoadState
  metric: GridMetric
  chosenRun: string | undefined
  onMetric: (metric: GridMetric) => void
  onRun: (runId: string) => void
}

/** Policies by DRAM shares; the stronger a cell's colour, the more of the metric. A cell opens its run. */
export function SweepGrid({ sweep, results, load, metric, chosenRun, onMetric, onRun }: SweepGridProps) {
  const grid = sweep === undefined ? null : gridOf(sweep, results, metric)
  const text = gridMetricText(metric)
  const choose = (value: string) => onMetric(gridMetrics.find((name) => name === value) ?? 'loss')
  return (
    <Panel
      title="Policies by DRAM share"
      hint={`simulated: ${text.axis}; a cell opens its run`}
      testId="sweep-grid"
      flush
      actions={
        <>
          <SegmentedControl
            aria-label="Metric of the grid"
            value={metric}
            onChange={choose}
            data={gridMetrics.map((name) => ({ value: name, label: gridMetricText(name).label }))}
          />
          <GridDownload results={results} />
        </>
      }
    >
      {load.problem !== null && <ProblemState problem={load.problem} onRetry={load.retry} />}
      {grid === null ? (
        <Skeleton height={220} m={16} />
      ) : (
        <>
          <GridTable grid={grid} metric={metric} chosenRun={chosenRun} onRun={onRun} />
          <GridKey grid={grid} metric={metric} />
        </>
      )}
    </Panel>
  )
}

interface GridTableProps {
  grid: Grid
  metric: GridMetric
  chosenRun: string | undefined
  onRun: (runId: string) => void
}

function GridTable({ grid, metric, chosenRun, onRun }: GridTableProps) {
  return (
    <div className={classes.scroll} tabIndex={0} role="region" aria-label="Grid of policies and DRAM shares">
      <table className={classes.grid}>
        <thead>
          <tr>
            <th scope="col">Policy</th>
            {grid.columns.map(({ dramRatio, name }) => (
              <th key={dramRatio} scope="col">
                {name}
                <span className={classes.share}>
                  {dramRatio === 1 ? 'no slower tier' : `${formatRatio(dramRatio)} DRAM`}
                </span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {grid.rows.map((row) => (
            <tr key={row.policy}>
              <th scope="row">{row.label}</th>
              {row.places.map((place, index) => (
                <GridCell
                  key={grid.columns[index]?.dramRatio ?? index}
                  place={place}
                  metric={metric}
                  where={`${row.label} at ${grid.columns[index]?.name ?? ''}`}
                  chosen={place.state === 'run' && place.cell.run_id === chosenRun}
                  onRun={onRun}
                />
              ))}
            </tr>
          ))}
          <tr className={classes.oracle} data-testid="oracle-row">
            <th scope="row">
              <Tooltip label="The densest pages of each interval in DRAM, known beforehand: no policy can have a greater local share.">
                <span tabIndex={0}>Oracle, local share</span>
              </Tooltip>
            </th>
            {grid.oracle.map((share, index) => (
              <td key={grid.columns[index]?.dramRatio ?? index}>
                {share === null ? <span className={classes.pending}>not yet</span> : `${metricText(share, 'local')} %`}
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  )
}

function GridKey({ grid, metric }: { grid: Grid; metric: GridMetric }) {
  const top = metric === 'moves' ? `${threeDigits(grid.most)} MB/s` : formatRatio(grid.most)
  return (
    <ul className={classes.key} aria-label="Key of the grid">
      <li>
        0 <span className={classes.ramp} aria-hidden /> {top}
      </li>
      <li>
        <span className={classes.pendingSwatch} aria-hidden /> not simulated yet
      </li>
      <li>
        <span className={`${classes.swatch} ts-hatch-swatch`} aria-hidden /> not simulated for this policy
      </li>
      <li>
        <span className={classes.failedSwatch} aria-hidden>
          ✕
        </span>{' '}
        failed
      </li>
    </ul>
  )
}
