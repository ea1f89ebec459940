import { createContext, useContext } from 'react'
import type { ExportOrigin } from './download'

/** Where the values of what is below come from, asked when a file is made; the shell provides it for all pages. */
export const ExportOriginContext = createContext<() => ExportOrigin>(() => ({
  origin: 'unknown',
  window: null,
  version: null,
}))

/** Tells, when a file is made, where the values come from that are shown here. */
export function useExportOrigin(): () => ExportOrigin {
  return useContext(ExportOriginContext)
}
