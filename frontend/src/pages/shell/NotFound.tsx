import type { ReactNode } from 'react'
import { Link } from '@tanstack/react-router'
import type { LoadState } from '../../lib/loadState'
import { EmptyState } from '../../ui/states/EmptyState'
import { ProblemState } from '../../ui/states/ProblemState'

/** A page that does not exist. */
export function NotFound(): ReactNode {
  return <EmptyState title="Page not found" next={<Link to="/">Go to the fleet, or press Ctrl K to search.</Link>} />
}

interface SubjectProblemProps {
  load: LoadState
  noun: 'host' | 'service'
  id: string
}

/** Why a host or service cannot be shown; one that does not exist leads to the list of those that do. */
export function SubjectProblem({ load, noun, id }: SubjectProblemProps): ReactNode {
  if (load.problem === null) return null
  if (load.problem.status !== 404) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const list = noun === 'host' ? '/hosts' : '/services'
  return (
    <EmptyState
      title={`No ${noun} has the id ${id.slice(0, 80)}`}
      next={
        <>
          It may have been removed, or the link is incomplete. <Link to={list}>See all {noun}s</Link>, or press Ctrl K
          to search.
        </>
      }
    />
  )
}
