import type { CapacityForecast } from '../../api/_generated/schema'
import { excludedWords } from '../../charts/forecast/figure'
import { formatQuantity, formatRatio } from '../../lib/units/units'
import { FigureText } from '../../ui/figures/FigureText'
import { Columns } from '../../ui/layout/Columns'
import { FactList } from '../../ui/layout/FactList'
import { Panel } from '../../ui/layout/Panel'
import { StateNote } from '../../ui/states/StateNote'
import { NotesList } from '../../ui/text/NotesList'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import classes from './CapacityPage.module.css'
import { methodWords } from './SubjectsTable'

/** When it is full, which method said so and how well it did on days that it had not seen, and what changed. */
export function ForecastEvidence({ forecast }: { forecast: CapacityForecast | undefined }) {
  if (forecast === undefined) return null
  const { exhaustion, backtest, changes } = forecast
  return (
    <>
      {forecast.refused !== null && forecast.history.length > 0 && (
        <StateNote tone="neutral" testId="forecast-refused">
          <p>
            <strong>No forecast:</strong> <Prose text={forecast.refused} />
          </p>
        </StateNote>
      )}
      <Columns>
        <Panel
          title="Time to full"
          hint={`from now on; full at ${formatRatio(exhaustion.threshold_ratio)} of its memory`}
        >
          <FactList
            facts={[
              [
                'Forecast',
                exhaustion.median.value === null && exhaustion.none_within_horizon ? (
                  `not within ${exhaustion.horizon_days} days`
                ) : (
                  <>
                    <FigureText figure={exhaustion.median} label="Time until full" /> ·{' '}
                    <Timestamp at={exhaustion.median_at} />
                  </>
                ),
              ],
              [
                'Early warning (upper 95 % bound)',
                exhaustion.early.value === null && exhaustion.none_within_horizon ? (
                  `not within ${exhaustion.horizon_days} days`
                ) : (
                  <>
                    <FigureText figure={exhaustion.early} label="Early warning" /> ·{' '}
                    <Timestamp at={exhaustion.early_at} />
                  </>
                ),
              ],
              ['Growth', <FigureText key="growth" figure={forecast.growth_bytes_per_day} label="Growth" />],
            ]}
          />
        </Panel>
        <Panel title="Model selection" hint="out-of-sample error; below 1 beats repeating last week">
          {backtest.length === 0 ? (
            <p className={classes.none}>No method was tested on past days.</p>
          ) : (
            <FactList
              facts={backtest.map(({ method, mase }) => [
                method === forecast.method ? `${methodWords(method)} (chosen)` : methodWords(method),
                `MASE ${mase.toFixed(2)}`,
              ])}
            />
          )}
        </Panel>
      </Columns>
      {changes.length > 0 && (
        <Panel title="Change points" hint="days before the last one are excluded">
          <ul className={classes.changes}>
            {changes.map((change) => (
              <li key={`${change.at}-${change.kind}`}>
                <Timestamp at={change.at} />: {level(change.before, forecast.unit)} →{' '}
                {level(change.after, forecast.unit)}
                {', '}
                {excludedWords[change.kind].replace('before ', '')}
                {change.event !== null && (
                  <>
                    {' · '}
                    <Prose text={change.event} />
                  </>
                )}
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <NotesList notes={forecast.notes} />
    </>
  )
}

function level(value: number | null, unit: string): string {
  return value === null ? 'unknown' : formatQuantity(value, unit)
}
