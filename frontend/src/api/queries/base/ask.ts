import { keepPreviousData, queryOptions, type UndefinedInitialDataOptions } from '@tanstack/react-query'
import { dataOf, type Answer, type DataOf } from '../../client'
import { refreshing, type TimeRange } from './range'

type Ask<T> = (signal: AbortSignal) => Promise<Answer<T>>
type Options<T, Key extends readonly unknown[]> = Omit<
  UndefinedInitialDataOptions<DataOf<T>, Error, DataOf<T>, Key>,
  'queryKey' | 'queryFn'
>

/** The old data stays on screen while the new one loads. */
export const kept = { placeholderData: keepPreviousData }

/** A query of one request. */
export function askedQuery<T, Key extends readonly unknown[]>(queryKey: Key, ask: Ask<T>, options?: Options<T, Key>) {
  return queryOptions({ queryKey, queryFn: ({ signal }) => dataOf(ask(signal)), ...options })
}

/** A query over a range of time, whose old data stays on screen while the new one loads. */
export function rangedQuery<T, Key extends readonly unknown[]>(queryKey: Key, range: TimeRange, ask: Ask<T>) {
  return askedQuery(queryKey, ask, { ...kept, ...refreshing(range) })
}

/** A query of what is so now, asked again every `refreshMs`; null asks once. */
export function polledQuery<T, Key extends readonly unknown[]>(
  queryKey: Key,
  refreshMs: number | null,
  ask: Ask<T>,
  options?: Options<T, Key>,
) {
  return askedQuery(queryKey, ask, { refetchInterval: refreshMs ?? false, staleTime: 15_000, ...options })
}
