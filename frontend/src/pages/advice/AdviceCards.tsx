import { Group, SegmentedControl } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { AdviceCard } from '../../api/_generated/schema'
import { adviceQuery, type AdviceKind, type AdviceStatus } from '../../api/queries/advice'
import { loadStateOf } from '../../api/queries/base/loadState'
import { formatBytes } from '../../lib/units/units'
import { Headline } from '../../ui/layout/Headline'
import { Stack } from '../../ui/layout/Stack'
import { EmptyState } from '../../ui/states/EmptyState'
import { ProblemState } from '../../ui/states/ProblemState'
import { useTimeRange } from '../shell/time/useTimeRange'
import { AdviceCardPanel } from './AdviceCardPanel'
import classes from './AdvicePage.module.css'

const route = getRouteApi('/advice')

const statusChoices: { value: AdviceStatus; label: string }[] = [
  { value: 'open', label: 'Open' },
  { value: 'adopted', label: 'Adopted' },
  { value: 'dismissed', label: 'Dismissed' },
  { value: 'gone', label: 'No longer applies' },
]

const kindChoices: { value: AdviceKind | 'all'; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'ratio', label: 'DRAM:CXL ratios' },
  { value: 'knob', label: 'Kernel settings' },
]

/** Everything advised, the highest proven gain first, then the most memory at stake; a card opens to what it rests on. */
export function AdviceCards({ tabs }: { tabs: ReactNode }): ReactNode {
  const { range } = useTimeRange()
  const { status = 'open', kind } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(adviceQuery({ status, kind }, range.refreshMs))
  const load = loadStateOf(query)
  const cards = query.data?.items
  if (load.problem !== null && cards === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const change = (next: { status?: AdviceStatus | undefined; kind?: AdviceKind | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  return (
    <>
      <Headline
        kicker={
          <>
            <h1>Advice</h1>
            <span>now</span>
          </>
        }
        sentence={cards === undefined ? undefined : sentenceOf(cards, status)}
        aside={
          <Group gap={8} wrap="wrap">
            {tabs}
            <SegmentedControl
              aria-label="Kind of advice"
              value={kind ?? 'all'}
              onChange={(value) => change({ kind: value === 'all' ? undefined : (value as AdviceKind) })}
              data={kindChoices}
            />
            <SegmentedControl
              aria-label="Status of advice"
              value={status}
              onChange={(value) => change({ status: value === 'open' ? undefined : (value as AdviceStatus) })}
              data={statusChoices}
            />
          </Group>
        }
      />
      <Stack>
        {cards?.map((card) => (
          <AdviceCardPanel key={card.id} card={card} />
        ))}
        {cards?.length === 0 && (
          <EmptyState
            title={status === 'open' ? 'No advice' : 'None'}
            next={
              status === 'open'
                ? 'Services with page samples and hosts with a slower tier are judged within minutes of their first data, and every hour after that. The Advice tab of a service shows what is missing.'
                : 'Choose another status.'
            }
          />
        )}
      </Stack>
      <p className={classes.foot}>
        Tierscope changes nothing on hosts: apply the files and commands yourself or with your automation.
      </p>
    </>
  )
}

/** How many there are; the memory of one host stands on several cards, so that only the largest is named. */
function sentenceOf(cards: AdviceCard[], status: AdviceStatus): string {
  const word = status === 'gone' ? 'outdated' : status
  if (cards.length === 0) return `No ${word} advice.`
  const most = Math.max(...cards.map((card) => card.stake_bytes ?? 0))
  const pieces = `${cards.length} ${word} ${cards.length === 1 ? 'piece' : 'pieces'} of advice`
  return most > 0 ? `${pieces}; ${formatBytes(most)} at stake in the largest.` : `${pieces}.`
}
