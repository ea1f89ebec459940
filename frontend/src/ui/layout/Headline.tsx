import { Skeleton } from '@mantine/core'
import type { ReactNode } from 'react'
import { SlowNote } from './Loading'
import classes from './Headline.module.css'

interface HeadlineProps {
  /** What the page is about, small, above the sentence. */
  kicker: ReactNode
  /** The generated sentence; undefined while loading. */
  sentence: string | undefined
  aside?: ReactNode
}

/** A page's first line: the answer in one sentence. */
export function Headline({ kicker, sentence, aside }: HeadlineProps) {
  return (
    <div className={classes.headline}>
      <div className={classes.main}>
        <div className={classes.kicker}>{kicker}</div>
        {sentence === undefined ? (
          <>
            <Skeleton height={24} maw={720} my={4} />
            <SlowNote />
          </>
        ) : (
          <p className={classes.sentence} data-testid="headline">
            {sentence}
          </p>
        )}
      </div>
      {aside !== undefined && <div className={classes.aside}>{aside}</div>}
    </div>
  )
}
