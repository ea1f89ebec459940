import { Button, Popover } from '@mantine/core'
import { IconFlag, IconFlagOff, IconPlus } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { EventItem, Session } from '../../../api/_generated/schema'
import { markGlyph, markKind } from '../../../charts/eventMarks'
import { EmptyState } from '../../../ui/states/EmptyState'
import { ProblemState } from '../../../ui/states/ProblemState'
import { Timestamp } from '../../../ui/text/Timestamp'
import { useSession } from '../access/useSession'
import classes from './EventsControl.module.css'
import { NoteDelete } from './NoteDelete'
import { NoteDialog } from './NoteDialog'
import type { EventMarks } from './useEventMarks'
import { SwitchField } from '../../../ui/inputs/fields'

interface EventsControlProps {
  events: EventMarks
  /** The id of the team that owns the page's service: its members may write notes of it. */
  ownerTeam?: string | undefined
}

/** The events of the page as a list, whether charts mark them, and notes that viewers put on a time. */
export function EventsControl({ events, ownerTeam }: EventsControlProps) {
  const [opened, setOpened] = useState(false)
  const { session, may } = useSession()
  const mayAll = may('write:events')
  const isOwner =
    session?.owner_permissions.includes('write:events') === true && session.teams.some(({ id }) => id === ownerTeam)
  const service = events.alerted !== null && 'service' in events.alerted ? events.alerted.service : null
  const mayDelete = (event: EventItem) =>
    event.kind === 'note' && (mayAll || (isOwner && event.service_id === service && event.host_id === null))
  const count = events.events.length
  const known = !events.load.pending && events.load.problem === null
  const list = (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" trapFocus={opened} returnFocus>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={events.isShown ? <IconFlag size={14} aria-hidden /> : <IconFlagOff size={14} aria-hidden />}
          onClick={() => setOpened(!opened)}
          aria-expanded={opened}
          data-testid="events-control"
        >
          {known ? `${count} ${count === 1 ? 'event' : 'events'}` : 'Events'}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={classes.dropdown} aria-label="Events in this time range">
        <SwitchField
          label={events.alerted === null ? 'Mark events on charts' : 'Mark events and alerts on charts'}
          checked={events.isShown}
          onChecked={events.show}
        />
        {events.load.problem !== null ? (
          <ProblemState problem={events.load.problem} onRetry={events.load.retry} />
        ) : count === 0 ? (
          <EmptyState
            title="No events in this time range"
            next={
              <>
                Mark a deploy or a change with <code>tierscope event</code>, or let your pipeline post it to{' '}
                <code>/v1/events</code>.
              </>
            }
          />
        ) : (
          <ul className={classes.list} tabIndex={0} aria-label="Events, newest first">
            {[...events.events].reverse().map((event) => (
              <li key={event.id} className={classes.item}>
                <span className={classes.glyph} aria-hidden>
                  {markGlyph(markKind(event.kind))}
                </span>
                <div className={classes.words}>
                  <div className={classes.meta}>
                    <span>{event.kind}</span>
                    <Timestamp at={event.at} />
                    {event.author !== null && <span>by {event.author}</span>}
                    {mayDelete(event) && <NoteDelete eventId={event.id} text={event.text} />}
                  </div>
                  <div className={classes.text}>{event.text}</div>
                </div>
              </li>
            ))}
          </ul>
        )}
        {events.alerted !== null && (
          <p className={classes.note}>
            <span aria-hidden>{markGlyph('alert_fired')}</span>{' '}
            <Link to="/alerts" search={{ tab: 'timeline', ...events.alerted }}>
              {events.fired === 1 ? '1 alert fired' : `${events.fired} alerts fired`}
            </Link>{' '}
            in this time range.
          </p>
        )}
        {events.truncated && <p className={classes.note}>Only the newest 2,000 events are shown.</p>}
        {mayAll || isOwner ? (
          <Button
            className={classes.add}
            variant="default"
            leftSection={<IconPlus size={14} aria-hidden />}
            onClick={() => {
              setOpened(false)
              events.startNote(null)
            }}
          >
            Add a note
          </Button>
        ) : (
          session !== undefined && <p className={classes.note}>{whyNot(session)}</p>
        )}
      </Popover.Dropdown>
    </Popover>
  )
  return (
    <>
      {list}
      {events.note !== null && (mayAll || isOwner) && (
        <NoteDialog
          atSeconds={events.note.atSeconds}
          subject={events.alerted}
          subjectOnly={!mayAll}
          onClose={events.endNote}
        />
      )}
    </>
  )
}

/** Why somebody cannot add a note, and what would help. */
function whyNot(session: Session): string {
  return session.role === null
    ? 'To add a note, log in as an operator.'
    : `To add a note you need the role operator, or a team that owns the service; your role is ${session.role}.`
}
