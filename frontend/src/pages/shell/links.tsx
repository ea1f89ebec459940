import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { HostTab, ServiceTab } from '../../lib/url/urlState'

interface PlaceProps<Tab> {
  id: string
  tab?: Tab
  children: ReactNode
}

/** Leads to a host, or to one of its tabs. */
export function HostLink({ id, tab, children }: PlaceProps<HostTab>) {
  return (
    <Link to="/hosts/$hostId" params={{ hostId: id }} {...(tab && { search: { tab } })}>
      {children}
    </Link>
  )
}

/** Leads to a service, or to one of its tabs. */
export function ServiceLink({ id, tab, children }: PlaceProps<ServiceTab>) {
  return (
    <Link to="/services/$serviceId" params={{ serviceId: id }} {...(tab && { search: { tab } })}>
      {children}
    </Link>
  )
}
