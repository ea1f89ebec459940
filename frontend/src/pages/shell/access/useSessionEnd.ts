import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Session } from '../../../api/_generated/schema'
import { ApiProblem } from '../../../api/problem'

/** Whether an error says that nobody is logged in. */
function needsLogin(error: unknown): boolean {
  return error instanceof ApiProblem && error.text.status === 401
}

/**
 * Whether a session of this window is over. An answer that asks for a login makes the dashboard ask at once who it is.
 */
export function useSessionEnd(session: Session | undefined): boolean {
  const queries = useQueryClient()
  const [known, setKnown] = useState<string | null>(null)
  const name = session?.kind === 'session' ? session.name : null
  if (name !== null && name !== known) setKnown(name)

  useEffect(() => {
    const ask = () => void queries.invalidateQueries({ queryKey: ['/v1/session'] })
    const reads = queries.getQueryCache().subscribe((event) => {
      if (event.type === 'updated' && event.action.type === 'error' && needsLogin(event.action.error)) ask()
    })
    const writes = queries.getMutationCache().subscribe((event) => {
      if (event.type === 'updated' && event.action.type === 'error' && needsLogin(event.action.error)) ask()
    })
    return () => {
      reads()
      writes()
    }
  }, [queries])

  return known !== null && session !== undefined && session.kind !== 'session'
}
