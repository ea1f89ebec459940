import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { StateNote } from '../states/StateNote'
import { CopyText } from '../text/CopyText'

interface SecretOnceProps {
  /** What it is and what to do with it, in a sentence. */
  what: ReactNode
  secret: string
  testId?: string
  onDone: () => void
}

/** A secret that is shown this once: to be copied now. */
export function SecretOnce({ what, secret, testId, onDone }: SecretOnceProps) {
  return (
    <StateNote tone="info" {...(testId === undefined ? {} : { testId })}>
      <p>{what}</p>
      <CopyText text={secret} label="the secret">
        <Button variant="subtle" onClick={onDone}>
          Done, token saved
        </Button>
      </CopyText>
    </StateNote>
  )
}
