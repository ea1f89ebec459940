import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'

/** The filter and order of a list page, from the URL. */
export function useListSearch(page: '/' | '/services' | '/hosts' | '/experiments', defaultSort: string) {
  const search = useSearch({ from: page })
  const navigate = useNavigate()
  const change = useCallback(
    (next: { q?: string | undefined; sort?: string | undefined; state?: string | undefined }) => {
      void navigate({ to: '.', search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
    },
    [navigate],
  )
  return {
    q: search.q ?? '',
    state: search.state,
    sort: search.sort ?? defaultSort,
    setQ: useCallback((q: string) => change({ q: q === '' ? undefined : q }), [change]),
    setState: useCallback((state: string | null) => change({ state: state ?? undefined }), [change]),
    setSort: useCallback(
      (sort: string) => change({ sort: sort === defaultSort ? undefined : sort }),
      [change, defaultSort],
    ),
  }
}
