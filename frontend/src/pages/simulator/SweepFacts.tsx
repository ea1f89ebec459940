import { Link } from '@tanstack/react-router'
import type { Sweep, SweepResults } from '../../api/_generated/schema'
import { settingsText } from '../../lib/simulate'
import { formatDuration, formatWindow } from '../../lib/units/time'
import { formatBytes, formatCount, formatRatio } from '../../lib/units/units'
import { sourceText } from './sourceText'
import classes from './SweepPage.module.css'

interface SweepFactsProps {
  sweep: Sweep
  results: SweepResults | undefined
}

/** What was replayed, in one line: trace, size, length, settings. */
export function SweepFacts({ sweep, results }: SweepFactsProps) {
  const { service_id: serviceId, window } = sweep.source
  const facts = [
    results === undefined || results.peak_bytes === null ? null : `${formatBytes(results.peak_bytes)} at its peak`,
    results === undefined || results.pages === null ? null : `${formatCount(results.pages)} pages`,
    results === undefined || results.intervals === null || results.interval_seconds === null
      ? null
      : `${formatCount(results.intervals)} intervals of ${formatDuration(results.interval_seconds)}`,
    results === undefined || results.sampled_ratio === null || results.sampled_ratio >= 1
      ? null
      : `scaled up from ${formatRatio(results.sampled_ratio)} of the pages`,
    results === undefined || results.n_hosts === null || results.n_hosts < 2
      ? null
      : `the mean of ${formatCount(results.n_hosts)} hosts`,
    window === null ? null : formatWindow(new Date(window.start), new Date(window.end)),
    `slow memory at ${formatRatio(sweep.cost.slow_price_ratio)} of DRAM’s price`,
  ]
  const settings = settingsText(sweep.settings)
  return (
    <p className={classes.facts} data-testid="sweep-facts">
      {serviceId === null ? (
        <span>{sourceText(sweep)}</span>
      ) : (
        <Link to="/services/$serviceId" params={{ serviceId }} search={{ tab: 'heatmap' }}>
          {sourceText(sweep)}
        </Link>
      )}
      {facts.map((fact) => fact !== null && <span key={fact}>{fact}</span>)}
      {settings !== '' && (
        <span>
          <code>{settings}</code>
        </span>
      )}
    </p>
  )
}
