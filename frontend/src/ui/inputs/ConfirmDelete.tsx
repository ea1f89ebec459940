import { ActionIcon, Button, Popover } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { Prose } from '../text/Prose'
import classes from './ConfirmDelete.module.css'

interface ConfirmDeleteProps {
  /** What goes, as the last button names it: `this sweep`. */
  what: string
  /** What is lost by it, in a sentence. */
  consequence: string
  pending: boolean
  /** Why it failed, and the next step. */
  problem?: string | undefined
  /** An icon alone, for rows of tables; it is named after `what`. */
  compact?: boolean
  /** What is done, where it is not deleting: `End`. */
  verb?: string
  onConfirm: () => void
}

/** A button that deletes or ends something after asking. */
export function ConfirmDelete({
  what,
  consequence,
  pending,
  problem,
  compact = false,
  verb = 'Delete',
  onConfirm,
}: ConfirmDeleteProps) {
  const [opened, setOpened] = useState(false)
  const toggle = () => setOpened(!opened)
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus={opened} returnFocus>
      <Popover.Target>
        {compact ? (
          <ActionIcon aria-label={`${verb} ${what}…`} aria-expanded={opened} onClick={toggle}>
            <IconTrash size={14} aria-hidden />
          </ActionIcon>
        ) : (
          <Button
            variant="default"
            leftSection={verb === 'Delete' ? <IconTrash size={14} aria-hidden /> : undefined}
            aria-expanded={opened}
            onClick={toggle}
          >
            {verb}
          </Button>
        )}
      </Popover.Target>
      <Popover.Dropdown className={classes.confirm}>
        <p>{consequence}</p>
        <Button color="red" loading={pending} onClick={onConfirm}>
          {verb} {what}
        </Button>
        {problem !== undefined && (
          <p className={classes.fault} role="alert">
            <Prose text={problem} />
          </p>
        )}
      </Popover.Dropdown>
    </Popover>
  )
}
