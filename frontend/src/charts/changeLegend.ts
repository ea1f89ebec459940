import { changeColours, type ChartTheme } from '../lib/palette'
import type { LegendItem } from '../ui/layout/Legend'

/** What the colours of changes of heat mean, in every chart that shows them. */
export function changeLegend(theme: ChartTheme): LegendItem[] {
  const scale = changeColours[theme.name]
  return [
    { label: 'colder', colour: scale[1]?.[1] ?? '' },
    { label: 'no change', colour: scale[3]?.[1] ?? '' },
    { label: 'hotter', colour: scale[5]?.[1] ?? '' },
  ]
}
