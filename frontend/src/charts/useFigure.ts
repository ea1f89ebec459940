import { useMemo } from 'react'
import type { ChartTheme } from '../lib/palette'
import { useChartTheme } from '../ui/theme/useChartTheme'
import type { ChartFigure } from './chartFigure'

/** The figure that `draw` makes of an answer and what stands beside it, made anew where one of them changes. */
export function useFigure<Answer, Beside extends unknown[]>(
  draw: (answer: Answer, theme: ChartTheme, ...beside: Beside) => ChartFigure | null,
  answer: Answer | undefined,
  ...beside: Beside
): ChartFigure | null {
  const theme = useChartTheme()
  return useMemo(
    () => (answer === undefined ? null : draw(answer, theme, ...beside)),
    // eslint-disable-next-line react-hooks/exhaustive-deps, react-hooks/use-memo -- as many as `draw` takes, always
    [draw, answer, theme, ...beside],
  )
}
