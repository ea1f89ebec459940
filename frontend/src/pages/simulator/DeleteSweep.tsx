import { Button, Popover } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Sweep } from '../../api/_generated/schema'
import { deleteSweep } from '../../api/queries/sweeps'
import { Prose } from '../../ui/Prose'
import { problemText } from '../ratio/problemText'
import classes from './SweepPage.module.css'

/** Deletes a sweep with its results, after asking. */
export function DeleteSweep({ sweep }: { sweep: Sweep }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [opened, setOpened] = useState(false)
  const deleting = useMutation(deleteSweep(queries))
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus={opened} returnFocus>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<IconTrash size={14} aria-hidden />}
          aria-expanded={opened}
          onClick={() => setOpened(!opened)}
        >
          Delete
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={classes.confirm}>
        <p>The sweep goes with all its results. The trace stays.</p>
        <Button
          color="red"
          loading={deleting.isPending}
          onClick={() => deleting.mutate(sweep.id, { onSuccess: () => void navigate({ to: '/simulator' }) })}
        >
          Delete this sweep
        </Button>
        {deleting.error !== null && (
          <p className={classes.fault} role="alert">
            <Prose text={problemText(deleting.error)} />
          </p>
        )}
      </Popover.Dropdown>
    </Popover>
  )
}
