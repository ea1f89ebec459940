import type { ClickedPoint } from '../Plot'

/** Nothing is loaded, because nothing is drawn. */
export function loadPlotly(): Promise<null> {
  return Promise.resolve(null)
}

/** Where a Shift-click on a plot hits: the same moment everywhere. */
const clicked: ClickedPoint = { x: '2026-11-20 12:34:00', y: 0 }

interface PlotProps {
  label: string
  onShiftClick?: ((point: ClickedPoint) => void) | undefined
}

/** A plot by its label alone: jsdom does not draw. */
export function Plot({ label, onShiftClick }: PlotProps) {
  return <div role="img" aria-label={label} onClick={(event) => event.shiftKey && onShiftClick?.(clicked)} />
}
