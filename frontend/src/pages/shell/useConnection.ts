import { onlineManager, useQuery } from '@tanstack/react-query'
import { useState, useSyncExternalStore } from 'react'
import { loadStateOf } from '../../api/queries/base/loadState'
import { statusQuery } from '../../api/queries/operate/status'
import type { ProblemText } from '../../lib/loadState'

/** Whether answers come; `at` is when the last one did, null where none has. */
export type Connection =
  | { kind: 'connected' }
  | { kind: 'offline'; at: Date | null }
  | { kind: 'silent'; at: Date | null; problem: ProblemText }

const subscribe = (onChange: () => void) => onlineManager.subscribe(onChange)
const isOnline = () => onlineManager.isOnline()

/** Whether the browser has a network and the service answers, by the poll that every page makes. */
export function useConnection(): Connection {
  const online = useSyncExternalStore(subscribe, isOnline)
  const query = useQuery(statusQuery())
  const { problem } = loadStateOf(query)
  const [last, setLast] = useState<ProblemText | null>(null)
  // A query without data forgets its problem while it asks again; the service is no better for that.
  if (problem !== null && problem.title !== last?.title) setLast(problem)
  const at = query.dataUpdatedAt === 0 ? null : new Date(query.dataUpdatedAt)
  if (!online) return { kind: 'offline', at }
  const isFailing = query.errorUpdatedAt > query.dataUpdatedAt
  const isSilent = isFailing && last !== null && (last.status === 0 || last.status >= 500)
  return isSilent ? { kind: 'silent', at, problem: last } : { kind: 'connected' }
}
