import type { Grade } from '../../lib/units/figure'
import classes from './GradeTag.module.css'

/** What the data can support, as a word in a frame of its own style. */
export function GradeTag({ grade }: { grade: Grade | null }) {
  return (
    <span className={classes.grade} data-grade={grade ?? 'none'}>
      {grade ?? 'no grade'}
    </span>
  )
}
