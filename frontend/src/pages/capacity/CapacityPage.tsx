import { SegmentedControl, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Capacity } from '../../api/_generated/schema'
import { capacityQuery } from '../../api/queries/capacity/capacity'
import { loadStateOf } from '../../api/queries/base/loadState'
import { awaySentence } from '../../lib/fleet/hostsAway'
import { capacityTabs } from '../../lib/url/capacityUrl'
import { Headline } from '../../ui/layout/Headline'
import { NotesList } from '../../ui/text/NotesList'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { Stack } from '../../ui/layout/Stack'
import { capacitySentence } from './capacitySentence'
import classes from './CapacityPage.module.css'
import { ForecastPanel } from './ForecastPanel'
import { PlanView } from './PlanView'
import { ReportsView } from './ReportsView'
import { SubjectsTable } from './SubjectsTable'

const route = getRouteApi('/capacity')

const tabWords = { subjects: 'Forecast', plan: 'Plan', reports: 'Reports' } as const

/** Who runs out of memory when, and how many hosts it takes. */
export function CapacityPage(): ReactNode {
  const { tab = 'subjects', group = 'service' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(capacityQuery(group))
  const load = loadStateOf(query)
  const capacity = query.data
  if (load.problem !== null && capacity === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  return (
    <div data-testid="page-capacity">
      <Headline
        kicker={
          <>
            <h1>Capacity</h1>
            <span>now</span>
          </>
        }
        sentence={
          capacity === undefined ? undefined : `${capacitySentence(capacity)} ${awaySentence(capacity.away)}`.trim()
        }
        aside={
          <SegmentedControl
            aria-label="View"
            value={tab}
            onChange={(value) => {
              const next = capacityTabs.find((known) => known === value)
              void navigate({ search: (before) => ({ ...before, tab: next === 'subjects' ? undefined : next }) })
            }}
            data={capacityTabs.map((value) => ({ value, label: tabWords[value] }))}
          />
        }
      />
      {tab === 'subjects' && <Subjects capacity={capacity} group={group} />}
      {tab === 'plan' && (
        <PlanView measured={capacity?.subjects.some(({ resident_bytes: resident }) => resident.value !== null)} />
      )}
      {tab === 'reports' && <ReportsView />}
    </div>
  )
}

function Subjects({ capacity, group }: { capacity: Capacity | undefined; group: string }) {
  const { subject, sort = 'early' } = route.useSearch()
  const navigate = route.useNavigate()
  const chosen = capacity?.subjects.find(({ id }) => id === subject) ?? capacity?.subjects[0]
  return (
    <Stack>
      <Panel
        title={group === 'service' ? 'Services' : 'Host groups'}
        hint="newest full day; select one to see its forecast"
        actions={
          <Select
            aria-label="Grouped by"
            className={classes.grouping ?? ''}
            value={group}
            onChange={(value) =>
              void navigate({
                search: (before) => ({
                  ...before,
                  group: value === null || value === 'service' ? undefined : value,
                  subject: undefined,
                }),
              })
            }
            data={(capacity?.groupings ?? [group]).map((value) => ({ value, label: groupingWords(value) }))}
          />
        }
        flush
        testId="capacity-subjects"
      >
        <SubjectsTable
          kind={group === 'service' ? 'service' : 'host_group'}
          subjects={capacity?.subjects}
          chosen={chosen?.id}
          sort={sort}
          onSort={(next) => void navigate({ search: (before) => ({ ...before, sort: next }), replace: true })}
        />
      </Panel>
      {capacity?.subjects.length !== 0 && <ForecastPanel subject={chosen} />}
      <NotesList notes={capacity?.notes} />
    </Stack>
  )
}

function groupingWords(grouping: string): string {
  if (grouping === 'service') return 'Services'
  if (grouping === 'sku') return 'Hosts by hardware'
  return grouping.startsWith('label:') ? `Hosts by label ${grouping.slice('label:'.length)}` : `Hosts by ${grouping}`
}
