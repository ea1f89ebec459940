import { Button } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './CopyText.module.css'

interface CopyTextProps {
  text: string
  /** What it is, for screen readers. */
  label: string
  /** Buttons beside the one that copies. */
  children?: ReactNode
}

/** A text to be taken away whole: commands, a file, a secret. */
export function CopyText({ text, label, children }: CopyTextProps) {
  const clipboard = useClipboard()
  return (
    <>
      <pre className={classes.text} tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <div className={classes.buttons}>
        <Button
          variant="default"
          leftSection={clipboard.copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          aria-label={clipboard.copied ? undefined : `Copy ${label}`}
          onClick={() => clipboard.copy(text)}
        >
          {clipboard.copied ? 'Copied' : 'Copy'}
        </Button>
        {children}
        {/* Browsers give pages that came over plain http no clipboard. */}
        {clipboard.error !== null && (
          <span role="status">The browser refused. Click the text, which selects all of it, then press Ctrl C.</span>
        )}
      </div>
    </>
  )
}
