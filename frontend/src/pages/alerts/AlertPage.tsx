import { Button } from '@mantine/core'
import { IconBellOff, IconExternalLink } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, type ReactNode } from 'react'
import { alertQuery, incidentQuery } from '../../api/queries/alerts/alerts'
import { loadStateOf } from '../../api/queries/base/loadState'
import { BacktestChart } from '../../charts/backtest/BacktestChart'
import { alertState } from '../../lib/alerts'
import { Columns } from '../../ui/layout/Columns'
import { Headline } from '../../ui/layout/Headline'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { ProblemState } from '../../ui/states/ProblemState'
import { SeverityTag } from '../../ui/tags/SeverityTag'
import { ToneTag } from '../../ui/tags/ToneTag'
import { NotesList } from '../../ui/text/NotesList'
import { useTimeRange } from '../shell/time/useTimeRange'
import { AcknowledgeControl } from './AcknowledgeControl'
import { AlertFacts } from './AlertFacts'
import { AlertHistory } from './AlertHistory'
import { AlertMarksOf } from './AlertMarksOf'
import classes from './AlertsPage.module.css'
import { evidenceLine } from './evidenceLine'
import { IncidentView } from './incident/IncidentView'
import { OnsetStrip } from './incident/OnsetStrip'
import { TouchedPanels } from './incident/TouchedPanels'
import { useStateWords } from './useStateWords'

const route = getRouteApi('/alerts/$alertId')

/** The incident of an alert: its cause and what to do beside what happened, whom it touched, and the alert itself. */
export function AlertPage(): ReactNode {
  const { alertId } = route.useParams()
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(alertQuery(alertId, range.refreshMs))
  const load = loadStateOf(query)
  const incident = useQuery(incidentQuery(alertId, range.refreshMs))
  const incidentLoad = loadStateOf(incident)
  // What stands below the incident comes with it, so that it stays where it is.
  const isTold = incident.data !== undefined || incidentLoad.problem !== null
  const detail = query.data
  const wordsOf = useStateWords()
  const line = useMemo(
    () => (detail === undefined ? undefined : evidenceLine(detail, wordsOf(detail.alert.rule_id))),
    [detail, wordsOf],
  )
  if (load.problem !== null && detail === undefined) {
    return <ProblemState problem={load.problem} onRetry={load.retry} />
  }
  const alert = detail?.alert
  return (
    <div data-testid="page-alert">
      <Headline
        kicker={
          <>
            <Link to="/alerts">Alerts</Link>
            <span aria-hidden>/</span>
            <h1>{alert?.rule_name ?? '…'}</h1>
            {alert !== undefined && (
              <>
                <SeverityTag severity={alert.severity} />
                <ToneTag {...alertState(alert.state)} />
                <AlertMarksOf alert={alert} />
              </>
            )}
          </>
        }
        sentence={alert === undefined ? undefined : alert.summary || `${alert.rule_name} on ${alert.subject.name}`}
        aside={
          alert === undefined ? undefined : (
            <div className={classes.aside}>
              <AcknowledgeControl alert={alert} />
              <Button
                variant="default"
                size="compact-xs"
                leftSection={<IconBellOff size={13} aria-hidden />}
                renderRoot={(props) => <Link {...props} to="/alerts" search={{ tab: 'silences', alert: alert.id }} />}
              >
                Silence
              </Button>
              {alert.runbook_url !== null && (
                <Button
                  component="a"
                  href={alert.runbook_url}
                  rel="noreferrer noopener"
                  target="_blank"
                  variant="default"
                  size="compact-xs"
                  leftSection={<IconExternalLink size={13} aria-hidden />}
                >
                  Runbook
                </Button>
              )}
            </div>
          )
        }
      />
      <Stack>
        {alert !== undefined && (
          <>
            <OnsetStrip alert={alert} onset={incident.data?.onset} />
            <IncidentView alert={alert} incident={incident.data} load={incidentLoad} />
            <TouchedPanels incident={incident.data} />
          </>
        )}
        {isTold && (
          <>
            <BacktestChart
              name="alert-evidence"
              title="Condition over time"
              label="Value of the condition around the alert"
              hint={line?.name}
              load={load}
              axis={detail?.evidence?.axis}
              line={line}
              height={260}
              onTimeZoom={zoomTo}
              noData={detail !== undefined && detail.evidence === null}
              emptyText={{
                title: 'The values behind this alert are gone',
                next: detail?.notes[0] ?? 'They may be past retention.',
              }}
            />
            <Columns>
              <Panel title="Details" testId="alert-facts">
                {detail !== undefined && <AlertFacts alert={detail.alert} />}
              </Panel>
              <Panel title="History" testId="alert-history">
                {detail !== undefined && <AlertHistory detail={detail} />}
              </Panel>
            </Columns>
            <NotesList notes={detail?.evidence === null ? undefined : detail?.notes} />
          </>
        )}
      </Stack>
    </div>
  )
}
