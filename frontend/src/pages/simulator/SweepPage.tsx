import { Skeleton } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback, type ReactNode } from 'react'
import type { Sweep } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { loadStateOf } from '../../api/queries/base/loadState'
import { deleteSweep, sweepQuery, sweepResultsQuery } from '../../api/queries/simulate/sweeps'
import { SweepFrontierChart } from '../../charts/sweepFrontier/SweepFrontierChart'
import { sweepStatus, type GridMetric } from '../../lib/simulate'
import { SimulatedOrigin } from '../../ui/export/SimulatedOrigin'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { Headline } from '../../ui/layout/Headline'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import { ToneTag } from '../../ui/tags/ToneTag'
import { NotesList } from '../../ui/text/NotesList'
import { SweepGrid } from './grid/SweepGrid'
import { KnobSearchPanel } from './KnobSearchPanel'
import { RunView } from './RunView'
import { SimulatedTag } from './SimulatedTag'
import { SweepFacts } from './SweepFacts'
import { SweepProgress } from './SweepProgress'
import { sweepSentence } from './sweepSentence'
import { LoginFirst } from '../shell/access/LoginFirst'

const route = getRouteApi('/simulator/$sweepId')

/** One sweep: the grid of policies and DRAM shares, the frontier, the knob search, and one run in full. */
export function SweepPage(): ReactNode {
  const { sweepId } = route.useParams()
  const { metric = 'loss', run, knob } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(sweepQuery(sweepId))
  const sweep = query.data
  const answer = useQuery(sweepResultsQuery(sweepId, sweep?.done, sweep?.status))
  const load = loadStateOf(query)
  const resultsLoad = loadStateOf(answer)
  const results = answer.data
  const isTold = results !== undefined || resultsLoad.problem !== null
  const setMetric = (next: GridMetric) =>
    void navigate({
      search: (before) => ({ ...before, metric: next === 'loss' ? undefined : next }),
      replace: true,
      resetScroll: false,
    })
  const setKnob = (next: string) =>
    void navigate({ search: (before) => ({ ...before, knob: next }), replace: true, resetScroll: false })
  const setRun = useCallback(
    (runId: string | undefined) =>
      void navigate({ search: (before) => ({ ...before, run: runId }), resetScroll: false }),
    [navigate],
  )
  if (load.problem !== null && sweep === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const cell = results?.cells.find((candidate) => candidate.run_id === run)
  return (
    <div data-testid="page-sweep">
      <Headline
        kicker={
          <>
            <Link to="/simulator">Simulator</Link>
            <span aria-hidden>/</span>
            <h1>{sweep?.name ?? '…'}</h1>
            <SimulatedTag />
            {sweep !== undefined && <ToneTag {...sweepStatus(sweep.status)} />}
          </>
        }
        sentence={sweep === undefined ? undefined : sweepSentence(sweep, results)}
        aside={sweep === undefined ? undefined : <DeleteSweep sweep={sweep} />}
      />
      <SimulatedOrigin>
        <Stack>
          {sweep !== undefined && sweep.status !== 'done' && <SweepProgress sweep={sweep} />}
          {sweep !== undefined && <SweepFacts sweep={sweep} results={results} />}
          {!isTold ? (
            <Skeleton height={320} />
          ) : (
            <>
              <SweepGrid
                sweep={sweep}
                results={results}
                load={resultsLoad}
                metric={metric}
                chosenRun={run}
                onMetric={setMetric}
                onRun={setRun}
              />
              {run !== undefined && sweep !== undefined && (
                <RunView sweep={sweep} results={results} runId={run} cell={cell} onClose={() => setRun(undefined)} />
              )}
              <SweepFrontierChart results={results} load={resultsLoad} height={320} chosenRun={run} onRun={setRun} />
              {results !== undefined && results.searches.length > 0 && (
                <KnobSearchPanel
                  searches={results.searches}
                  chosen={knob}
                  load={resultsLoad}
                  onChoose={setKnob}
                  onRun={setRun}
                />
              )}
              <NotesList notes={results?.notes} />
            </>
          )}
        </Stack>
      </SimulatedOrigin>
    </div>
  )
}

/** Deletes a sweep with its results, after asking. */
function DeleteSweep({ sweep }: { sweep: Sweep }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const deleting = useMutation(deleteSweep(queries))
  return (
    <LoginFirst may="write:sweeps" to="delete it">
      <ConfirmDelete
        what="this sweep"
        consequence="The sweep and its results are deleted. The trace is kept."
        pending={deleting.isPending}
        problem={deleting.error === null ? undefined : problemText(deleting.error)}
        onConfirm={() => deleting.mutate(sweep.id, { onSuccess: () => void navigate({ to: '/simulator' }) })}
      />
    </LoginFirst>
  )
}
