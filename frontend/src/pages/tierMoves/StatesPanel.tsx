import { Skeleton } from '@mantine/core'
import type { Ledger } from '../../api/_generated/schema'
import { verdictText } from '../../lib/text/verdicts'
import { formatDuration, formatLocal } from '../../lib/units/time'
import { formatRatio } from '../../lib/units/units'
import { Panel } from '../../ui/layout/Panel'
import { ToneTag } from '../../ui/tags/ToneTag'
import { VerdictTag } from '../../ui/tags/VerdictTag'
import { Prose } from '../../ui/text/Prose'
import classes from './StatesPanel.module.css'

/** What the kernel does with the memory over the window: the verdict, how long each state held, and when. */
export function StatesPanel({ ledger }: { ledger: Ledger | undefined }) {
  if (ledger === undefined) {
    return (
      <Panel title="What the kernel is doing">
        <Skeleton height={92} />
      </Panel>
    )
  }
  const { ping_pong: found, window } = ledger
  return (
    <Panel title="What the kernel is doing" testId="tiering-states">
      <div className={classes.verdict}>
        <VerdictTag verdict={found.verdict} window={window} />
        <span className={classes.why}>
          <Prose text={found.explanation} />
        </span>
      </div>
      {found.ribbon.length > 0 && <Ribbon stretches={found.ribbon} start={window.start} end={window.end} />}
      {found.states.length > 0 && (
        <ul className={classes.states} aria-label="How long each state held">
          {found.states.map(({ state, seconds, ratio }) => {
            const { label, meaning, tone } = verdictText(state)
            return (
              <li key={state}>
                <span className={classes.swatch} data-tone={tone} data-state={state} aria-hidden />
                <ToneTag tone={tone} label={label} meaning={meaning} />
                <span className={classes.amount}>
                  {formatRatio(ratio)}
                  {ledger.n_hosts > 1 ? ` of the time of ${ledger.n_hosts} hosts` : ` · ${formatDuration(seconds)}`}
                </span>
              </li>
            )
          })}
        </ul>
      )}
      {ledger.services.length > 1 && (
        <table className={classes.services}>
          <caption>Services of this host, each by its own moves and memory</caption>
          <tbody>
            {ledger.services.map(({ service_id, service, verdict, explanation }) => (
              <tr key={service_id}>
                <th scope="row">{service}</th>
                <td>
                  <VerdictTag verdict={verdict} window={window} explanation={explanation} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  )
}

interface RibbonProps {
  stretches: Ledger['ping_pong']['ribbon']
  start: string
  end: string
}

/** Stretches of one state over the window; what was not judged stays hatched. */
function Ribbon({ stretches, start, end }: RibbonProps) {
  const [first, last] = [Date.parse(start), Date.parse(end)]
  const place = (at: string) => (100 * Math.min(Math.max(Date.parse(at) - first, 0), last - first)) / (last - first)
  return (
    <figure className={classes.figure}>
      <div className={`${classes.ribbon} ts-hatch-swatch`} role="img" aria-label="States over time">
        {stretches.map((stretch) => {
          const { label, tone } = verdictText(stretch.state)
          const seconds = (Date.parse(stretch.to) - Date.parse(stretch.from)) / 1000
          return (
            <span
              key={stretch.from}
              className={classes.stretch}
              data-tone={tone}
              data-state={stretch.state}
              title={`${label} for ${formatDuration(seconds)}, from ${formatLocal(new Date(stretch.from))}`}
              style={{ left: `${place(stretch.from)}%`, width: `${place(stretch.to) - place(stretch.from)}%` }}
            />
          )
        })}
      </div>
      <figcaption className={classes.times}>
        <span>{formatLocal(new Date(first))}</span>
        <span>Time</span>
        <span>{formatLocal(new Date(last))}</span>
      </figcaption>
    </figure>
  )
}
