import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { loadStateOf } from '../../api/queries/base/loadState'
import { expressionQuery } from '../../api/queries/promql'
import type { ChartMark } from '../../charts/eventMarks'
import { LinesChart } from '../../charts/lines/LinesChart'
import { useTimeRange } from '../shell/time/useTimeRange'
import { expressionLines } from './expressionLines'

interface ExpressionChartProps {
  name: string
  expression: string
  marks: ChartMark[]
}

/** The series of an expression over the page's time range. */
export function ExpressionChart({ name, expression, marks }: ExpressionChartProps) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(expressionQuery(expression, range))
  const answer = query.data
  const drawn = useMemo(
    () => (answer === undefined ? undefined : expressionLines(answer.answer, answer.steps)),
    [answer],
  )
  return (
    <LinesChart
      name={name}
      title={expression}
      label={expression}
      hint={drawn?.leftOut}
      load={loadStateOf(query)}
      axis={drawn?.axis}
      lines={drawn?.lines ?? []}
      marks={marks}
      height={240}
      emptyText={{
        title: 'No series in this time range',
        next: 'Check the name and the labels, or take a longer range. Rates need two samples in their window.',
      }}
      onTimeZoom={zoomTo}
    />
  )
}
