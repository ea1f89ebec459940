import { ActionIcon, Button, Checkbox, Modal } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { SavedView, Session } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { deleteView, saveView, viewsQuery } from '../../../api/queries/access/views'
import { problemText } from '../../../api/problem'
import { savedAddress } from '../../../lib/url/viewAddress'
import { ConfirmDelete } from '../../../ui/inputs/ConfirmDelete'
import { Fault } from '../../../ui/states/Fault'
import { ProblemState } from '../../../ui/states/ProblemState'
import { useSession } from '../access/useSession'
import classes from './ViewsDialog.module.css'
import { TextField } from '../../../ui/inputs/fields'

/** Saves what is shown under a name, and lists saved views: open, rename, share, delete. */
export function ViewsDialog({ onClose }: { onClose: () => void }) {
  const { session, may } = useSession()
  const router = useRouter()
  const query = useQuery(viewsQuery())
  const load = loadStateOf(query)
  const [changing, setChanging] = useState<string | null>(null)
  const views = query.data?.items ?? []
  const open = (view: SavedView) => {
    onClose()
    router.history.push(view.address)
  }
  return (
    <Modal opened onClose={onClose} title="Saved views" size={520}>
      {session !== undefined && may('write:own') ? (
        <ViewForm view={null} session={session} />
      ) : (
        <p className={classes.note}>To save a view, log in. Views that others share are listed here.</p>
      )}
      {load.problem !== null && <ProblemState problem={load.problem} onRetry={load.retry} />}
      {query.data !== undefined && views.length === 0 && <p className={classes.note}>No saved views yet.</p>}
      <ul className={classes.list} aria-label="Saved views, newest first">
        {views.map((view) => (
          <li key={view.id} className={classes.item}>
            {changing === view.id && session !== undefined ? (
              <ViewForm view={view} session={session} onDone={() => setChanging(null)} />
            ) : (
              <ViewLine view={view} onOpen={() => open(view)} onChange={() => setChanging(view.id)} />
            )}
          </li>
        ))}
      </ul>
    </Modal>
  )
}

function ViewLine({ view, onOpen, onChange }: { view: SavedView; onOpen: () => void; onChange: () => void }) {
  const queries = useQueryClient()
  const deleting = useMutation(deleteView(queries))
  return (
    <div className={classes.line}>
      <div className={classes.words}>
        <a
          href={view.address}
          onClick={(event) => {
            event.preventDefault()
            onOpen()
          }}
        >
          {view.name}
        </a>
        <div className={classes.meta}>
          {view.address.split('?')[0]} · {view.shared ? `shared by ${view.created_by}` : 'only for you'}
        </div>
      </div>
      {view.changeable && (
        <>
          <ActionIcon aria-label={`Change the view ${view.name}`} onClick={onChange}>
            <IconPencil size={14} aria-hidden />
          </ActionIcon>
          <ConfirmDelete
            compact
            what={`the view ${view.name}`}
            consequence={view.shared ? 'It goes for everyone.' : 'Its name goes; the page stays.'}
            pending={deleting.isPending}
            problem={deleting.error === null ? undefined : problemText(deleting.error)}
            onConfirm={() => deleting.mutate(view.id)}
          />
        </>
      )}
    </div>
  )
}

interface ViewFormProps {
  /** The view to change; null to save what is shown. */
  view: SavedView | null
  session: Session
  onDone?: () => void
}

function ViewForm({ view, session, onDone }: ViewFormProps) {
  const queries = useQueryClient()
  const router = useRouter()
  // Without an account there is nobody whose own it could be.
  const isNobodys = session.user_id === null
  const [name, setName] = useState(view?.name ?? '')
  const [shared, setShared] = useState(view?.shared ?? isNobodys)
  const saving = useMutation(saveView(queries))
  const label = view === null ? 'Save this view' : `Change ${view.name}`
  const save = () =>
    saving.mutate(
      {
        id: view?.id ?? null,
        name: name.trim(),
        shared,
        address: view?.address ?? savedAddress(router.state.location.href),
      },
      {
        onSuccess: () => {
          setName('')
          onDone?.()
        },
      },
    )
  return (
    <form
      aria-label={label}
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <TextField
        className={classes.name}
        label={view === null ? 'Name of this view' : 'Name'}
        data-autofocus
        maxLength={100}
        value={name}
        onText={setName}
      />
      <Button type="submit" loading={saving.isPending} disabled={name.trim() === ''}>
        {view === null ? 'Save view' : 'Save'}
      </Button>
      {onDone !== undefined && (
        <Button variant="default" onClick={onDone}>
          Cancel
        </Button>
      )}
      <Checkbox
        className={classes.shared}
        label={isNobodys ? 'Shared with everyone: you are logged in without an account' : 'Share with everyone'}
        checked={shared}
        disabled={isNobodys}
        onChange={(event) => setShared(event.currentTarget.checked)}
      />
      {saving.error !== null && <Fault text={problemText(saving.error)} />}
    </form>
  )
}
