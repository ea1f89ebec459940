import { Tooltip, UnstyledButton } from '@mantine/core'
import type { CSSProperties } from 'react'
import { gridMetricText, type GridMetric } from '../../../lib/simulate'
import { nothingText } from '../../../lib/units/figure'
import { formatQuantity, threeDigits } from '../../../lib/units/units'
import { Nothing } from '../../../ui/states/Nothing'
import { metricFigure, type GridPlace } from './gridCells'
import classes from './SweepGrid.module.css'

interface GridCellProps {
  place: GridPlace
  metric: GridMetric
  /** Policy and ratio, for screen readers. */
  where: string
  chosen: boolean
  onRun: (runId: string) => void
}

/** One cell of the grid. Zero is a number; not yet, failed and left out each look their own way. */
export function GridCell({ place, metric, where, chosen, onRun }: GridCellProps) {
  switch (place.state) {
    case 'pending':
      return (
        <td className={classes.pendingCell} data-state="pending" aria-label={`${where}: not simulated yet`}>
          …
        </td>
      )
    case 'none':
      return <td className="ts-hatch-swatch" data-state="none" aria-label={`${where}: not simulated`} />
    case 'failed':
      return (
        <td className={classes.failedCell} data-state="failed">
          <Tooltip label={place.why}>
            <span tabIndex={0} aria-label={`${where}: failed, ${place.why}`}>
              ✕ failed
            </span>
          </Tooltip>
        </td>
      )
    case 'run':
      return <RunCell place={place} metric={metric} where={where} chosen={chosen} onRun={onRun} />
  }
}

interface RunCellProps extends Omit<GridCellProps, 'place'> {
  place: Extract<GridPlace, { state: 'run' }>
}

function RunCell({ place, metric, where, chosen, onRun }: RunCellProps) {
  const figure = metricFigure(place.cell, metric)
  const unit = figure.unit
  const interval =
    figure.interval === null
      ? ''
      : ` (${formatQuantity(figure.interval.lo, unit)} – ${formatQuantity(figure.interval.hi, unit)})`
  const status = figure.status === 'ok' ? 'not_collected' : figure.status
  const value =
    figure.value === null
      ? `${nothingText[status]} ${figure.reason ?? ''}`.trim()
      : metric === 'moves'
        ? `${threeDigits(figure.value)} MB/s`
        : formatQuantity(figure.value, unit)
  const text = `${where}: ${gridMetricText(metric).label.toLowerCase()} ${value}${interval}`
  return (
    <td
      className={classes.runCell}
      data-state="run"
      data-chosen={chosen}
      style={{ '--level': place.level ?? 0 } as CSSProperties}
    >
      <Tooltip label={text} disabled={figure.value === null}>
        <UnstyledButton
          className={classes.open}
          aria-label={text}
          aria-pressed={chosen}
          onClick={() => onRun(place.cell.run_id)}
        >
          {figure.value === null ? <Nothing status={status} reason={figure.reason} /> : place.text}
        </UnstyledButton>
      </Tooltip>
    </td>
  )
}
