import { useCallback } from 'react'
import type { InstallationStatus } from '../../api/_generated/schema'
import { toRfc3339 } from '../../lib/units/time'
import { resolveRange } from '../../lib/url/timeRange'
import type { ExportOrigin } from '../../ui/export/download'
import { useTimeRange } from './time/useTimeRange'

/** What every file that a page hands out says of itself: the installation's origin and the page's time range. */
export function useShellOrigin(status: InstallationStatus | undefined): () => ExportOrigin {
  const { range } = useTimeRange()
  return useCallback(() => {
    const { start, end } = resolveRange(range.from, range.to, Math.floor(Date.now() / 1000))
    return {
      origin: status === undefined ? 'unknown' : status.simulated ? 'simulated' : 'measured',
      window: { start: toRfc3339(start), end: toRfc3339(end) },
      version: status?.version ?? null,
    }
  }, [status, range])
}
