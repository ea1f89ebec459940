import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { dataOf, type Answer } from '../../client'
import { refreshing, type TimeRange } from './range'

type Ask<T> = (signal: AbortSignal) => Promise<Answer<T>>

/** A query over a range of time, whose old data stays on screen while the new one loads. */
export function rangedQuery<T, Key extends readonly unknown[]>(queryKey: Key, range: TimeRange, ask: Ask<T>) {
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => dataOf(ask(signal)),
    placeholderData: keepPreviousData,
    ...refreshing(range),
  })
}

/** A query of what is so now, asked again every `refreshMs`; null asks once. */
export function polledQuery<T, Key extends readonly unknown[]>(queryKey: Key, refreshMs: number | null, ask: Ask<T>) {
  return queryOptions({
    queryKey,
    queryFn: ({ signal }) => dataOf(ask(signal)),
    refetchInterval: refreshMs ?? false,
    staleTime: 15_000,
  })
}
