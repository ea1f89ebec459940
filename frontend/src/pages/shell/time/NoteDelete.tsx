import { ActionIcon, Button } from '@mantine/core'
import { IconTrash } from '@tabler/icons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { deleteEvent } from '../../../api/queries/events'
import { problemText } from '../../../api/problem'
import { Fault } from '../../../ui/states/Fault'
import classes from './EventsControl.module.css'

/** Deletes a note after asking. It asks in place: a popover over that of the list would close both. */
export function NoteDelete({ eventId, text }: { eventId: string; text: string }) {
  const queries = useQueryClient()
  const [asking, setAsking] = useState(false)
  const deleting = useMutation(deleteEvent(queries))
  if (!asking) {
    return (
      <ActionIcon size="xs" aria-label={`Delete the note ${text}…`} onClick={() => setAsking(true)}>
        <IconTrash size={13} aria-hidden />
      </ActionIcon>
    )
  }
  return (
    <span className={classes.asking}>
      <Button size="compact-xs" color="red" loading={deleting.isPending} onClick={() => deleting.mutate(eventId)}>
        Delete note
      </Button>
      <Button size="compact-xs" variant="default" onClick={() => setAsking(false)}>
        Keep
      </Button>
      {deleting.error !== null && <Fault text={problemText(deleting.error)} />}
    </span>
  )
}
