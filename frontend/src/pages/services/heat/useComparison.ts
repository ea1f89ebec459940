import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { tilesQuery } from '../../../api/queries/heat/tiles'
import { comparisonWords, readComparison, shiftOf } from '../../../lib/heat/comparison'
import { subtractGrids, whyIncomparable } from '../../../lib/heat/difference'
import type { HeatGrid } from '../../../lib/heat/heatGrid'
import { toRfc3339 } from '../../../lib/units/time'

interface Compared {
  serviceId: string
  /** The comparison as the URL has it. */
  compare: string | undefined
  grid: HeatGrid | undefined
  /** The time range of the grid, Unix seconds. */
  start: number
  end: number
  maxRows: number
  maxColumns: number
  nameOf: (hostId: string) => string
}

/** Ends of windows are whole minutes, so that a window that moves with the clock asks once a minute. */
const minute = (seconds: number): string => toRfc3339(Math.floor(seconds / 60) * 60)

/** The other side of a comparison, and what the heatmap changed against it; null where nothing is compared. */
export function useComparison({ serviceId, compare, grid, start, end, maxRows, maxColumns, nameOf }: Compared) {
  const comparison = useMemo(() => readComparison(compare), [compare])
  const shift = comparison === null ? 0 : shiftOf(comparison)
  const hostId = comparison?.kind === 'host' ? comparison.hostId : grid?.hostId
  const choice = { host: hostId, group: grid?.group, maxRows, maxColumns, against: compare }
  const query = useQuery({
    ...tilesQuery(serviceId, choice, { from: minute(start - shift), to: minute(end - shift), refreshMs: null }),
    enabled: comparison !== null && grid !== undefined && grid.rows.length > 0,
  })
  const then = query.data
  const hostName = comparison?.kind === 'host' ? nameOf(comparison.hostId) : ''
  const words = useMemo(
    () => (comparison === null ? null : comparisonWords(comparison, hostName)),
    [comparison, hostName],
  )
  const [difference, why] = useMemo(() => {
    if (comparison === null || grid === undefined || then === undefined) return [undefined, null]
    const reason = whyIncomparable(grid, then)
    return reason === null ? [subtractGrids(grid, then, shift), null] : [undefined, reason]
  }, [comparison, grid, then, shift])
  if (words === null) return null
  return { words, difference, why, load: loadStateOf(query) }
}
