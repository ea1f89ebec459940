import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCallback, useMemo } from 'react'
import type { CounterAnswer } from '../../../api/_generated/schema'
import { counterNamesQuery, counterQuery } from '../../../api/queries/ledger/counters'
import { loadStateOf } from '../../../api/queries/base/loadState'
import type { ChartMark } from '../../../charts/eventMarks'
import { LinesChart } from '../../../charts/lines/LinesChart'
import { counterLines } from '../../../charts/lines/counterLines'
import { askOther, useGhost, type TimeComparison } from '../../shell/time/useTimeComparison'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { CounterPicker } from './CounterPicker'
import { CounterSeriesTable } from './CounterSeriesTable'
import classes from './CountersTab.module.css'

const route = getRouteApi('/hosts/$hostId')
const first = 'pgpromote_success'

function emptyText(answer: CounterAnswer | undefined, name: string) {
  if (answer?.status === 'not_supported')
    return { title: `This kernel has no ${name}`, next: answer.reason ?? 'Choose another counter.' }
  if (answer?.status === 'not_collected')
    return { title: `${name} is not collected`, next: answer.reason ?? 'See Setup for what would turn it on.' }
  return { title: 'No values in this time range', next: 'Widen the time range, or choose another counter.' }
}

interface CountersTabProps {
  hostId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

/** Any counter of the host, by name: one line per node, zone or cgroup that has it. */
export function CountersTab({ hostId, marks, comparison }: CountersTabProps) {
  const { counter = first, source, view = 'rate' } = route.useSearch()
  const navigate = route.useNavigate()
  const { range, zoomTo } = useTimeRange()
  const names = useQuery(counterNamesQuery(hostId))
  const query = useQuery(counterQuery(hostId, counter, source, range))
  const other = askOther(comparison, hostId, range)
  const otherCounter = useQuery({ ...counterQuery(other.id, counter, source, other.range), ...other.options })
  const linesOf = useCallback(
    (answer: CounterAnswer) => ({ axis: answer.axis, lines: counterLines(answer, view) }),
    [view],
  )
  const ghost = useGhost(comparison, otherCounter, linesOf)
  const lines = useMemo(() => counterLines(query.data, view), [query.data, view])
  const known = names.data?.items.find(
    (item) => item.name === counter && item.source === (query.data?.series[0]?.source ?? source),
  )
  const monotonic = query.data?.series.some((series) => series.per_s !== null) ?? false
  const choose = (name: string, from: string) =>
    void navigate({ to: '.', search: (before) => ({ ...before, counter: name, source: from }), resetScroll: false })
  return (
    <div className={classes.layout}>
      <CounterPicker
        names={names.data}
        load={loadStateOf(names)}
        chosen={`${query.data?.series[0]?.source ?? source ?? ''}|${counter}`}
        onChoose={choose}
      />
      <div className={classes.main}>
        <LinesChart
          name="counter"
          title={<span className="ts-mono">{counter}</span>}
          label={`Counter ${counter}`}
          hint={
            known?.help ?? (known === undefined ? undefined : 'Not in the catalogue: shown as the kernel reports it.')
          }
          load={loadStateOf(query)}
          axis={query.data?.axis}
          lines={lines}
          ghost={ghost}
          marks={marks}
          height={320}
          onTimeZoom={zoomTo}
          emptyText={emptyText(query.data, counter)}
          controls={
            <SegmentedControl
              aria-label="Rate or value"
              value={monotonic ? view : 'value'}
              disabled={!monotonic}
              onChange={(next) =>
                void navigate({
                  to: '.',
                  search: (before) => ({ ...before, view: next === 'value' ? 'value' : undefined }),
                  resetScroll: false,
                })
              }
              data={[
                { value: 'rate', label: 'Rate' },
                { value: 'value', label: 'Value' },
              ]}
            />
          }
        />
        <CounterSeriesTable answer={query.data} />
      </div>
    </div>
  )
}
