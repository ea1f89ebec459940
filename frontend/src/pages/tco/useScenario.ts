import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { TcoInput } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { scenarioDefaultsQuery, scenarioPresetsQuery, scenarioQuery, tcoQuery } from '../../api/queries/tco'
import { changesBetween, valueAt, withChanges, withValue, type Json, type JsonObject } from '../../lib/tco/scenarioSpec'
import type { TcoSearch } from '../../lib/url/tcoUrl'
import { asJson, asScenario, withInput } from './tcoInputs'

/** While a slider moves, a request is sent this long after its last step. */
const settleMs = 30

const noInputs: TcoInput[] = []

/**
 * The scenario of the URL: a stored one or the starting point, with the changes that the URL holds, and its cost. While
 * a slider moves, the cost alone follows it; letting go writes to the URL.
 */
export function useScenario() {
  const { scenarioId } = useParams({ strict: false })
  const search: TcoSearch = useSearch({ strict: false })
  const defaults = useQuery(scenarioDefaultsQuery())
  const stored = useQuery(scenarioQuery(scenarioId))
  const presets = useQuery(scenarioPresetsQuery(search.service, search.share))
  const [moving, setMoving] = useState<{ path: string; value: number } | null>(null)

  const isExample = (search.start ?? 'example') === 'example'
  // Without advice there are still the fleet's own hosts as they are; without hosts that state their memory, an example.
  const known = presets.data?.presets.filter(({ spec: filledIn }) => filledIn !== null)
  const preset = isExample ? undefined : (known?.find(({ key }) => key === search.start) ?? known?.[0])
  const starting = isExample || known?.length === 0 ? 'example' : preset?.key
  const filled = starting === 'example' ? defaults.data?.spec : (preset?.spec ?? undefined)
  const start = scenarioId === undefined ? filled : stored.data?.spec
  const base = useMemo(() => (start === undefined ? undefined : asJson(start)), [start])
  const spec = useMemo(() => (base === undefined ? undefined : withChanges(base, search.set ?? {})), [base, search.set])
  const settled = useQuery(tcoQuery(spec === undefined ? undefined : asScenario(spec)))
  const inputs = settled.data?.inputs ?? noInputs
  const moved = useMemo(
    () => (spec === undefined || moving === null ? spec : withInput(spec, moving.path, moving.value, inputs, today())),
    [spec, moving, inputs],
  )
  const [asked] = useDebouncedValue(moved, settleMs)
  const cost = useQuery(tcoQuery(asked === undefined ? undefined : asScenario(asked)))
  const changes = useChanges(base, spec, inputs, setMoving)
  const ranges = defaults.data?.ranges
  const storedScenario = stored.data
  const presetsFound = presets.data

  const scenario = useMemo(
    () => ({
      scenarioId,
      search,
      /** The starting point in force; undefined while that is not known. */
      starting,
      base,
      spec,
      stored: storedScenario,
      ranges: ranges ?? [],
      inputs,
      presets: presetsFound,
      ...changes,
    }),
    [scenarioId, search, starting, base, spec, storedScenario, ranges, inputs, presetsFound, changes],
  )
  return {
    scenario,
    /** Cost of the scenario with the slider that is being moved. */
    cost: cost.data,
    load: loadStateOf(cost),
    source: loadStateOf(scenarioId !== undefined ? stored : isExample ? defaults : presets),
  }
}

export type ScenarioState = ReturnType<typeof useScenario>['scenario']

/** The ways to change the scenario; all but `move` write to the URL. */
function useChanges(
  base: JsonObject | undefined,
  spec: JsonObject | undefined,
  inputs: TcoInput[],
  setMoving: (moving: { path: string; value: number } | null) => void,
) {
  const navigate = useNavigate()
  const setSearch = useCallback(
    (next: Partial<TcoSearch>) =>
      void navigate({ to: '.', search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false }),
    [navigate],
  )
  return useMemo(() => {
    const replace = (next: JsonObject) => {
      if (base === undefined) return
      const changes = changesBetween(base, next)
      setSearch({ set: Object.keys(changes).length === 0 ? undefined : changes })
    }
    return {
      setSearch,
      replace,
      /** Try an input without keeping it: what a slider does on its way. */
      move: (path: string, value: number) => setMoving({ path, value }),
      /** Set an input for good. */
      settle: (path: string, value: number) => {
        setMoving(null)
        if (spec !== undefined) replace(withInput(spec, path, value, inputs, today()))
      },
      /** Set any part of the scenario for good. */
      put: (path: string, value: Json) => {
        if (spec !== undefined) replace(withValue(spec, path, value))
      },
      /** Put a part back to where the scenario started. */
      reset: (path: string) => {
        if (spec !== undefined && base !== undefined) replace(withValue(spec, path, valueAt(base, path) ?? null))
      },
    }
  }, [base, spec, inputs, setSearch, setMoving])
}

/** The day of UTC: what a price that is changed by hand is dated. */
function today(): string {
  return new Date().toISOString().slice(0, 10)
}
