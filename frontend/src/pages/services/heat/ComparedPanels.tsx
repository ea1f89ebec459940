import { useMemo, type Ref } from 'react'
import { cellLegend } from '../../../charts/heatmap/changeDrawing'
import { ChangeHeatmap } from '../../../charts/heatmap/ChangeHeatmap'
import type { HeatmapChartProps } from '../../../charts/heatmap/HeatmapChart'
import { changeLimit, differenceSentence, summariseDifference } from '../../../lib/heat/differenceSummary'
import { useChartTheme } from '../../../ui/theme/useChartTheme'
import { HeatmapPanels } from './HeatmapPanels'
import classes from './HeatmapTab.module.css'
import type { useComparison } from './useComparison'

interface ComparedPanelsProps {
  compared: NonNullable<ReturnType<typeof useComparison>>
  chart: Omit<HeatmapChartProps, 'drawing' | 'width'>
  split: boolean
  fullScale: boolean
  width: number
  place: Ref<HTMLDivElement>
}

/** What changed against an earlier time or another host: the answer in a sentence, and the map of changes. */
export function ComparedPanels({ compared, chart, split, fullScale, width, place }: ComparedPanelsProps) {
  const { words, difference, why, load } = compared
  const { box } = chart
  const theme = useChartTheme()
  const limit = useMemo(
    () => (difference === undefined ? 1 : changeLimit(difference, box, fullScale)),
    [difference, box, fullScale],
  )
  const sentence = useMemo(
    () =>
      difference === undefined
        ? null
        : differenceSentence(summariseDifference(difference, box), difference.measure, words),
    [difference, box, words],
  )
  const absent = load.problem?.status === 404 || why !== null
  return (
    <>
      {sentence !== null && (
        <p className={classes.sentence} data-testid="heatmap-difference">
          {sentence}
        </p>
      )}
      <HeatmapPanels
        raster={difference?.raster}
        split={split}
        width={width}
        place={place}
        legend={cellLegend(theme, words)}
        chart={{
          ...chart,
          title: `Activity against ${words.other}`,
          hint: [chart.hint, ...(difference?.notes ?? [])].join(' · '),
          load: chart.load.problem !== null ? chart.load : absent ? { ...load, problem: null } : load,
          empty:
            chart.empty ??
            (absent
              ? {
                  title: why === null ? `No heat tiles ${words.than}` : `No comparison with ${words.other}`,
                  next: `${why ?? 'None were collected in that time range.'} Compare with another time or host.`,
                }
              : null),
        }}
        draw={(each, span) => (
          <ChangeHeatmap {...each} difference={difference} words={words} limit={limit} span={span} />
        )}
      />
    </>
  )
}
