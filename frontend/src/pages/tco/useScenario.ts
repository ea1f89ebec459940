import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { TcoInput } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/loadState'
import { scenarioDefaultsQuery, scenarioQuery, tcoQuery } from '../../api/queries/tco'
import { changesBetween, valueAt, withChanges, withValue, type JsonObject } from '../../lib/scenarioSpec'
import type { TcoSearch } from '../../lib/tcoUrl'
import { asJson, asScenario, withInput } from './tcoInputs'

/** While a slider moves, a request is sent this long after its last step. */
const settleMs = 40

const noInputs: TcoInput[] = []

/**
 * The scenario of the URL: a stored one or the starting point, with the changes that the URL holds. A slider that is
 * being moved changes it on screen alone; letting go writes to the URL.
 */
export function useScenario() {
  const { scenarioId } = useParams({ strict: false })
  const search: TcoSearch = useSearch({ strict: false })
  const navigate = useNavigate()
  const defaults = useQuery(scenarioDefaultsQuery())
  const stored = useQuery(scenarioQuery(scenarioId))
  const [moving, setMoving] = useState<{ path: string; value: number } | null>(null)

  const base = scenarioId === undefined ? defaults.data?.spec : stored.data?.spec
  const settled = useMemo(
    () => (base === undefined ? undefined : withChanges(asJson(base), search.set ?? {})),
    [base, search.set],
  )
  const whole = useQuery(tcoQuery(settled === undefined ? undefined : asScenario(settled), 'all'))
  const inputs = whole.data?.inputs ?? noInputs
  const spec = useMemo(
    () =>
      settled === undefined || moving === null
        ? settled
        : withInput(settled, moving.path, moving.value, inputs, today()),
    [settled, moving, inputs],
  )
  const [asked] = useDebouncedValue(spec, settleMs)
  const fast = useQuery(tcoQuery(asked === undefined ? undefined : asScenario(asked), 'fast'))

  const setSearch = useCallback(
    (next: Partial<TcoSearch>) =>
      void navigate({ to: '.', search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false }),
    [navigate],
  )
  const replace = useCallback(
    (next: JsonObject) => {
      if (base === undefined) return
      const changes = changesBetween(asJson(base), next)
      setSearch({ set: Object.keys(changes).length === 0 ? undefined : changes })
    },
    [base, setSearch],
  )
  return {
    scenarioId,
    search,
    setSearch,
    base: base === undefined ? undefined : asJson(base),
    stored: stored.data,
    ranges: defaults.data?.ranges ?? [],
    /** The scenario on screen, with the slider that is being moved. */
    spec,
    changed: search.set !== undefined,
    inputs,
    /** Cost of the scenario on screen, without random draws. */
    cost: fast.data,
    load: loadStateOf(fast),
    /** The same with random draws, of the scenario as it was when the slider was last let go. */
    drawn: whole.data,
    drawnLoad: loadStateOf(whole),
    drawing: whole.isPlaceholderData || moving !== null,
    source: loadStateOf(scenarioId === undefined ? defaults : stored),
    move: useCallback((path: string, value: number) => setMoving({ path, value }), []),
    /** Set an input for good. */
    settle: (path: string, value: number) => {
      setMoving(null)
      if (settled !== undefined) replace(withInput(settled, path, value, inputs, today()))
    },
    /** Set any part of the scenario for good. */
    put: (path: string, value: Parameters<typeof withValue>[2]) => {
      if (settled !== undefined) replace(withValue(settled, path, value))
    },
    /** Put a part back to where the scenario started. */
    reset: (path: string) => {
      if (settled === undefined || base === undefined) return
      replace(withValue(settled, path, valueAt(asJson(base), path) ?? null))
    },
    replace,
  }
}

export type ScenarioState = ReturnType<typeof useScenario>

/** The day of UTC: what a price that is changed by hand is dated. */
function today(): string {
  return new Date().toISOString().slice(0, 10)
}
