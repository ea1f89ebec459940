import { Link } from '@tanstack/react-router'
import type { AlertSubject } from '../../api/_generated/schema'

/** What an alert is about, with the way to its page. */
export function SubjectLink({ subject }: { subject: AlertSubject }) {
  switch (subject.kind) {
    case 'host':
      return (
        <Link to="/hosts/$hostId" params={{ hostId: subject.id }}>
          {subject.name}
        </Link>
      )
    case 'service':
      return (
        <Link to="/services/$serviceId" params={{ serviceId: subject.id }}>
          {subject.name}
        </Link>
      )
    case 'fleet':
      return <Link to="/">{subject.name}</Link>
  }
}
