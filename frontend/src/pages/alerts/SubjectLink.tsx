import { Link } from '@tanstack/react-router'
import type { AlertSubject } from '../../api/_generated/schema'
import { HostLink, ServiceLink } from '../shell/links'

/** What an alert is about, with the way to its page. */
export function SubjectLink({ subject }: { subject: AlertSubject }) {
  switch (subject.kind) {
    case 'host':
      return <HostLink id={subject.id}>{subject.name}</HostLink>
    case 'service':
      return <ServiceLink id={subject.id}>{subject.name}</ServiceLink>
    case 'fleet':
      return <Link to="/">{subject.name}</Link>
  }
}
