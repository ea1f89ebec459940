import { useCallback, type ReactNode } from 'react'
import { ExportOriginContext, useExportOrigin } from './exportOrigin'

/** Files that are handed out of what is inside say that it is simulated: no host did it. */
export function SimulatedOrigin({ children }: { children: ReactNode }) {
  const outer = useExportOrigin()
  const inner = useCallback(() => ({ ...outer(), origin: 'simulated' as const }), [outer])
  return <ExportOriginContext value={inner}>{children}</ExportOriginContext>
}
