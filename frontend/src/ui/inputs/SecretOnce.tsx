import { Button } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { StateNote } from '../states/StateNote'
import classes from './SecretOnce.module.css'

interface SecretOnceProps {
  /** What it is and what to do with it, in a sentence. */
  what: ReactNode
  secret: string
  testId?: string
  onDone: () => void
}

/** A secret that is shown this once: to be copied now. */
export function SecretOnce({ what, secret, testId, onDone }: SecretOnceProps) {
  const clipboard = useClipboard()
  return (
    <StateNote tone="info" {...(testId === undefined ? {} : { testId })}>
      <p>{what}</p>
      <pre className={classes.secret} tabIndex={0}>
        {secret}
      </pre>
      <div className={classes.buttons}>
        <Button
          variant="default"
          leftSection={clipboard.copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          onClick={() => clipboard.copy(secret)}
        >
          {clipboard.copied ? 'Copied' : 'Copy'}
        </Button>
        <Button variant="subtle" onClick={onDone}>
          Done, token saved
        </Button>
      </div>
    </StateNote>
  )
}
