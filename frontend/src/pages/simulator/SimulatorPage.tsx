import { Button, Skeleton } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Sweep } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { isUnfinished, sweepsQuery } from '../../api/queries/simulate/sweeps'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import { NewSweepForm } from './newSweep/NewSweepForm'
import { SimulatedTag } from './SimulatedTag'
import { SwapDevicesPanel } from './SwapDevicesPanel'
import { SweepsTable } from './SweepsTable'

const route = getRouteApi('/simulator')

/** What would happen on other hardware and other kernels: sweeps, and the form that starts one. */
export function SimulatorPage(): ReactNode {
  const { new: asked, service, sort = '-created' } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(sweepsQuery())
  const load = loadStateOf(query)
  const sweeps = query.data?.items
  if (load.problem !== null && sweeps === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const opened = asked === 'on' || service !== undefined || sweeps?.length === 0
  const setOpened = (next: boolean) =>
    void navigate({
      search: (before) => ({ ...before, new: next ? 'on' : undefined, service: undefined }),
      resetScroll: false,
    })
  const setSort = (next: string) =>
    void navigate({
      search: (before) => ({ ...before, sort: next === '-created' ? undefined : next }),
      replace: true,
      resetScroll: false,
    })
  return (
    <div data-testid="page-simulator">
      <Headline
        kicker={
          <>
            <h1>Simulator</h1> <SimulatedTag />
          </>
        }
        sentence={sweeps === undefined ? undefined : sentenceOf(sweeps)}
        aside={
          sweeps !== undefined && sweeps.length > 0 ? (
            <Button
              variant={opened ? 'default' : 'filled'}
              leftSection={opened ? <IconX size={14} aria-hidden /> : <IconPlus size={14} aria-hidden />}
              onClick={() => setOpened(!opened)}
            >
              {opened ? 'Close the form' : 'New sweep'}
            </Button>
          ) : undefined
        }
      />
      <Stack>
        {opened && <NewSweepForm key={service ?? 'any'} service={service} />}
        {sweeps === undefined ? (
          <Skeleton height={186} />
        ) : (
          <>
            <Panel title="Sweeps" hint="policies × DRAM shares × settings, each replayed on one trace" flush>
              <SweepsTable
                sweeps={sweeps}
                sort={sort}
                onSort={setSort}
                empty={{
                  title: 'No sweeps yet',
                  next: 'Choose a trace, policies and DRAM shares above, then start one. The same runs from a file: `tierscope simulate PATH --policy all --dram-share 0.67`.',
                }}
              />
            </Panel>
            <SwapDevicesPanel />
          </>
        )}
      </Stack>
    </div>
  )
}

function sentenceOf(sweeps: Sweep[]): string {
  if (sweeps.length === 0)
    return 'Replay a page trace under any placement policy and any DRAM share, before you buy or change anything.'
  const running = sweeps.filter(isUnfinished).length
  const count = `${sweeps.length} ${sweeps.length === 1 ? 'sweep' : 'sweeps'}`
  return `${count}${running === 0 ? '' : `, ${running} not finished`}: what other policies and DRAM shares would do to your traces.`
}
