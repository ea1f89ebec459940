import { Skeleton, UnstyledButton } from '@mantine/core'
import { useCallback, useState, type ReactNode } from 'react'
import { spacedPercentages } from '../../lib/text/prose'
import { SlowNote } from './Loading'
import classes from './Headline.module.css'

interface HeadlineProps {
  /** What the page is about, small, above the sentence. */
  kicker: ReactNode
  /** The generated sentence; undefined while loading. */
  sentence: string | undefined
  aside?: ReactNode
  /** The aside has a row of its own, whatever comes into it: it is too wide to stand beside the sentence. */
  asideBelow?: boolean
}

/** A page's first line: the answer in one sentence. */
export function Headline({ kicker, sentence, aside, asideBelow = false }: HeadlineProps) {
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
          <Sentence text={sentence} />
        )}
      </div>
      {aside !== undefined && (
        <div className={classes.aside} data-below={asideBelow}>
          {aside}
        </div>
      )}
    </div>
  )
}

/** One line, three on a narrow screen; what does not fit is behind a word, so that the page below stays where it is. */
function Sentence({ text }: { text: string }) {
  const [opened, setOpened] = useState(false)
  const [more, setMore] = useState(false)
  const watch = useCallback((shown: HTMLParagraphElement | null) => {
    if (shown === null) return undefined
    const observer = new ResizeObserver(() => setMore(shown.scrollHeight > shown.clientHeight + 1))
    observer.observe(shown)
    return () => observer.disconnect()
  }, [])
  return (
    <div className={classes.said}>
      <p key={text} ref={watch} className={classes.sentence} data-opened={opened} data-testid="headline">
        {spacedPercentages(text)}
      </p>
      {(more || opened) && (
        <UnstyledButton className={classes.more} aria-expanded={opened} onClick={() => setOpened(!opened)}>
          {opened ? 'less' : 'more'}
        </UnstyledButton>
      )}
    </div>
  )
}
