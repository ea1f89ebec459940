import { IconFileImport, IconFlask } from '@tabler/icons-react'
import classes from './OriginMark.module.css'

const marks = {
  simulated: { Icon: IconFlask, word: 'simulated' },
  import: { Icon: IconFileImport, word: 'imported' },
} as const

/** Says of one row among others that its values were not measured live; nothing where they were. */
export function OriginMark({ origin }: { origin: string }) {
  if (origin !== 'simulated' && origin !== 'import') return null
  const { Icon, word } = marks[origin]
  return (
    <span className={classes.mark}>
      <Icon size={13} aria-hidden /> {word}
    </span>
  )
}
