import { Link } from '@tanstack/react-router'
import classes from './Brand.module.css'

/** The product's mark and name: a link to the fleet. */
export function Brand() {
  return (
    <Link to="/" className={classes.brand} aria-label="Tierscope, to the fleet">
      <svg width="20" height="20" viewBox="0 0 20 20" aria-hidden>
        <rect x="1" y="2" width="18" height="4" rx="1.2" fill="var(--ts-hot)" />
        <rect x="1" y="8" width="18" height="4" rx="1.2" fill="var(--ts-warm)" />
        <rect x="1" y="14" width="18" height="4" rx="1.2" fill="var(--ts-cold)" />
      </svg>
      <span className={classes.name}>Tierscope</span>
    </Link>
  )
}
