import { createContext } from 'react'

/** The place at a panel's head where what is inside puts its own buttons; null outside of panels. */
export const PanelActionsContext = createContext<HTMLElement | null>(null)
