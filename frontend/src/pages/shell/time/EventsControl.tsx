import { Button, Popover, Switch } from '@mantine/core'
import { IconFlag, IconFlagOff } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { markGlyph, markKind } from '../../../charts/eventMarks'
import { EmptyState } from '../../../ui/states/EmptyState'
import { ProblemState } from '../../../ui/states/ProblemState'
import { Timestamp } from '../../../ui/text/Timestamp'
import classes from './EventsControl.module.css'
import type { EventMarks } from './useEventMarks'

/** The events of the page as a list, and whether charts mark them. */
export function EventsControl({ events }: { events: EventMarks }) {
  const [opened, setOpened] = useState(false)
  const count = events.events.length
  const known = !events.load.pending && events.load.problem === null
  return (
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
        <Switch
          label={events.alerted === null ? 'Mark events on charts' : 'Mark events and alerts on charts'}
          size="xs"
          checked={events.isShown}
          onChange={(change) => events.show(change.currentTarget.checked)}
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
      </Popover.Dropdown>
    </Popover>
  )
}
