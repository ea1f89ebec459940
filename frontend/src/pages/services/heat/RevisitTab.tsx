import { SegmentedControl, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Revisit } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { revisitQuery } from '../../../api/queries/heat/revisit'
import type { ChartMark } from '../../../charts/eventMarks'
import { RevisitChart } from '../../../charts/revisit/RevisitChart'
import { intervalWords, measuredBy } from '../../../lib/units/figure'
import { pageKinds, revisitClocks } from '../../../lib/url/urlState'
import { Stat } from '../../../ui/figures/Stat'
import { StatStrip } from '../../../ui/figures/StatStrip'
import { askOther, useBeside, type TimeComparison } from '../../shell/time/useTimeComparison'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { NotesList } from '../../../ui/text/NotesList'
import { ObjectivesSection } from './ObjectivesSection'
import { Stack } from '../../../ui/layout/Stack'
import classes from '../overview/OverviewTab.module.css'

const route = getRouteApi('/services/$serviceId')
const lagsShown = [1, 2, 5, 10, 20]
const idleChoices = [1, 2, 3, 5, 10, 20, 40]

interface RevisitTabProps {
  serviceId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

function drawnOf(revisit: Revisit): Revisit | null {
  return revisit.curves.length > 0 ? revisit : null
}

/** How soon idle memory comes back: what a page that is demoted too early would cost. */
export function RevisitTab({ serviceId, marks, comparison }: RevisitTabProps) {
  const { clock = 'last_access', idle = 2, kind = 'all' } = route.useSearch()
  const navigate = route.useNavigate()
  const { range } = useTimeRange()
  const query = useQuery(revisitQuery(serviceId, { clock, idleIntervals: idle }, range))
  const other = askOther(comparison, serviceId, range)
  const drawn = useQuery(revisitQuery(serviceId, { clock, idleIntervals: idle }, other.ownRange))
  const otherQuery = useQuery({
    ...revisitQuery(other.id, { clock, idleIntervals: idle }, other.range),
    ...other.options,
  })
  const beside = useBeside(comparison, otherQuery, drawnOf)
  const revisit = query.data
  const chosen = revisit?.curves.find((curve) => curve.kind === kind) ?? revisit?.curves[0]
  const set = (next: { clock?: typeof clock; idle?: number; kind?: typeof kind }) =>
    void navigate({
      search: (before) => ({
        ...before,
        ...('clock' in next ? { clock: next.clock === 'last_access' ? undefined : next.clock } : {}),
        ...('idle' in next ? { idle: next.idle === 2 ? undefined : next.idle } : {}),
        ...('kind' in next ? { kind: next.kind === 'all' ? undefined : next.kind } : {}),
      }),
      resetScroll: false,
    })
  return (
    <Stack testId="revisit">
      <div className={classes.scheme}>
        <SegmentedControl
          aria-label="Clock"
          value={clock}
          onChange={(value) => set({ clock: revisitClocks.find((name) => name === value) ?? 'last_access' })}
          data={[
            { value: 'last_access', label: 'Since last access' },
            { value: 'turned_cold', label: 'Since turning cold' },
          ]}
        />
        {clock === 'turned_cold' && (
          <Select
            aria-label="Cold after"
            w={190}
            value={String(idle)}
            onChange={(value) => set({ idle: Number(value ?? 2) })}
            data={idleChoices.map((count) => ({ value: String(count), label: idleLabel(count, revisit) }))}
          />
        )}
        <p className={classes.words}>{revisit === undefined ? '\u00a0' : `Measured by ${measuredBy(revisit)}`}</p>
      </div>
      {(revisit === undefined || chosen !== undefined) && (
        <StatStrip label="Re-accessed within" columns={5}>
          {lagsShown.map((lag, index) => (
            <Stat
              key={lag}
              label={`Within ${lagLabel(lag, revisit)}`}
              name={`Re-accessed within ${lag} intervals`}
              figure={chosen?.figures[index]}
            />
          ))}
        </StatStrip>
      )}
      <RevisitChart
        revisit={drawn.data}
        kind={kind}
        idle={idle}
        beside={beside}
        load={loadStateOf(drawn)}
        height={380}
        hint={
          chosen === undefined
            ? '\u00a0'
            : `${chosen.method === 'cumulative_incidence' ? 'Cumulative incidence: unmapping is a competing risk' : 'Kaplan–Meier: intervals open at the end are censored'}; band over hosts`
        }
        controls={
          <SegmentedControl
            aria-label="Page kind"
            value={chosen?.kind ?? kind}
            onChange={(value) => set({ kind: pageKinds.find((name) => name === value) ?? 'all' })}
            data={(revisit?.curves.map((curve) => curve.kind) ?? ['all', ...pageKinds]).map((name) => ({
              value: name,
              label: name,
            }))}
          />
        }
      />
      <NotesList notes={revisit?.notes} />
      <ObjectivesSection serviceId={serviceId} marks={marks} comparison={comparison} />
    </Stack>
  )
}

function lagLabel(lag: number, revisit: Revisit | undefined): string {
  const seconds = revisit?.interval_seconds ?? null
  return seconds === null ? `${lag} ${lag === 1 ? 'interval' : 'intervals'}` : intervalWords(lag * seconds)
}

function idleLabel(count: number, revisit: Revisit | undefined): string {
  return `cold after ${lagLabel(count, revisit)}`
}
