import { createContext } from 'react'

/** Takes the moment of a Shift-click on a chart over time, in Unix seconds; null on pages without notes. */
export const NoteTimeContext = createContext<((atSeconds: number) => void) | null>(null)
