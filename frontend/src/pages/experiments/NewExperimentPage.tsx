import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { loadStateOf } from '../../api/queries/base/loadState'
import { canariesQuery } from '../../api/queries/changePlan'
import { Headline } from '../../ui/layout/Headline'
import { ProblemState } from '../../ui/states/ProblemState'
import { NewExperimentForm } from './NewExperimentForm'

const route = getRouteApi('/experiments/new')

/** Plans an experiment: hosts are drawn at random from like ones, and the plan says what they can tell. */
export function NewExperimentPage(): ReactNode {
  const { service, advice, change } = route.useSearch()
  const navigate = route.useNavigate()
  const proposed = useQuery(canariesQuery(change, service, undefined))
  const load = loadStateOf(proposed)
  return (
    <div data-testid="page-new-experiment">
      <Headline
        kicker={
          <>
            <Link to="/experiments">Experiments</Link> / <h1>New</h1>
          </>
        }
        sentence="Canary against control, difference-in-differences."
      />
      {change !== undefined && proposed.data === undefined ? (
        load.problem === null ? (
          <Skeleton height={320} />
        ) : (
          <ProblemState problem={load.problem} onRetry={load.retry} />
        )
      ) : (
        <NewExperimentForm
          key={`${proposed.data?.change_id} ${proposed.data?.service_id}`}
          onService={(next) => void navigate({ search: (before) => ({ ...before, service: next }), replace: true })}
          service={service ?? ''}
          advice={advice}
          proposal={change === undefined ? null : (proposed.data ?? null)}
        />
      )}
    </div>
  )
}
