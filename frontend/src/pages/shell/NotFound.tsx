import type { ReactNode } from 'react'
import { Link } from '@tanstack/react-router'
import { EmptyState } from '../../ui/states/EmptyState'

/** A page that does not exist. */
export function NotFound(): ReactNode {
  return <EmptyState title="Page not found" next={<Link to="/">Go to the fleet, or press Ctrl K to search.</Link>} />
}
