import { SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { alertTimelineQuery } from '../../api/queries/alerts/alerts'
import { loadStateOf } from '../../api/queries/base/loadState'
import { AlertTimelineChart } from '../../charts/alertTimeline/AlertTimelineChart'
import { severities } from '../../lib/url/alertsUrl'
import { Stack } from '../../ui/layout/Stack'
import { NotesList } from '../../ui/text/NotesList'
import { useTimeRange } from '../shell/time/useTimeRange'

const route = getRouteApi('/alerts')

/** When which alert was pending, firing or without data, by rule or by subject. */
export function TimelineTab() {
  const { by = 'rule', severity, rule, host, service } = route.useSearch()
  const navigate = route.useNavigate()
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(alertTimelineQuery({ severity, rule, host, service }, range))
  return (
    <Stack>
      <AlertTimelineChart
        spans={query.data?.spans}
        window={query.data?.window}
        by={by}
        load={loadStateOf(query)}
        onTimeZoom={zoomTo}
        controls={
          <>
            <SegmentedControl
              aria-label="Severity"
              value={severity ?? 'all'}
              onChange={(value) =>
                void navigate({
                  search: (before) => ({ ...before, severity: severities.find((name) => name === value) }),
                  replace: true,
                  resetScroll: false,
                })
              }
              data={['all', ...severities]}
            />
            <SegmentedControl
              aria-label="Rows of the timeline"
              value={by}
              onChange={(value) =>
                void navigate({
                  search: (before) => ({ ...before, by: value === 'subject' ? 'subject' : undefined }),
                  replace: true,
                  resetScroll: false,
                })
              }
              data={[
                { value: 'rule', label: 'By rule' },
                { value: 'subject', label: 'By subject' },
              ]}
            />
          </>
        }
      />
      <NotesList notes={query.data?.notes} />
    </Stack>
  )
}
