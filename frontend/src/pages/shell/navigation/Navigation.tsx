import { Link } from '@tanstack/react-router'
import { openDestinations } from './navigation'
import { useSession } from '../access/useSession'
import classes from './Navigation.module.css'

/** The main navigation: only what exists. */
export function Navigation({ onNavigate }: { onNavigate: () => void }) {
  const { may } = useSession()
  return (
    <nav className={classes.nav} aria-label="Main">
      {openDestinations(may).map(({ to, label, icon: Icon }) => (
        <Link
          key={to}
          to={to}
          className={classes.link}
          activeProps={{ 'data-active': true, 'aria-current': 'page' }}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          onClick={onNavigate}
        >
          <Icon size={17} stroke={1.6} aria-hidden />
          {label}
        </Link>
      ))}
    </nav>
  )
}
