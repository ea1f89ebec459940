import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ServiceSwapTier, SwapAgeView, SwappingHost } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { swapTierQuery } from '../../api/queries/knobs'
import { formatMoneyRange } from '../../lib/tco/money'
import { countOf, formatQuantity, formatRatio } from '../../lib/units/units'
import { formatDuration } from '../../lib/units/time'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import type { Column } from '../../ui/tables/column'
import { DataTable } from '../../ui/tables/DataTable'
import { figureColumn } from '../../ui/tables/figureColumn'
import { SwapVerdictTag } from '../../ui/tags/SwapVerdictTag'
import { ToneTag } from '../../ui/tags/ToneTag'
import { NotesList } from '../../ui/text/NotesList'
import { Prose } from '../../ui/text/Prose'
import { useTimeRange } from '../shell/time/useTimeRange'
import classes from './RatioView.module.css'

/** Ages that the table shows, in seconds, beside the best one: neighbours differ little. */
const shownAges = [0, 60, 120, 300, 600, 1200, 1800, 2700, 3600, 7200]

function shownOf({ ages, best }: ServiceSwapTier): SwapAgeView[] {
  const near = shownAges.flatMap((wanted) => ages.find(({ age_seconds: age }) => age >= wanted)?.age_seconds ?? [])
  return ages.filter(({ age_seconds: age }) => near.includes(age) || age === best?.age_seconds)
}

function ageText(seconds: number): string {
  return seconds === 0 ? 'two intervals' : `${formatDuration(seconds)} more`
}

function column(
  key: 'out_bytes' | 'back_bytes_per_s' | 'wait_ratio' | 'loss_ratio' | 'drive_life_years',
  header: string,
) {
  return figureColumn<SwapAgeView>(
    key,
    header,
    (age) => age[key],
    (age) => `cold for ${ageText(age.age_seconds)}`,
  )
}

function columnsOf(best: SwapAgeView | null): Column<SwapAgeView>[] {
  return [
    {
      key: 'age',
      header: 'Cold for',
      cell: (age) => (
        <>
          {ageText(age.age_seconds)}{' '}
          {age.age_seconds === best?.age_seconds && (
            <ToneTag tone="good" label="best" meaning="Saves most within the loss target." />
          )}
        </>
      ),
      value: (age) => ({ amount: age.age_seconds, unit: 's' }),
    },
    column('out_bytes', 'On swap'),
    column('back_bytes_per_s', 'Comes back'),
    column('wait_ratio', 'Added waits'),
    column('loss_ratio', 'Loss'),
    column('drive_life_years', 'Drive lasts'),
    {
      key: 'saving',
      header: 'Saving a year',
      numeric: true,
      cell: (age) => formatMoneyRange(age.saving_per_year),
      value: (age) => ({ amount: age.saving_per_year.value, unit: `${age.saving_per_year.currency} per year` }),
    },
  ]
}

function areaText({ areas }: SwappingHost): string {
  if (areas.length === 0) return 'no swap'
  return areas
    .map(({ name, zoned, discard, used_ratio: used }) => {
      const trim = discard === null ? 'TRIM not known' : discard ? 'takes TRIM' : 'no TRIM'
      return `${name}: zoned ${zoned ?? 'not known'}, ${trim}, ${used === null ? 'use not known' : `${formatRatio(used)} used`}`
    })
    .join('; ')
}

function rateText(rate: number | null): string {
  return rate === null ? 'not counted' : formatQuantity(rate, 'pages_per_s')
}

const hostColumns: Column<SwappingHost>[] = [
  { key: 'host', header: 'Host', cell: ({ host }) => host },
  { key: 'areas', header: 'Swap', cell: areaText },
  { key: 'in', header: 'Swapped in', numeric: true, cell: ({ swapped_in_pages_per_s: rate }) => rateText(rate) },
  { key: 'out', header: 'Swapped out', numeric: true, cell: ({ swapped_out_pages_per_s: rate }) => rateText(rate) },
  {
    key: 'stall',
    header: 'All tasks wait for memory',
    numeric: true,
    cell: ({ memory_stall_ratio: share }) => (share === null ? 'not known' : formatRatio(share)),
  },
]

/** Whether swap pays as a tier below DRAM: by how long memory was cold, what it saves and what it costs. */
export function SwapTierPanel({ serviceId, loss }: { serviceId: string; loss: number | undefined }) {
  const { range } = useTimeRange()
  const [opened, setOpened] = useState(false)
  const query = useQuery(swapTierQuery(serviceId, loss, range))
  const load = loadStateOf(query)
  const answer = query.data
  const verdict = answer?.verdict ?? null
  const ages = answer === undefined ? undefined : shownOf(answer)
  // Nobody looks for an age where none is worth it.
  const isFolded = !opened && (verdict === 'keep_out' || verdict === 'does_not_pay')
  const assumed = answer?.assumptions.map(
    ({ name, value, why }) => `${name.replaceAll('_', ' ').replace('cxl', 'CXL')}: ${value}; ${why}.`,
  )
  return (
    <>
      <Panel
        title="Swap below DRAM"
        hint={answer === undefined ? undefined : `for a loss of at most ${formatRatio(answer.loss_target)}`}
        flush
        testId="swap-tier"
      >
        {load.problem !== null && answer === undefined ? (
          <ProblemState problem={load.problem} onRetry={load.retry} />
        ) : (
          <>
            {answer !== undefined && verdict !== null && (
              <p className={classes.text}>
                <SwapVerdictTag verdict={verdict} /> <Prose text={answer.sentence} />
              </p>
            )}
            {answer !== undefined && answer.cxl !== null && (
              <p className={classes.text}>
                <Prose text={answer.cxl.sentence} />
              </p>
            )}
            {isFolded ? (
              <Button variant="subtle" m="xs" aria-expanded={false} onClick={() => setOpened(true)}>
                Show {countOf(ages?.length ?? 0, 'age')} of cold memory
              </Button>
            ) : (
              <DataTable
                label="Swap below DRAM by how long memory was cold"
                columns={columnsOf(answer?.best ?? null)}
                rows={ages}
                rowKey={(age) => String(age.age_seconds)}
                skeletonRows={4}
                empty={{ title: 'Whether swap pays is not known', next: answer?.reason ?? 'Widen the time range.' }}
              />
            )}
          </>
        )}
      </Panel>
      {answer !== undefined && answer.hosts.length > 0 && (
        <Panel title="Swap of its hosts today" flush testId="swap-hosts">
          <DataTable
            label="Swap of the hosts"
            columns={hostColumns}
            rows={answer.hosts}
            rowKey={(host) => host.host_id}
          />
        </Panel>
      )}
      <NotesList notes={[...(answer?.warnings ?? []), ...(verdict === null ? [] : (assumed ?? []))]} />
    </>
  )
}
