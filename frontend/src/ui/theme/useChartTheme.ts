import { useComputedColorScheme } from '@mantine/core'
import { chartThemes, type ChartTheme } from '../../lib/palette'

/** The colours that charts of the theme in force use. */
export function useChartTheme(): ChartTheme {
  return chartThemes[useComputedColorScheme('light')]
}
