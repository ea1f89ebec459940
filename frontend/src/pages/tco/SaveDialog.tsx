import { Button, Modal } from '@mantine/core'
import { useState, type FormEvent } from 'react'
import classes from './PriceDialog.module.css'
import { TextField } from '../../ui/inputs/fields'

interface SaveDialogProps {
  opened: boolean
  name: string
  pending: boolean
  onClose: () => void
  onSave: (name: string) => void
}

/** Asks for the name under which a scenario is stored. */
export function SaveDialog({ opened, name, pending, onClose, onSave }: SaveDialogProps) {
  const [typed, setTyped] = useState<string | null>(null)
  const chosen = (typed ?? name).trim()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (chosen !== '') onSave(chosen)
  }
  return (
    <Modal opened={opened} onClose={onClose} title="Save scenario">
      <form onSubmit={submit} className={classes.form}>
        <TextField data-autofocus label="Name" maxLength={200} value={typed ?? name} onText={setTyped} />
        <div className={classes.actions}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={chosen === ''} loading={pending}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  )
}
