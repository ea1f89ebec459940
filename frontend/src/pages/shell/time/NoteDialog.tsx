import { Button, Modal, SegmentedControl, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { addNote } from '../../../api/queries/events'
import { problemText } from '../../../api/problem'
import { toLocalInput, toRfc3339, zoneName } from '../../../lib/units/time'
import { Fault } from '../../../ui/states/Fault'
import type { AlertedSubject } from './useEventMarks'
import { TextAreaField, TextField } from '../../../ui/inputs/fields'

/** What the service stores of a note at most, in characters. */
const longest = 2000

interface NoteDialogProps {
  /** The moment that the note is put on, in Unix seconds; null: now. */
  atSeconds: number | null
  /** The host or service of the page; null where the page is about the whole fleet. */
  subject: AlertedSubject
  /** The viewer may write notes of the page's subject alone. */
  subjectOnly: boolean
  onClose: () => void
}

/** Puts a note on a moment: charts over time mark it at once. */
export function NoteDialog({ atSeconds, subject, subjectOnly, onClose }: NoteDialogProps) {
  const queries = useQueryClient()
  const [text, setText] = useState('')
  const [at, setAt] = useState(() => toLocalInput(atSeconds === null ? new Date() : new Date(atSeconds * 1000)))
  const [isTimed, setTimed] = useState(atSeconds !== null)
  const [scope, setScope] = useState(subject === null ? 'fleet' : 'subject')
  const saving = useMutation(addNote(queries))
  const words = text.trim()
  const save = () =>
    saving.mutate(
      {
        text: words,
        at: isTimed ? toRfc3339(Date.parse(at) / 1000) : null,
        host_id: scope === 'subject' && subject !== null && 'host' in subject ? subject.host : null,
        service_id: scope === 'subject' && subject !== null && 'service' in subject ? subject.service : null,
      },
      { onSuccess: onClose },
    )
  return (
    <Modal opened onClose={onClose} title="Add a note" size={420}>
      <form
        aria-label="Add a note"
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack gap="sm">
          <TextAreaField label="Note" data-autofocus rows={3} maxLength={longest} value={text} onText={setText} />
          <TextField
            type="datetime-local"
            label={`Time (${zoneName(new Date())})`}
            description="Shift + click on a chart over time sets it"
            value={at}
            onText={(text) => {
              setAt(text)
              setTimed(true)
            }}
          />
          {subject !== null && (
            <SegmentedControl
              aria-label="What the note is about"
              value={scope}
              onChange={setScope}
              data={[
                { value: 'subject', label: 'host' in subject ? 'This host' : 'This service' },
                { value: 'fleet', label: 'Whole fleet', disabled: subjectOnly },
              ]}
            />
          )}
          {saving.error !== null && <Fault text={problemText(saving.error)} />}
          <Button type="submit" loading={saving.isPending} disabled={words === '' || at === ''}>
            Save note
          </Button>
        </Stack>
      </form>
    </Modal>
  )
}
