import { useMemo } from 'react'
import type { Revisit } from '../../api/_generated/schema'
import { kindColour } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel, type ChartPanelProps } from '../ChartPanel'
import type { Beside } from '../ghost'
import { revisitFigure } from './figure'

interface RevisitChartProps extends Pick<ChartPanelProps, 'load' | 'height' | 'controls' | 'hint'> {
  revisit: Revisit | undefined
  /** The page kind that is drawn with its band; where it has no curve, the first one is. */
  kind: string
  /** Idle intervals after which memory counts as cold. */
  idle: number
  beside?: Beside<Revisit> | null
}

/** How soon idle memory is accessed again. */
export function RevisitChart({ revisit, kind, idle, beside = null, ...panel }: RevisitChartProps) {
  const theme = useChartTheme()
  const chosen = revisit?.curves.find((curve) => curve.kind === kind) ?? revisit?.curves[0]
  const figure = useMemo(
    () => (revisit === undefined || chosen === undefined ? null : revisitFigure(revisit, chosen, idle, theme, beside)),
    [revisit, chosen, idle, theme, beside],
  )
  return (
    <ChartPanel
      chart="revisit"
      {...panel}
      name="revisit"
      title="Re-accessed memory"
      label="Share of idle memory re-accessed"
      figure={figure}
      ghost={beside}
      evidence={chosen?.figures.find((found) => found.status === 'ok') ?? chosen?.figures[0]}
      empty={
        revisit !== undefined && chosen === undefined
          ? {
              title: 'No re-access times in this time range',
              next: revisit.missing?.reason ?? 'Widen the time range: ten measured intervals are the least.',
            }
          : null
      }
      legend={[
        ...(revisit?.curves ?? []).map((curve) => ({ label: curve.kind, colour: kindColour(curve.kind) })),
        { label: 'dotted: under 5 % still at risk' },
        { label: 'none at risk', hatched: true },
      ]}
    />
  )
}
