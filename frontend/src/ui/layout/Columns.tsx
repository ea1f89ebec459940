import type { ReactNode } from 'react'
import classes from './Columns.module.css'

interface ColumnsProps {
  children: ReactNode
  /** Give both sides the height of the taller one. */
  stretch?: boolean
  /** The width of the window, in pixels, up to which they stand below each other. */
  joinAt?: 1000 | 1100
}

/** Two panels side by side, in halves; below each other where the window is narrow. */
export function Columns({ children, stretch = false, joinAt = 1000 }: ColumnsProps) {
  return (
    <div className={classes.columns} data-stretch={stretch} data-join={joinAt}>
      {children}
    </div>
  )
}
